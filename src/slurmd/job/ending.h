/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps without a slurmstepd: their processes are killed and their end is reported. Also finds the
 * steps of an earlier daemon.
 */
#pragma once

#include "slurmd/attempt/attempt.h"

Pb__StepdEnded *ending_copy(const Pb__StepdEnded *m);

struct lost {
    struct attempt *attempt;
    uint32_t step_id;
    int64_t give_up_ms;
    struct loop_timer *timer;
    Pb__StepdEnded *said; /* report of its slurmstepd; NULL: slurmstepd was killed */
    bool was_silent;      /* slurmstepd was killed because it did not answer */
    char *for_memory; /* slurmstepd exceeded the memory limit of the job's slurmstepds; NULL: it did
                         not */
    pid_t unresponsive_pid; /* pid of the slurmstepd that did not answer */
    int handle;             /* pidfd of that process; -1: none */
};

/* The shepherd of the step was killed: kills the remaining processes, which may take a while, and
 * then ends the step. */
void ending_lost(struct attempt *a, uint32_t step_id);
/* Like ending_lost(), for a shepherd that did not answer. The shepherd counts as a remaining
   process while it lives. The function takes ownership of the handle. */
void ending_silent(struct attempt *a, uint32_t step_id, pid_t shepherd, int handle);
void ending_lost_free(struct lost *l);
/* The extern step has ended. Without a control group, processes may have escaped from the
 * shepherd. They are searched for by their environment, and the step ends when none is left.
 * Returns false if no search is needed. */
bool ending_extern(struct attempt *a, const Pb__StepdEnded *said);

/* For a job found on disk: connects to the living shepherds and reads the exit files of the
   others. */
void ending_find_steps(struct attempt *a);

/* Removes a script that its shepherd could not remove. */
void ending_remove_script(const struct slurmd *d, uint32_t job_id);

/* At the start of the daemon, after its jobs are known: removes files from the spool directory
 * that killed shepherds left and users could write to, if no shepherd has the step. */
void ending_sweep(struct slurmd *d);
