/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MPI for the tasks: carries what pmi.c says over each task's PMI_FD, its barriers and names over
 * srun.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* The descriptor tasks find in PMI_FD. Low numbers belong to scripts, 10 upwards to shells, which
 * take the next free one. */
#define MPI_TASK_FD 10

bool mpi_wanted(const struct step *step);
void mpi_open(struct step *step); /* before the tasks start */
void mpi_done(struct step *step);

/* A pair of descriptors for a task: ours is watched, the returned one is the child's. */
int mpi_task_open(struct task *t, struct err *err);
void mpi_task_done(struct task *t);
void mpi_task_ended(struct task *t); /* while the step runs */

void mpi_drained(struct step *step); /* srun has room again, or is gone */

void mpi_fence_done(struct step *step, const Pb__KvsFence *m);
void mpi_name_done(struct step *step, const Pb__NameReply *m);
void mpi_spawned(struct step *step, const Pb__Spawned *m);
