/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that begin when all of their nodes are ready (--wait-all-nodes).
 *
 * With --reboot the nodes of a job run RebootProgram before the job begins. The job is configuring
 * until all of its nodes have registered with another incarnation; its run time begins then. A node
 * that does not register within ResumeTimeout becomes DOWN, which ends the attempt
 * (finish_node_failed()).
 */
#pragma once

#include "base/err.h"
#include "cluster/cluster.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"

struct caller;
struct control;

/* Called at the job's start: asks its nodes whether they are ready; false: this is not required. */
bool ready_begin(struct control *c, struct job *j);
void ready_look(struct control *c,
                struct job *j); /* checks whether all nodes are ready that the job still has */
void ready_ask_again(struct control *c, struct job *j);
void ready_node(struct control *c, const struct node *n, const Pb__Prepared *m);

/* start.c */
/* For a job that was configuring. */
void start_all_ready(struct control *c, struct job *j);

/* Only administrators may request a reboot. 'spec': of a submission or of a change. -ERR_ACCESS. */
int boot_authorise(const struct caller *who, const Pb__JobSpec *spec, struct err *err);
/* -ERR_CONFIG: RebootProgram is not set. */
int boot_check_program(const struct control *c, const Pb__JobSpec *spec, struct err *err);

/* Called at the job's start; false: there is no reboot to wait for. */
bool boot_begin(struct control *c, struct job *j);
/* Whether a node of the job is being rebooted for it. */
bool boot_is_pending(const struct control *c, const struct job *j);
/* For a configuring job that has begun to reboot its nodes: continues when all nodes are back. */
void boot_look(struct control *c, struct job *j);
/* Whether the node has returned from a reboot that this job waits for. */
bool boot_awaits(const struct job *j, const struct node *n);
void boot_take_incarnation(struct control *c, struct job *j, const struct node *n);
