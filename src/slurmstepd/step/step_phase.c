/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/step/step_phase.h"

#include <assert.h>
#include <stdint.h>

#include "slurmstepd/step/step.h"

static const struct row {
    uint8_t is_legal, next;
} rows[STEP_PHASES][STEP_EVENTS] = {
#define TRANSITION(phase, event, next) [STEP_##phase][STEP_ON_##event] = {1, STEP_##next},
#include "slurmstepd/step/step_phase.def"
#undef TRANSITION
};

bool step_phase_next(enum step_phase phase, enum step_event event, enum step_phase *next)
{
    const struct row *row = &rows[phase][event];

    if (row->is_legal)
        *next = row->next;
    return row->is_legal;
}

void step_advance(struct step *step, enum step_event event)
{
    bool is_legal = step_phase_next(step->phase, event, &step->phase);

    assert(is_legal);
}

bool step_is_starting(const struct step *step)
{
    return step->phase == STEP_STARTING || step->phase == STEP_ABORTING;
}

bool step_is_running(const struct step *step)
{
    return step->phase == STEP_RUNNING || step->phase == STEP_TERMINATING;
}

bool step_is_ordered(const struct step *step)
{
    return step->phase == STEP_TERMINATING || step->phase == STEP_KILLING;
}

bool step_is_draining(const struct step *step)
{
    return step->phase == STEP_DRAINING || step->phase == STEP_LEAVING;
}

bool step_has_ended(const struct step *step)
{
    return step->phase >= STEP_DRAINING;
}
