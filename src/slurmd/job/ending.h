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
    Pb__StepdEnded *said; /* by its slurmstepd; NULL: that was killed */
    bool was_silent;      /* slurmstepd was killed because it did not answer */
    char *for_memory; /* slurmstepd exceeded the memory limit of the job's slurmstepds; NULL: it did
                         not */
    pid_t silent;     /* the slurmstepd that did not answer */
    int handle;       /* pidfd of it; -1: none */
};

/* A step whose shepherd was killed: ends what it left behind, which may take a while, and then the
 * step. */
void ending_lost(struct attempt *a, uint32_t step_id);
/* The same of one that did not answer. It counts as left while it lives; the handle is taken. */
void ending_silent(struct attempt *a, uint32_t step_id, pid_t shepherd, int handle);
void ending_lost_free(struct lost *l);
/* The extern step has ended. Without a control group to track them processes may have slipped its
 * shepherd: these are looked for by their environment, and the step is over when none is left.
 * False: there is nothing to look for. */
bool ending_extern(struct attempt *a, const Pb__StepdEnded *said);

/* Of a job found on disk: connects to its living shepherds, takes in the ends of the others. */
void ending_find_steps(struct attempt *a);

/* A script that its shepherd could not remove. */
void ending_remove_script(const struct slurmd *d, uint32_t job_id);

/* At the start of the daemon, with its jobs known: removes from the spool directory what killed
 * shepherds have left there and users could write to, of steps that no shepherd has. */
void ending_sweep(struct slurmd *d);
