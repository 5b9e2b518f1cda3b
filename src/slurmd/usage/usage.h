/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Resource usage of processes: the daemon's side of tally.h. A worker takes snapshots every
 * JobAcctGatherFrequency seconds while steps run here, with the heartbeats, and for queries. The
 * tally is written to disk before its values are reported, so that no restart makes a value
 * decrease; it is not synced. Processes adopted into extern steps (extern.h), which were not
 * started by a shepherd, are found in the snapshots.
 */
#pragma once

#include "base/arena.h"
#include "proto/io.pb-c.h"
#include "rpc/server.h"
#include "slurmd/attempt/attempt.h"
#include "slurmd/node/slurmd.h"
#include "slurmd/usage/snapshot.h"

/* Call before jobs are adopted, since they may have ended, and afterwards, when snapshots may be
 * taken. On an error the stored values cannot be read at present. */
int usage_open(struct slurmd *d, struct err *err);
void usage_begin(struct slurmd *d);
void usage_close(struct slurmd *d); /* before the loop is freed */
void usage_done(struct slurmd *d);  /* after the loop is freed */

void usage_beat(struct slurmd *d);
void usage_rearm(struct slurmd *d); /* the interval may have changed */

/* --acctg-freq: seconds between looks while the step runs, instead of the configured interval. */
void usage_step_every(const struct attempt *a, uint32_t step_id, uint32_t sec);
/* The step's shepherd and running tasks; there may be fewer ranks than pids if ranks are
   unknown. */
void usage_step_runs(const struct attempt *a, uint32_t step_id, pid_t shepherd,
                     const uint32_t *pids, size_t pid_count, const uint32_t *ranks,
                     size_t rank_count);
/* Returns the total usage of a step from the shepherd's report and from the looks, in the arena,
   and drops the step. */
Pb__Usage *usage_step_ended(const struct attempt *a, const Pb__StepdEnded *m, struct arena *arena);
void usage_job_forgotten(struct slurmd *d, uint32_t job_id);
/* Returns the job that a process belongs to, by its step's shepherd or by its adoption; 0:
   none. */
uint32_t usage_job_of(struct slurmd *d, pid_t pid);
void usage_is_stale(struct slurmd *d); /* a step has a new process that no look has seen */
void usage_answer_step(struct slurmd *d, const struct rpc_request *r);
void usage_answer_pids(struct slurmd *d, const struct rpc_request *r);
void usage_answer_node(struct slurmd *d, const struct rpc_request *r);

#define USAGE_ANSWERS_MAX 256
#define USAGE_ANSWERS_PER_USER 64

/* A query that waits for a look. */
struct answer {
    uint64_t call;
    uid_t uid;
    bool all, all_jobs;       /* all users; also rows of jobs */
    uint32_t job_id, step_id; /* job_id 0: the node */
    bool one_step;
    bool collect;
    bool pids; /* the list of processes instead of their usage */
    bool one_job;
};

/* Pure. Whether one more query of this user may wait; otherwise *err is -ERR_BUSY. */
bool usage_may_wait(const struct answer *waiting, size_t count, uid_t uid, struct err *err);

/* For a step whose shepherd has gone: sends SIGKILL to the adopted processes. Returns their number
   and describes one of them in 'left'. */
unsigned usage_kill_adopted(const struct attempt *a, struct str *left);
