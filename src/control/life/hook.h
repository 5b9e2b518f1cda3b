/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PrologSlurmctld and EpilogSlurmctld. */
#pragma once

#include "base/arena.h"
#include "cluster/cluster.h"
#include "proto/script.pb-c.h"

struct control;

/* Called at the job's start; false: there is no hook to wait for. */
bool hook_start(struct control *c, struct job *j);
void hook_resume(struct control *c, struct job *j); /* after a restart */
static inline bool hook_holds(const struct job *j)  /* keeps it completing or configuring */
{
    return attempt_of(j)->script || attempt_of(j)->epilog_due || burst_stages_out(j->burst);
}

/* Builds the environment of a site program for a job, in the arena, with space for 'more' further
 * entries. Returns the number of entries. */
size_t hook_env_make(struct control *c, struct job *j, enum _Pb__ScriptKind kind, size_t more,
                     char ***env, struct arena *arena);

/* Subscribers of transitions: life/transition.def. */
void hook_job_ended(struct control *c, const struct transition *t);
