/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The start of jobs: from pending to running. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"
#include "proto/step.pb-c.h"
#include "sched/plan.h"

struct control;

void start_plan(struct control *c);
int64_t start_due_ms(const struct control *c); /* INT64_MAX: no pass is wanted */
bool start_backfills(const struct control *c); /* jobs may start before a waiting job */
/* Called before partitions, reservations, counts of licences or the configuration change: the pass
 * restarts, and its planned starts are dropped. */
void start_drop_plan(struct control *c);
/* Starts a job on nodes that the caller has chosen. The caller keeps the decision. */
int start_placed(struct control *c, const struct decision *d, struct err *err);
void start_answer_fresh(struct control *c);
void start_send_batch(struct control *c, struct job *j);
void start_send_prepare(struct control *c, struct job *j,
                        const struct alloc_node *a); /* with PrologFlags=Alloc */
void start_reply_alloc(struct control *c, struct job *j, uint64_t call, bool granted);
/* The job has its nodes and may use them. */
void start_ready(struct control *c, struct job *j);
void start_configured(struct control *c, struct job *j); /* PrologSlurmctld has succeeded */
void start_booted(struct control *c, struct job *j);     /* its nodes have rebooted */
/* The component is configured or has ended: the leader may have waited for it. */
void start_component_changed(struct control *c, struct job *j);
/* Starts the first step of srun's own allocation if there is none yet. False: the job has ended. */
bool start_step(struct control *c, struct job *j);

/* Subscribers of transitions: life/transition.def. */
void start_count_time(struct control *c, const struct transition *t);
void start_plan_again(struct control *c, const struct transition *t);
void start_launch(struct control *c, const struct transition *t);
