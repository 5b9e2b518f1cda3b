/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The phases of an attempt (one run of a job) on this node, and the transitions between them,
 * which are the rows of attempt_phase.def. attempt.h has the other state of an attempt, and
 * carries out the actions.
 */
#pragma once

#include <stdbool.h>

enum attempt_phase {
    ATTEMPT_NEW,           /* no prolog has run: a configured prolog runs before the next launch */
    ATTEMPT_PROLOG,        /* the prolog runs or is queued; launches wait */
    ATTEMPT_READY,         /* the prolog has succeeded; launches start */
    ATTEMPT_BLOCKED,       /* the prolog has failed: nothing starts */
    ATTEMPT_ENDING_PROLOG, /* like ENDING, but the prolog still runs */
    ATTEMPT_ENDING,        /* steps, receivers and leftover processes are being ended */
    ATTEMPT_EPILOG,        /* no process of the attempt is left; the epilog runs */
    ATTEMPT_REMOVING,      /* the directories of the job are being removed */
    ATTEMPT_GONE,          /* reported, until the controller acknowledges the report */
    ATTEMPT_PHASES
};

enum attempt_event {
    ATTEMPT_ON_PROLOG_BEGINS,
    ATTEMPT_ON_PROLOG_SUCCEEDED,
    ATTEMPT_ON_PROLOG_FAILED,
    ATTEMPT_ON_PROLOG_LOST,
    ATTEMPT_ON_END_ORDERED, /* by the controller, or nothing is left of a step without a job */
    /* The batch script of a single-node job has ended, without an order. */
    ATTEMPT_ON_SCRIPT_ENDED,
    ATTEMPT_ON_STEP_FOUND,   /* a slurmstepd of an earlier daemon answers */
    ATTEMPT_ON_EMPTIED,      /* no process of the attempt is left on this node */
    ATTEMPT_ON_EPILOG_ENDED, /* the epilog has ended, or there is none */
    ATTEMPT_ON_REMOVED,
    ATTEMPT_EVENTS
};

/* Returns false and leaves *next unchanged if the event has no row in this phase. */
bool attempt_phase_next(enum attempt_phase phase, enum attempt_event event,
                        enum attempt_phase *next);
bool attempt_phase_is_ending(enum attempt_phase phase); /* ending or ended: nothing of it starts */
const char *attempt_phase_text(enum attempt_phase phase);
