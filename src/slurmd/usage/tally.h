/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The books on what processes use: sums, integrals and high-water marks by user, by job, by step
 * and by task, kept from one snapshot of all processes to the next. No sum ever falls: a process
 * that ends takes nothing along.
 *
 * What a process uses is counted while it lives. When it has ended its parent's count of waited
 * children grows by all it ever used; what of that was counted before is a credit against this
 * growth, and the rest was used after the last look, or by processes that came and went between
 * two. Credits and growth meet in a pool: one for each step, whose shepherd inherits all its
 * orphans, and one for everybody else. A credit that meets no growth by the next look (of a child
 * that nobody waited for) is void.
 *
 * No clock and no /proc: pure, but for memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "proto/usage.pb-c.h"
#include "slurmd/usage/snapshot.h"

#define TALLY_USERS_MAX 1000     /* rows; the rest is lumped together */
#define TALLY_OTHERS ((uid_t)-2) /* under this number */
#define TALLY_NO_TASK ((uint32_t)-1)

struct tally_use {
    uint64_t sum[SNAPSHOT_COUNTERS];
    uint64_t rss_kib, vsize_kib; /* at the last look */
    uint64_t max_rss_kib, max_vsize_kib;
    uint64_t rss_kib_sec, vsize_kib_sec;
    uint32_t processes; /* at the last look */

    /* Of the look that is being taken. */
    uint64_t now_rss, now_vsize, now_rss_kib_ms, now_vsize_kib_ms;
    uint32_t now_processes;
};

struct tally_row {
    uid_t uid;
    uint32_t job_id; /* of a user as a whole: 0 */
    struct tally_use use;
};

struct tally_task {
    uint32_t rank;
    pid_t pid; /* 0: it has ended, or is not known */
    struct tally_use use;
};

struct tally_pool {
    uint64_t credit[SNAPSHOT_COUNTERS], old_credit[SNAPSHOT_COUNTERS];
    uint64_t growth[SNAPSHOT_COUNTERS];
};

struct tally_step {
    uint32_t job_id, restarts, step_id;
    pid_t shepherd;
    bool
        counted; /* the kernel has counted its memory as a whole, for the look that is taken next */
    uint64_t counted_kib;
    bool has_every; /* seconds between looks were asked for; not kept on disk */
    uint32_t every_sec;
    struct tally_use use;
    struct tally_pool pool;
    VEC(struct tally_task) tasks;
};

struct tally_proc {
    pid_t pid, parent;
    uid_t uid;
    uint32_t task; /* index into its step's tasks, or TALLY_NO_TASK */
    struct tally_step *step;
    bool is_shepherd;
    uint64_t started_ticks;
    uint64_t own[SNAPSHOT_COUNTERS], waited[SNAPSHOT_COUNTERS];
};

enum { TALLY_TIMES = 7 }; /* as NodeTime has them */

struct tally {
    bool began; /* processes that were not there at the last look are new */
    int64_t at_ms, since_sec;
    VEC(struct tally_proc) procs; /* by rising pid, as last seen */
    VEC(struct tally_row) users, jobs;
    VEC(struct tally_step *) steps;
    VEC(pid_t) ended; /* shepherds of steps that ended since the last look */
    struct tally_pool outside;
    uint64_t cpu_ticks[SNAPSHOT_CPU_STATES];
    uint64_t time_usec[TALLY_TIMES];
    uint32_t cpus;
    uint64_t period;           /* number of what is counted now */
    struct str collected;      /* packed NodeUsage of one that ended; empty: none */
    uint64_t collected_period; /* its number */
};

struct tally *tally_new(int64_t since_sec);
void tally_free(struct tally *t);

struct tally_step *tally_find_step(const struct tally *t, uint32_t job_id, uint32_t restarts,
                                   uint32_t step_id);
/* It runs, under this shepherd; known before or not. pids and ranks of its tasks: 'count' each. */
void tally_set_step(struct tally *t, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                    pid_t shepherd, const uint32_t *pids, const uint32_t *ranks, size_t count);
/* It has ended, having used this in all (NULL: nobody knows), on behalf of uid. With 'left' some of
 * its processes live on. The figures of the step stay until tally_drop_step(). */
void tally_end_step(struct tally *t, struct tally_step *s, uid_t uid,
                    const uint64_t used[SNAPSHOT_COUNTERS], bool left);
void tally_drop_step(struct tally *t, struct tally_step *s);
void tally_drop_job(struct tally *t, uint32_t job_id); /* its rows; users keep theirs */

void tally_take(struct tally *t, const struct snapshot *s);

/* A new period: users, jobs and times from zero, marks from what is in use now. Steps keep theirs.
 */
void tally_begin_period(struct tally *t, int64_t now_sec);

/* tally_view.c: as messages, in the arena. 'm' may have values of its own: the larger stay. */
void tally_view_step(const struct tally_step *s, struct arena *arena, Pb__Usage *m);
void tally_view_node(const struct tally *t, struct arena *arena, Pb__NodeUsage *m);

/* tally_file.c */
void tally_pack(const struct tally *t, const char *boot, int64_t wall_sec, struct str *out);
/* NULL: damaged. After another boot sums and marks stay, and processes are forgotten; up_sec: since
 * when this boot runs. */
struct tally *tally_unpack(const void *data, size_t len, const char *boot, int64_t wall_sec,
                           int64_t up_sec);
