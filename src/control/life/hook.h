/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PrologSlurmctld and EpilogSlurmctld. */
#pragma once

#include "base/arena.h"
#include "cluster/cluster.h"
#include "proto/script.pb-c.h"

struct control;

/* At its start; false: there is none to wait for. */
bool hook_start(struct control *c, struct job *j);
void hook_resume(struct control *c, struct job *j); /* after a restart */
static inline bool hook_holds(const struct job *j)  /* it is completing, or configuring */
{
    return attempt_of(j)->script || attempt_of(j)->epilog_due || burst_stages_out(j->burst);
}

/* hook_env.c */
/* The environment of a program of the site's that runs for a job, in the arena; 'more' is room for
 * so many further entries. Returns how many there are. */
size_t hook_env_make(struct control *c, struct job *j, enum _Pb__ScriptKind kind, size_t more,
                     char ***env, struct arena *arena);

/* Subscribers of transitions: life/transition.def. */
void hook_job_ended(struct control *c, const struct transition *t);
