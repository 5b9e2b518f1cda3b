/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small spool files that are created and removed with each job. A removed file is kept under
 * another name, emptied, as a spare, and the next file reuses its inode: with hundreds of jobs per
 * second, creating and deleting inodes is a fifth of the total cost of a job (ext4 without a
 * journal skips each inode that was deleted in the last five seconds).
 *
 * Only for files that no user can open: a user with an open file would read the content of its
 * successor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SPARE_FILES 8 /* maximum number of spares in a directory */

/* Writes 'path', mode 0600, atomically; no fsync. 'spares' is a directory of the same file system;
 * without a spare in it, or without the directory, a new file is created. An existing 'path' is an
 * error (-EEXIST) unless 'replace' is set. Safe with concurrent processes that use the same
 * directory. */
int spare_file_write(const char *spares, const char *path, const void *data, size_t len,
                     bool replace, struct err *err);

/* Removes 'path' if it exists. */
void spare_file_remove(const char *spares, const char *path);
