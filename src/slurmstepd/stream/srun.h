/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the step's srun is sent. The connection is made, and its messages are taken, in srun_link.h.
 */
#pragma once

#include "slurmstepd/step/step.h"

bool srun_has_room(const struct step *step); /* true also when it is gone: bytes are dropped then */
void srun_send_data(struct step *step, uint32_t task, uint32_t number, const void *data,
                    size_t len); /* len 0: end of file */
void srun_tasks_started(struct step *step);
void srun_tell_started(struct step *step, struct rpc_session *to); /* or a watcher */
void srun_task_failed(struct step *step, uint32_t task, int code, const char *text);
void srun_task_exited(struct step *step, const struct task *t);
/* The step ends: a task has called MPI_Abort, or (broken) MPI cannot go on. */
void srun_abort(struct step *step, int exit_code, const char *text, bool broken);
void srun_fence(struct step *step, uint32_t round, const Pb__KvsEntry *pairs, size_t count);
/* A message of the PMIx server as it came. */
void srun_pmix(struct step *step, enum rpc_number rpc, const ProtobufCMessage *m);
void srun_tunnel(struct step *step, const Pb__TunnelData *m);
void srun_name(struct step *step, const Pb__NameRequest *m); /* answered by mpi_name_done() */
void srun_spawn(struct step *step, const Pb__Spawn *m);      /* answered by mpi_spawned() */
void srun_begun(struct step *step); /* all tasks have begun MPI, which those want to know who have
                                     * asked for them */
void srun_finish(struct step *step, const Pb__Usage *usage); /* StepDone, then close */
