/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Between the files of this room. */
#pragma once

#include "cgroup/cgroup.h"

#define CGROUP_DEPTH_MAX 8 /* of directories below one of ours */

/* The directory that has a part's files; -1: none. */
static inline int cgroup_dir(const struct cgroup *c, enum cgroup_part part)
{
    return !cgroup_has(c, part) ? -1 : c->version == CGROUP_V2 ? c->fd[CGROUP_PROCS] : c->fd[part];
}
/* Any tree that knows the processes: CGROUP_PROCS where it is in use. */
int cgroup_dir_procs(const struct cgroup *c);

/* Small files of a held directory. Reading appends at most a megabyte. */
int cgroup_file_read(int dir, const char *file, struct str *out);
int cgroup_file_write(int dir, const char *file, const char *text);
int cgroup_file_put(const struct cgroup *c, enum cgroup_part part, const char *file,
                    const char *text, struct err *err); /* names the file in err */
/* The number after a word at the beginning of a line, or the file's only one (word NULL);
 * UINT64_MAX for "max". -ENOENT, -ERR_PARSE. */
int cgroup_file_number(int dir, const char *file, const char *word, uint64_t *out);
bool cgroup_word_in(const char *list, const char *word);

/* Enables the controllers of 'parts' for what is below a directory of version 2. */
int cgroup_enable(int dir, unsigned parts, struct err *err);
/* A new cpuset of version 1 is empty, and takes no process until it is filled. */
int cgroup_fill_cpuset(int parent, int dir);
int cgroup_open_dir(int parent, const char *name); /* -errno; follows no link */
