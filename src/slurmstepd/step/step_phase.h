/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The phases of a step's part on this node, and what leads from one to the next: the rows of
 * step_phase.def.
 */
#pragma once

#include <stdbool.h>

enum step_phase {
    STEP_STARTING,    /* message, claim, srun's connection, tasks are set up */
    STEP_ABORTING,    /* it cannot start: what there is of it gets SIGKILL */
    STEP_RUNNING,     /* its tasks run, or what it waits for after them */
    STEP_TERMINATING, /* it was ordered to end, and has its time for that */
    STEP_KILLING,     /* the same, and everything gets SIGKILL */
    STEP_REAPING,     /* its tasks have ended by themselves: what they left behind gets SIGKILL */
    STEP_DRAINING,    /* no process is left, its end is recorded: output is on its way to srun */
    STEP_LEAVING,     /* srun has been told of the end */
    STEP_OVER,        /* it never started, and nobody is to be told more: this process ends */
    STEP_PHASES
};

enum step_event {
    STEP_ON_STARTED,
    STEP_ON_START_FAILED,
    STEP_ON_START_FAILED_HEARD, /* by an srun that is connected */
    STEP_ON_END_ORDERED,        /* by slurmd or srun, or srun is lost */
    STEP_ON_KILLED,             /* SIGKILL was sent to everything, once more */
    STEP_ON_RUN_OUT,            /* no task is left, and nothing else that it waits for */
    STEP_ON_EMPTIED, /* no process is left, or none that SIGKILL ends; the end is recorded */
    STEP_ON_SRUN_TOLD,
    STEP_EVENTS
};

struct step;

/* False, and *next is untouched: the event has no row in this phase. */
bool step_phase_next(enum step_phase phase, enum step_event event, enum step_phase *next);
/* The event must have a row in the step's phase. */
void step_advance(struct step *step, enum step_event event);

bool step_is_starting(const struct step *step); /* or failing to */
bool step_is_running(const struct step *step);  /* SIGKILL was not sent */
bool step_is_ordered(const struct step *step);  /* to end, while something of it lives */
bool step_is_draining(const struct step *step); /* or leaving */
bool step_has_ended(const struct step *step);   /* nothing of it lives */
