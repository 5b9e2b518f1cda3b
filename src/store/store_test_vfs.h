/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A VFS over the real one that fails on order, for tests: the Nth write or sync from now on, once
 * or for ever, with the given SQLite code. Registered as the default one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum test_vfs_op { TEST_VFS_WRITE, TEST_VFS_SYNC, TEST_VFS_OPS };
enum test_vfs_change { TEST_VFS_WROTE, TEST_VFS_TRUNCATED, TEST_VFS_SYNCED, TEST_VFS_DELETED };

/* What SQLite has done to a file. */
struct test_vfs_event {
    enum test_vfs_change change;
    const char *path;
    const void *data; /* of a write */
    size_t len;       /* of a write, or the file's new one */
    int64_t at;
    bool is_durable; /* of a deletion */
};
typedef void test_vfs_trace_fn(void *ctx, const struct test_vfs_event *event);

void store_test_vfs_install(void);
/* nth 1 is the next one; sqlite_code 0 disarms. */
void store_test_vfs_fail(enum test_vfs_op op, unsigned nth, bool for_ever, int sqlite_code);
unsigned
store_test_vfs_count(enum test_vfs_op op); /* since the last store_test_vfs_fail() of that op */

/* Every change that succeeds, until it is called with NULL. */
void store_test_vfs_trace(test_vfs_trace_fn *fn, void *ctx);
