/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt/attempt_phase.h"

#include <assert.h>
#include <stdint.h>

static const struct row {
    uint8_t is_legal, next;
} rows[ATTEMPT_PHASES][ATTEMPT_EVENTS] = {
#define TRANSITION(phase, event, next, action)                                                     \
    [ATTEMPT_##phase][ATTEMPT_ON_##event] = {1, ATTEMPT_##next},
#include "slurmd/attempt/attempt_phase.def"
#undef TRANSITION
};

bool attempt_phase_next(enum attempt_phase phase, enum attempt_event event,
                        enum attempt_phase *next)
{
    const struct row *row = &rows[phase][event];

    assert(phase < ATTEMPT_PHASES && event < ATTEMPT_EVENTS);
    if (row->is_legal)
        *next = row->next;
    return row->is_legal;
}

bool attempt_phase_is_ending(enum attempt_phase phase)
{
    return phase >= ATTEMPT_ENDING_PROLOG;
}

const char *attempt_phase_text(enum attempt_phase phase)
{
    static const char *const texts[ATTEMPT_PHASES] = {
        [ATTEMPT_NEW] = "new",
        [ATTEMPT_PROLOG] = "prolog",
        [ATTEMPT_READY] = "ready",
        [ATTEMPT_BLOCKED] = "blocked",
        [ATTEMPT_ENDING_PROLOG] = "ending in its prolog",
        [ATTEMPT_ENDING] = "ending",
        [ATTEMPT_EPILOG] = "epilog",
        [ATTEMPT_REMOVING] = "removing",
        [ATTEMPT_GONE] = "gone",
    };

    return texts[phase];
}
