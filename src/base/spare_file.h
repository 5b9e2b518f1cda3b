/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small files of a spool that come and go with each job. A removed file is kept as a spare under
 * another name, without its content, and the next file takes its inode over: with hundreds of jobs
 * per second creating and deleting inodes is a fifth of all that a job costs (ext4 without a
 * journal passes over each inode that was deleted in the last five seconds).
 *
 * Only for files that no user can open: whoever has a file open would read the file that follows.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define SPARE_FILES 8 /* kept at most, in one directory */

/* Writes 'path', mode 0600, whole or not at all; no fsync. 'spares' is a directory of the same file
 * system; without a spare in it, or without the directory, a file is created. An existing 'path' is
 * an error (-EEXIST) unless 'replace'. Safe beside other processes that use the same directory. */
int spare_file_write(const char *spares, const char *path, const void *data, size_t len,
                     bool replace, struct err *err);

/* Removes 'path', if it exists. */
void spare_file_remove(const char *spares, const char *path);
