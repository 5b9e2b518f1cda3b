/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One look at all processes of the machine: what each has used so far, and which shepherd it is
 * below. Reading knows no other state, so a worker does it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/proc.h"
#include "base/vec.h"

#define SNAPSHOT_PROCESSES_MAX 200000 /* more are not looked at */

/* What is counted of a process. Of storage the kernel counts children that were waited for with
 * their parent: all of it is 'waited'. */
enum snapshot_counter {
    SNAPSHOT_USER, /* microseconds */
    SNAPSHOT_SYS,
    SNAPSHOT_PAGES, /* faults that waited for a disk */
    SNAPSHOT_READ,  /* bytes; known of steps only */
    SNAPSHOT_WRITE,
    SNAPSHOT_COUNTERS
};

/* Where the processors' time goes, as the first line of /proc/stat has it. */
enum { SNAPSHOT_CPU_STATES = 8 };

struct snapshot_proc {
    pid_t pid, parent, session;
    pid_t root; /* the shepherd it is below; 0: none */
    pid_t top;  /* the child of that shepherd it is below, or is; 0: it is the shepherd, or none */
    uid_t uid;
    uint64_t started_ticks;
    uint64_t own[SNAPSHOT_COUNTERS]; /* its own, */
    uint64_t
        waited[SNAPSHOT_COUNTERS]; /* and of its children that have ended and were waited for */
    uint64_t rss_kib, vsize_kib;
};

/* One that others have started and that belongs to a step all the same. */
struct snapshot_adopted {
    pid_t pid;
    uint64_t started_ticks; /* 0: not known */
    pid_t shepherd;         /* as though it were its child */
};

struct snapshot {
    VEC(struct snapshot_adopted) adopted; /* set before the look, by whoever has it taken */
    int64_t at_ms;                        /* loop_mono_ms() */
    VEC(struct snapshot_proc) procs;      /* by rising pid */
    uint64_t cpu_ticks[SNAPSHOT_CPU_STATES];
    uint32_t cpus;
    bool cut; /* there are more */
};

/* 'roots': the shepherds. The buffers of an earlier look are used again. */
void snapshot_read(struct snapshot *s, const pid_t *roots, size_t count);
void snapshot_done(struct snapshot *s);

/* The parts, for tests: one process, as the kernel tells of it; who is below whom; the line "cpu
 * ..." of /proc/stat and how many there are of "cpuN"; whether its parent may have been
 * read too late. */
void snapshot_convert(const struct proc *p, uid_t uid, struct snapshot_proc *out);
void snapshot_place(struct snapshot *s, const pid_t *roots, size_t count);
void snapshot_parse_stat(const char *text, struct snapshot *s);
bool snapshot_is_doubtful(const struct snapshot_proc *p);

/* NULL: not seen. */
struct snapshot_proc *snapshot_find(const struct snapshot *s, pid_t pid);
