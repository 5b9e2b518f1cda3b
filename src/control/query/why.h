/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions why a job waits, and when one would start that is not there. They cost what a look at
 * the queue costs, so that one is answered after the other, a share of each in a turn, and a user
 * has few of them in the line.
 */
#pragma once

#include "base/vec.h"
#include "cluster/cluster.h"
#include "control/control.h"
#include "sched/why/why.h"

struct trial;

struct why_call {
    uint64_t call;
    struct trial *trial; /* test_only.h; NULL: job_id is asked about */
    uint32_t uid, gid, job_id;
    bool is_operator, is_admin;
    char *host, *user_name;
};

struct why_line {
    VEC(struct why_call) calls; /* the first one is being looked at */
    struct why *now;            /* its question; NULL: not begun */
    uint32_t waited;            /* turns, for the planner to have seen the queue */
};

/* Into the line, or a refusal: the same one may ask when others are answered. Takes what it has. */
void why_enter(struct control *c, const struct why_call *call);
void why_turn(struct control *c);
bool why_is_due(const struct control *c);             /* in the next turn */
void why_begin_anew(struct control *c);               /* partitions or the configuration change */
bool why_call_gone(struct control *c, uint64_t call); /* false: it is of no question */
void why_done(struct control *c);
