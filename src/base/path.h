/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Paths and small files. Everything that root does with a path goes through held directories and
 * O_NOFOLLOW.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/str.h"

/* Absolute form of p against cwd (NULL: the process's), without resolving links. The caller frees.
 */
char *path_absolute(const char *p, const char *cwd);

/* mkdir -p: a new directory gets this mode, a new one above it at least 0755, so that the user whom
 * the last one is given to can reach it. */
int path_mkdirs(const char *path, mode_t mode, struct err *err);

/* Where reading must not wait for a writer, as that of a pipe does. -EINVAL: it is no regular file.
 */
int path_check_regular(const char *path, struct stat *st, struct err *err);

/* The whole file, at most max bytes (-ERR_TOO_BIG). */
int path_read_file(const char *path, size_t max, struct str *out, struct err *err);
/* Whether a failed read says nothing about the file: it can be read once there is memory or a
 * descriptor, and must not be taken for a missing one. */
bool path_is_shortage(int rc);
/* The same of a text; -ERR_PARSE at the first zero byte, so that a device is not read for long. */
int path_read_text(const char *path, size_t max, struct str *out, struct err *err);

/* Writes through a temporary name and rename(), so a reader sees the old file or the new one. No
 * fsync. */
int path_write_file(const char *path, const void *data, size_t len, mode_t mode, struct err *err);
/* The same; a descriptor of the new file, to be read and written, is returned. */
int path_write_open(const char *path, const void *data, size_t len, mode_t mode, struct err *err);

/* Refuses a secret that others could read or change: not a regular file, a link, an owner other
 * than 'owner' or root, any mode bit of group or others. */
int path_check_secret(const char *path, uid_t owner, struct err *err);

/* Replaces %h (host), %n (node name) and %% in a configured path; NULL values leave the text alone.
 * Caller frees. */
char *path_expand(const char *pattern, const char *host, const char *node);

/* The directory that holds the running program's bin/ or sbin/ (its prefix), from /proc/self/exe.
 * Caller frees. */
char *path_prefix(void);

/* As rename(), but -EEXIST where 'to' exists. */
int path_rename_new(const char *from, const char *to);
int path_write_all(int fd, const void *data, size_t len); /* 0 or -errno; restarts on EINTR */
