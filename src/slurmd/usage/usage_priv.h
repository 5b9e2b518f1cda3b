/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The books and who waits for them, shared by usage.c and usage_answer.c; for nobody else. */
#pragma once

#include "base/vec.h"
#include "slurmd/usage/tally.h"
#include "slurmd/usage/usage.h"

#define USAGE_FRESH_MS 1000 /* figures that are told are no older */
#define USAGE_ANSWERS_MAX 256
#define USAGE_ANSWERS_PER_USER 64

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

struct usage {
    struct slurmd *d;
    struct tally *tally;
    struct loop_timer *timer;
    struct snapshot snapshot; /* the worker's while 'looking' */
    VEC(pid_t) roots;         /* too */
    bool armed, looking, closing, changed, told_cut;
    int64_t armed_sec;
    bool again; /* this look is for a step that began during the last one */
    bool stale; /* a step runs that no look has seen */
    bool sure;  /* this look is to make sure of what the last one has found over its memory */
    VEC(struct answer) answers;
};

/* usage.c */
int usage_save(struct usage *u); /* to disk; a failure was logged */
void usage_look(
    struct usage *u); /* begins one unless one is under way; who waits is answered then */
bool usage_is_fresh(const struct usage *u, int64_t ms);

/* usage_answer.c: all who wait, from what the books say now. */
void usage_answer_all(struct usage *u);
/* Whether one more question of this user may wait; -ERR_BUSY in *err if not. */
bool usage_may_wait(const struct answer *waiting, size_t count, uid_t uid, struct err *err);
