/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PMIx for the tasks, the shepherd's part: a process beside it, slurmstepd-pmix, is their server
 * and has libpmix; what that one has for other nodes is carried between it and srun. It runs as the
 * user, and what it says is believed no more than what a task says. If it ends before the tasks,
 * the step ends.
 */
#pragma once

#include "slurmstepd/step/step.h"

bool pmix_wanted(const struct step *step);

/* Starts the server; task_start_all() or start_failed() follows. */
void pmix_start(struct step *step);
void pmix_done(struct step *step); /* the server has gone by now; its files go */

/* Adds what a task needs to its environment: in the child. */
void pmix_put_env(const struct task *t, struct envlist *env);

/* The tasks have all ended: the server is asked, once, whether one of them has left tasks of other
 * nodes to wait for it; if so, the step ends. True until it has answered; finish_check() is called
 * then. */
bool pmix_asks(struct step *step);

void pmix_drained(struct step *step); /* srun has room again, or is gone */

/* From srun. */
void pmix_fence_done(struct step *step, const Pb__PmixFence *m);
void pmix_get(struct step *step, const Pb__PmixGet *m);
void pmix_got(struct step *step, const Pb__PmixGot *m);
void pmix_event(struct step *step, const Pb__PmixEvent *m);
void pmix_name_done(struct step *step, const Pb__NameReply *m);
void pmix_spawned(struct step *step, const Pb__Spawned *m);
