/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel log's reports about processes killed for memory: the largest processes at that
 * moment, which cannot be determined afterwards. Optional: if the log is unreadable or
 * overwritten, only the counters of cgroup.h are available.
 */
#pragma once

#include "base/str.h"

#define CGROUP_OOM_MOST 3

struct cgroup_oom_process {
    long pid;
    uint64_t rss_kib; /* 0: unused */
    char name[20];
};

/* The last of all reports so far about the cgroup. */
struct cgroup_oom {
    const char *path; /* path of its directory; the kernel's path may begin above or below it */
    unsigned kills;   /* number of reported kills */
    struct cgroup_oom_process most[CGROUP_OOM_MOST];
    /* State of the report that is being read. */
    unsigned columns; /* numbers before the name in a row of its table */
    struct cgroup_oom_process seen[CGROUP_OOM_MOST];
};

/* Opens the log at its end; -errno: no permission. Never blocks. */
int cgroup_oom_open(void);
void cgroup_oom_read(int fd, struct cgroup_oom *o);
/* Handles one record: "6,3228,12482999206,-;text". */
void cgroup_oom_line(struct cgroup_oom *o, const char *record);
/* "python3[4711] 900M, cat[4712] 2M" */
void cgroup_oom_format(const struct cgroup_oom *o, struct str *out);
