/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Accounts the resource usage of processes: sums, integrals and high-water marks by user, job,
 * step and task, from one snapshot of all processes to the next. No sum ever decreases: the usage
 * of an ended process stays.
 *
 * The usage of a process is counted while it lives. When it has ended, its parent's count of
 * reaped children grows by its whole usage. The part counted before is a credit against this
 * growth; the rest was used after the last look, or by processes that started and ended between
 * two looks. Credits and growth are balanced in pools: one per step, whose shepherd inherits all
 * orphans, and one for all other processes. A credit without matching growth at the next look (of
 * a child that was never reaped) is void.
 *
 * Uses no clock and no /proc; pure except for memory allocation.
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

#define TALLY_USERS_MAX 1000     /* rows; further users are accounted together */
#define TALLY_OTHERS ((uid_t)-2) /* under this number */
#define TALLY_NO_TASK ((uint32_t)-1)

struct tally_use {
    uint64_t sum[SNAPSHOT_COUNTERS];
    uint64_t rss_kib, vsize_kib; /* as of the last look */
    uint64_t max_rss_kib, max_vsize_kib;
    uint64_t rss_kib_sec, vsize_kib_sec;
    uint32_t processes; /* as of the last look */

    /* Accumulators of the running look. */
    uint64_t now_rss, now_vsize, now_rss_kib_ms, now_vsize_kib_ms;
    uint32_t now_processes;
};

struct tally_row {
    uid_t uid;
    uint32_t job_id; /* 0: a user's total */
    struct tally_use use;
};

struct tally_task {
    uint32_t rank;
    pid_t pid; /* 0: it has ended, or is unknown */
    struct tally_use use;
};

struct tally_pool {
    uint64_t credit[SNAPSHOT_COUNTERS], old_credit[SNAPSHOT_COUNTERS];
    uint64_t growth[SNAPSHOT_COUNTERS];
};

struct tally_step {
    uint32_t job_id, restarts, step_id;
    pid_t shepherd;
    bool counted; /* the kernel has counted its total memory, for the next look */
    uint64_t counted_kib;
    bool has_every; /* an interval in seconds was requested; not kept on disk */
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

enum { TALLY_TIMES = 7 }; /* in the order of NodeTime */

struct tally {
    bool began; /* there was a look before, so that an unseen process is a new one */
    int64_t at_ms, since_sec;
    VEC(struct tally_proc) procs; /* as of the last look, by ascending pid */
    VEC(struct tally_row) users, jobs;
    VEC(struct tally_step *) steps;
    VEC(pid_t) ended; /* shepherds of steps that have ended since the last look */
    struct tally_pool outside;
    uint64_t cpu_ticks[SNAPSHOT_CPU_STATES];
    uint64_t time_usec[TALLY_TIMES];
    uint32_t cpus;
    uint64_t period;           /* number of the present period */
    struct str collected;      /* packed NodeUsage of an ended period; empty: none */
    uint64_t collected_period; /* number of that period */
};

struct tally *tally_new(int64_t since_sec);
void tally_free(struct tally *t);

struct tally_step *tally_find_step(const struct tally *t, uint32_t job_id, uint32_t restarts,
                                   uint32_t step_id);
/* The step runs under this shepherd; it may be new or known. pids and ranks of its tasks have
   'count' elements each. */
void tally_set_step(struct tally *t, uint32_t job_id, uint32_t restarts, uint32_t step_id,
                    pid_t shepherd, const uint32_t *pids, const uint32_t *ranks, size_t count);
/* The step of this uid has ended with this total usage (NULL: unknown). left: some of its
 * processes still live. The step's values are kept until tally_drop_step(). */
void tally_end_step(struct tally *t, struct tally_step *s, uid_t uid,
                    const uint64_t used[SNAPSHOT_COUNTERS], bool left);
void tally_drop_step(struct tally *t, struct tally_step *s);
/* Drops the job's rows; users keep their totals. */
void tally_drop_job(struct tally *t, uint32_t job_id);

void tally_take(struct tally *t, const struct snapshot *s);

/* Starts a new period: users, jobs and times restart from zero, high-water marks from the present
   use. Steps keep their values. */
void tally_begin_period(struct tally *t, int64_t now_sec);

/* tally_view.c: converts to messages in the arena. 'm' may already have values; the larger ones
   are kept. */
void tally_view_step(const struct tally_step *s, struct arena *arena, Pb__Usage *m);
void tally_view_node(const struct tally *t, struct arena *arena, Pb__NodeUsage *m);

/* tally_file.c */
void tally_pack(const struct tally *t, const char *boot, int64_t wall_sec, struct str *out);
/* Returns NULL if the data is damaged. After a reboot sums and marks are kept and processes are
 * dropped; up_sec is the uptime in seconds. */
struct tally *tally_unpack(const void *data, size_t len, const char *boot, int64_t wall_sec,
                           int64_t up_sec);
