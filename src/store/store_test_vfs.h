/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A VFS over the real one that fails on order, for tests: the Nth write or sync from now on, once
 * or for ever, with the given SQLite code. Registered as the default one.
 */
#pragma once

#include <stdbool.h>

enum test_vfs_op { TEST_VFS_WRITE, TEST_VFS_SYNC, TEST_VFS_OPS };

void store_test_vfs_install(void);
/* nth 1 is the next one; sqlite_code 0 disarms. */
void store_test_vfs_fail(enum test_vfs_op op, unsigned nth, bool for_ever, int sqlite_code);
unsigned
store_test_vfs_count(enum test_vfs_op op); /* since the last store_test_vfs_fail() of that op */
