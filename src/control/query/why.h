/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Queries why a job waits, and when a hypothetical job would start. A query costs as much as a scan
 * of the queue. Queries are therefore answered one after the other, a share in each turn, and the
 * number of queued queries per user is limited.
 */
#pragma once

#include "base/vec.h"
#include "cluster/cluster.h"
#include "control/control.h"
#include "sched/why/why.h"

struct trial;

struct why_call {
    uint64_t call;
    struct trial *trial; /* test_only.h; NULL: a query about job_id */
    uint32_t uid, gid, job_id;
    bool is_operator, is_admin;
    char *host, *user_name;
};

struct why_line {
    VEC(struct why_call) calls; /* the first one is being answered */
    struct why *now;            /* its query; NULL: not begun */
    uint32_t waited;            /* turns, until the planner has seen the queue */
};

/* Adds a call to the queue, or rejects it while the user has too many. Takes ownership of its
 * data. */
void why_enter(struct control *c, const struct why_call *call);
void why_turn(struct control *c);
bool why_is_due(const struct control *c); /* in the next turn */
void why_begin_anew(struct control *c);   /* when partitions or the configuration change */
bool why_call_gone(struct control *c, uint64_t call); /* false: not a call of this queue */
void why_done(struct control *c);
