/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MPI for the tasks: connects pmi.c with each task's PMI_FD and, for barriers and names, with
 * srun.
 */
#pragma once

#include "slurmstepd/step/step.h"

/* The descriptor named by PMI_FD. Scripts use low numbers; shells allocate from 10 upwards and
 * skip numbers in use. */
#define MPI_TASK_FD 10

bool mpi_wanted(const struct step *step);
void mpi_open(struct step *step); /* before the tasks start */
void mpi_done(struct step *step);

/* Creates a socket pair for a task: our end is watched, and the returned end is for the child. */
int mpi_task_open(struct task *t, struct err *err);
void mpi_task_done(struct task *t);
void mpi_task_ended(struct task *t); /* while the step runs */

void mpi_drained(struct step *step); /* srun's connection has space again, or is gone */

void mpi_fence_done(struct step *step, const Pb__KvsFence *m);
void mpi_name_done(struct step *step, const Pb__NameReply *m);
void mpi_spawned(struct step *step, const Pb__Spawned *m);
