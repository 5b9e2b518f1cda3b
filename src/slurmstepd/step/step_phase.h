/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The phases of a step's part on this node, and the transitions between them, which are the rows
 * of step_phase.def.
 */
#pragma once

#include <stdbool.h>

enum step_phase {
    STEP_STARTING,    /* start message, claim, connection to srun; tasks are being set up */
    STEP_ABORTING,    /* the step cannot start: its processes get SIGKILL */
    STEP_RUNNING,     /* its tasks run, or it waits for other processes after them */
    STEP_TERMINATING, /* it was ordered to end, and the grace period runs */
    STEP_KILLING,     /* the same, and all processes get SIGKILL */
    STEP_REAPING,     /* its tasks have ended by themselves; the remaining processes get SIGKILL */
    /* No process is left and the result is recorded; output is on its way to srun. */
    STEP_DRAINING,
    STEP_LEAVING, /* srun has been told of the end */
    STEP_OVER,    /* it never started, and no message is outstanding: this process exits */
    STEP_PHASES
};

enum step_event {
    STEP_ON_STARTED,
    STEP_ON_START_FAILED,
    STEP_ON_START_FAILED_HEARD, /* the start failed and an srun is connected */
    STEP_ON_END_ORDERED,        /* by slurmd or srun, or the connection to srun is lost */
    STEP_ON_KILLED,             /* SIGKILL was sent to all processes, possibly repeated */
    /* No task is left, nor any other process that the step waits for. */
    STEP_ON_RUN_OUT,
    STEP_ON_EMPTIED, /* no process is left, except unkillable ones; the result is recorded */
    STEP_ON_SRUN_TOLD,
    STEP_EVENTS
};

struct step;

/* Returns false and leaves *next unchanged if the event has no row in this phase. */
bool step_phase_next(enum step_phase phase, enum step_event event, enum step_phase *next);
/* The event must have a row in the step's phase. */
void step_advance(struct step *step, enum step_event event);

bool step_is_starting(const struct step *step); /* or the start is being aborted */
bool step_is_running(const struct step *step);  /* SIGKILL was not sent */
bool step_is_ordered(const struct step *step);  /* ordered to end, while a process of it lives */
bool step_is_draining(const struct step *step); /* or leaving */
bool step_has_ended(const struct step *step);   /* no process of it lives */
