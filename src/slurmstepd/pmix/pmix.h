/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMIx for the tasks, the shepherd's part. The PMIx server is a separate process beside the
 * shepherd, slurmstepd-pmix, which has loaded libpmix; the shepherd relays its messages for other
 * nodes to and from srun. The server runs as the user, so its messages are trusted no more than
 * those of a task. If it ends before the tasks, the step ends.
 */
#pragma once

#include "slurmstepd/step/step.h"

bool pmix_wanted(const struct step *step);

/* Starts the server; followed by task_start_all() or start_failed(). */
void pmix_start(struct step *step);
void pmix_done(struct step *step); /* the server has ended; removes its files */

/* In the child: adds the PMIx variables to a task's environment. */
void pmix_put_env(const struct task *t, struct envlist *env);

/* All tasks have ended. Asks the server, once, whether one of them has left tasks of other nodes
 * waiting for it; if so, the step ends. Returns true until the server has answered; finish_check()
 * is called then. */
bool pmix_asks(struct step *step);

void pmix_drained(struct step *step); /* srun's connection has space again, or is gone */

/* Messages of srun. */
void pmix_fence_done(struct step *step, const Pb__PmixFence *m);
void pmix_get(struct step *step, const Pb__PmixGet *m);
void pmix_got(struct step *step, const Pb__PmixGot *m);
void pmix_event(struct step *step, const Pb__PmixEvent *m);
void pmix_name_done(struct step *step, const Pb__NameReply *m);
void pmix_spawned(struct step *step, const Pb__Spawned *m);
