/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Paths and small files. Operations by root use open directories and O_NOFOLLOW only.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* Makes p absolute relative to cwd (NULL: the process's), without resolving symbolic links. The
   caller frees the result. */
char *path_absolute(const char *p, const char *cwd);

/* mkdir -p: the last new directory gets this mode, new parents at least 0755, so that the user who
 * gets the last one can reach it. */
int path_mkdirs(const char *path, mode_t mode, struct err *err);

/* Checks the file without blocking, unlike opening a pipe. -EINVAL: it is not a regular file. */
int path_check_regular(const char *path, struct stat *st, struct err *err);

/* Reads the whole file, at most max bytes (-ERR_TOO_BIG). */
int path_read_file(const char *path, size_t max, struct str *out, struct err *err);
/* Whether a failed read was caused by a lack of memory or descriptors, so that it must not be
 * treated as a missing file. */
bool path_is_shortage(int rc);
/* The same for a text file; -ERR_PARSE at the first zero byte, so that reading a device ends
   soon. */
int path_read_text(const char *path, size_t max, struct str *out, struct err *err);

/* Writes a temporary file and renames it, so that a reader sees the old or the new file. No fsync.
 */
int path_write_file(const char *path, const void *data, size_t len, mode_t mode, struct err *err);
/* The same; returns a descriptor of the new file, open for reading and writing. */
int path_write_open(const char *path, const void *data, size_t len, mode_t mode, struct err *err);

/* Refuses a secret that others could read or change: not a regular file, a symbolic link, an owner
 * other than 'owner' or root, any permission of group or others. */
int path_check_secret(const char *path, uid_t owner, struct err *err);

/* Expands %h (host), %n (node name) and %% in a configured path; a NULL value leaves its pattern
 * unchanged. The caller frees the result. */
char *path_expand(const char *pattern, const char *host, const char *node);

/* Returns the directory above the running program's bin/ or sbin/ (its prefix), from
 * /proc/self/exe. The caller frees it. */
char *path_prefix(void);

/* Like rename(), but -EEXIST if 'to' exists. */
int path_rename_new(const char *from, const char *to);
int path_write_all(int fd, const void *data, size_t len); /* 0 or -errno; restarts on EINTR */
