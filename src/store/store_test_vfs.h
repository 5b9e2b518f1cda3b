/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A VFS on top of the real one that fails on demand, for tests: the Nth write or sync from now on,
 * once or always, with the given SQLite code. It is registered as the default VFS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum test_vfs_op { TEST_VFS_WRITE, TEST_VFS_SYNC, TEST_VFS_OPS };
enum test_vfs_change { TEST_VFS_WROTE, TEST_VFS_TRUNCATED, TEST_VFS_SYNCED, TEST_VFS_DELETED };

/* An operation of SQLite on a file. */
struct test_vfs_event {
    enum test_vfs_change change;
    const char *path;
    const void *data; /* for a write */
    size_t len;       /* of a write, or the new length of the file */
    int64_t at;
    bool is_durable; /* for a deletion */
};
typedef void test_vfs_trace_fn(void *ctx, const struct test_vfs_event *event);

void store_test_vfs_install(void);
/* nth 1 is the next operation; sqlite_code 0 disarms. */
void store_test_vfs_fail(enum test_vfs_op op, unsigned nth, bool for_ever, int sqlite_code);
unsigned
store_test_vfs_count(enum test_vfs_op op); /* since the last store_test_vfs_fail() of that op */

/* Calls fn for every successful change, until it is called with NULL. */
void store_test_vfs_trace(test_vfs_trace_fn *fn, void *ctx);
