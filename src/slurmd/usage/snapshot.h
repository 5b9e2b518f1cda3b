/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A snapshot of all processes of the machine: the resources that each has used, and its shepherd.
 * Reading needs no other state, so a worker thread does it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"
#include "base/vec.h"

#define SNAPSHOT_PROCESSES_MAX 200000 /* further processes are ignored */

/* The counters of a process. For storage the kernel adds reaped children to their parent, so all
 * of it is 'waited'. */
enum snapshot_counter {
    SNAPSHOT_USER, /* microseconds */
    SNAPSHOT_SYS,
    SNAPSHOT_PAGES, /* major page faults */
    SNAPSHOT_READ,  /* bytes; set for steps only */
    SNAPSHOT_WRITE,
    SNAPSHOT_COUNTERS
};

/* CPU time by state, as in the first line of /proc/stat. */
enum { SNAPSHOT_CPU_STATES = 8 };

struct snapshot_proc {
    pid_t pid, parent, session;
    pid_t root; /* its shepherd; 0: none */
    /* The child of that shepherd that is its ancestor, or itself; 0: it is the shepherd, or has
       none. */
    pid_t top;
    uid_t uid;
    uint64_t started_ticks;
    uint64_t own[SNAPSHOT_COUNTERS];    /* the process itself */
    uint64_t waited[SNAPSHOT_COUNTERS]; /* its reaped children */
    uint64_t rss_kib, vsize_kib;
};

/* An adopted process: not started by a shepherd, but part of a step. */
struct snapshot_adopted {
    pid_t pid;
    uint64_t started_ticks; /* 0: unknown */
    pid_t shepherd;         /* treated as its parent */
};

struct snapshot {
    VEC(struct snapshot_adopted) adopted; /* set before the snapshot by the caller */
    int64_t at_ms;                        /* loop_mono_ms() */
    VEC(struct snapshot_proc) procs;      /* by ascending pid */
    uint64_t cpu_ticks[SNAPSHOT_CPU_STATES];
    uint32_t cpus;
    bool cut; /* there were more processes */
};

/* 'roots' are the shepherds. Buffers of an earlier snapshot are reused. */
void snapshot_read(struct snapshot *s, const pid_t *roots, size_t count);
void snapshot_done(struct snapshot *s);

/* Parts of snapshot_read(), for tests: convert one process; find the ancestors; parse the "cpu
 * ..." line and count the "cpuN" lines of /proc/stat; check whether the parent may have been read
 * too late. */
void snapshot_convert(const struct proc *p, uid_t uid, struct snapshot_proc *out);
void snapshot_place(struct snapshot *s, const pid_t *roots, size_t count);
void snapshot_parse_stat(const char *text, struct snapshot *s);
bool snapshot_is_doubtful(const struct snapshot_proc *p);

/* NULL: not in the snapshot. */
struct snapshot_proc *snapshot_find(const struct snapshot *s, pid_t pid);
