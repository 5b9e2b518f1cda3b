/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Private to src/cgroup. */
#pragma once

#include "cgroup/cgroup.h"

#define CGROUP_DEPTH_MAX 8 /* nested directories below one of ours */

/* Returns the directory that has a part's files; -1: none. */
static inline int cgroup_dir(const struct cgroup *c, enum cgroup_part part)
{
    return !cgroup_has(c, part) ? -1 : c->version == CGROUP_V2 ? c->fd[CGROUP_PROCS] : c->fd[part];
}
/* Returns a tree that lists the processes: CGROUP_PROCS if it is in use. */
int cgroup_dir_procs(const struct cgroup *c);

/* Small files in an open directory. Reading appends at most a megabyte. */
int cgroup_file_read(int dir, const char *file, struct str *out);
int cgroup_file_write(int dir, const char *file, const char *text);
int cgroup_file_put(const struct cgroup *c, enum cgroup_part part, const char *file,
                    const char *text, struct err *err); /* err names the file */
/* Reads the number after a word at the beginning of a line, or the file's only number (word NULL);
 * UINT64_MAX for "max". -ENOENT, -ERR_PARSE. */
int cgroup_file_number(int dir, const char *file, const char *word, uint64_t *out);
bool cgroup_word_in(const char *list, const char *word);

/* Enables the controllers of 'parts' for the subdirectories of a version 2 directory. */
int cgroup_enable(int dir, unsigned parts, struct err *err);
/* A new cpuset of version 1 is empty, and accepts no process until it is filled. */
int cgroup_fill_cpuset(int parent, int dir);
int cgroup_open_dir(int parent, const char *name); /* returns -errno; follows no symbolic link */
