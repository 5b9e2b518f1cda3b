/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel's log says of processes that it ended for memory: the largest ones at that very
 * moment, which nobody can look at any more afterwards. Nothing rests on it: where it cannot be
 * read, or has been written over, the counters of cgroup.h alone tell.
 */
#pragma once

#include "base/str.h"

#define CGROUP_OOM_MOST 3

struct cgroup_oom_process {
    long pid;
    uint64_t rss_kib; /* 0: there is none */
    char name[20];
};

/* Of all reports so far about the cgroup, those of the last one. */
struct cgroup_oom {
    const char *path; /* of its directory; the kernel may know it from further up or further down */
    unsigned kills;   /* that were told of */
    struct cgroup_oom_process most[CGROUP_OOM_MOST];
    /* The report that is being read. */
    unsigned columns; /* numbers before the name in a row of its table */
    struct cgroup_oom_process seen[CGROUP_OOM_MOST];
};

/* The log, at its end, or -errno: not for us to read. Never blocks. */
int cgroup_oom_open(void);
void cgroup_oom_read(int fd, struct cgroup_oom *o);
/* One record of it: "6,3228,12482999206,-;text". */
void cgroup_oom_line(struct cgroup_oom *o, const char *record);
/* "python3[4711] 900M, cat[4712] 2M" */
void cgroup_oom_format(const struct cgroup_oom *o, struct str *out);
