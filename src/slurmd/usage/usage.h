/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What processes use: the daemon's side of the books of tally.h. Looks are taken by a worker every
 * JobAcctGatherFrequency seconds while steps run here, with the heartbeats, and for those who ask.
 * The books are on disk before anybody sees them, so that no restart makes a figure fall; there is
 * no fsync.
 */
#pragma once

#include "base/arena.h"
#include "proto/io.pb-c.h"
#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/slurmd.h"

/* Before jobs are adopted, which may have ended; and after that, when looks may be taken. An error:
 * what was counted cannot be read for now. */
int usage_open(struct slurmd *d, struct err *err);
void usage_begin(struct slurmd *d);
void usage_close(struct slurmd *d); /* before the loop is freed */
void usage_done(struct slurmd *d);  /* after it */

void usage_beat(struct slurmd *d);
void usage_rearm(struct slurmd *d); /* the interval may be another */

/* --acctg-freq: seconds between looks while it runs, in the place of those that are configured. */
void usage_step_every(const struct attempt *a, uint32_t step_id, uint32_t sec);
/* Its shepherd, and the tasks that run; ranks may be fewer than pids: not known. */
void usage_step_runs(const struct attempt *a, uint32_t step_id, pid_t shepherd,
                     const uint32_t *pids, size_t pid_count, const uint32_t *ranks,
                     size_t rank_count);
/* What it used: what the shepherd says, and what was seen. Lives in the arena; forgets the step. */
Pb__Usage *usage_step_ended(const struct attempt *a, const Pb__StepdEnded *m, struct arena *arena);
void usage_job_forgotten(struct slurmd *d, uint32_t job_id);
/* The job that a process belongs to, by its step's shepherd or by its adoption; 0: none. */
uint32_t usage_job_of(struct slurmd *d, pid_t pid);
void usage_is_stale(struct slurmd *d); /* a process belongs to a step that no look has seen there */
void usage_answer_step(struct slurmd *d, const struct rpc_request *r);
void usage_answer_pids(struct slurmd *d, const struct rpc_request *r);
void usage_answer_node(struct slurmd *d, const struct rpc_request *r);

#define USAGE_ANSWERS_MAX 256
#define USAGE_ANSWERS_PER_USER 64

/* A question that waits for a look. */
struct answer {
    uint64_t call;
    uid_t uid;
    bool all, all_jobs;       /* of every user; lines of jobs too */
    uint32_t job_id, step_id; /* job_id 0: of the node */
    bool one_step;
    bool collect;
    bool pids; /* not what is used: by which processes */
    bool one_job;
};

/* Pure. Whether one more question of this user may wait; -ERR_BUSY in *err if not. */
bool usage_may_wait(const struct answer *waiting, size_t count, uid_t uid, struct err *err);
