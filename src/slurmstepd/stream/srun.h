/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Messages to the step's srun. srun_link.h opens the connection and receives its messages.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* Also true without a connection: bytes are dropped then. */
bool srun_has_room(const struct step *step);
void srun_send_data(struct step *step, uint32_t task, uint32_t number, const void *data,
                    size_t len); /* len 0: end of file */
void srun_tasks_started(struct step *step);
void srun_tell_started(struct step *step, struct rpc_session *to); /* to srun or to a watcher */
void srun_task_failed(struct step *step, uint32_t task, int code, const char *text);
void srun_task_exited(struct step *step, const struct task *t);
/* Ends the step: a task has called MPI_Abort, or (broken) MPI cannot continue. */
void srun_abort(struct step *step, int exit_code, const char *text, bool broken);
void srun_fence(struct step *step, uint32_t round, const Pb__KvsEntry *pairs, size_t count);
/* Forwards a message of the PMIx server unchanged. */
void srun_pmix(struct step *step, enum rpc_number rpc, const ProtobufCMessage *m);
void srun_tunnel(struct step *step, const Pb__TunnelData *m);
void srun_name(struct step *step, const Pb__NameRequest *m); /* answered by mpi_name_done() */
void srun_spawn(struct step *step, const Pb__Spawn *m);      /* answered by mpi_spawned() */
/* All tasks have started MPI, for the tasks that have spawned them. */
void srun_begun(struct step *step);
void srun_finish(struct step *step, const Pb__Usage *usage); /* sends StepDone, then closes */
