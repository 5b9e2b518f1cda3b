/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a replay consists of: the trace's jobs and the controller's world (replay.c), and nodes that
 * answer at once (replay_node.c).
 */
#pragma once

#include "base/mem.h"
#include "cluster/index/idmap.h"
#include "cluster/index/order.h"
#include "control/control.h"
#include "sim/study/replay.h"

#define REPLAY_NO_JOB UINT32_MAX

struct trip {                /* of a trace's job through this world */
    struct order_link event; /* its submission, or the end of the attempt that runs */
    bool submitted, runs;
    uint32_t restarts, attempt; /* while it runs */
    const char *node;           /* where its script runs */
    uint32_t first_follower, next_follower;
};

struct answer {
    const char *node;
    uint32_t job_id, restarts;
    uint64_t nonce; /* of a signal */
    bool launched, gone;
};

struct world {
    const struct replay_options *options;
    struct replay *r;
    struct control *control;
    struct env env;
    const struct conf *conf;
    int64_t now_sec, first_wall_sec, wake_ms;
    uint64_t seq;
    struct order events;
    struct trip *trips;
    struct idmap ids;    /* job id: place in the trace */
    uint32_t submitting; /* REPLAY_NO_JOB: none */
    VEC(struct answer) answers;
    struct arena arena; /* of one message */
};

/* The next event of a job. */
void replay_push(struct world *w, uint32_t job, int64_t at_sec, bool submission);
/* Those that were to follow a job come now, after their time to think. */
void replay_let_follow(struct world *w, uint32_t job);

/* replay_node.c. For env.send. */
void replay_node_take(void *ctx, const char *node, const Pb__NodeOrders *m);
/* What the last orders led to. */
void replay_node_answer(struct world *w, const struct answer *a);
/* The job's script ends by itself. */
void replay_node_end(struct world *w, uint32_t job);
void replay_node_register(struct world *w);
