/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/step/step_phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slurmstepd/step/step.h"

static bool can_reach(enum step_phase from, enum step_phase to, unsigned seen)
{
    enum step_phase next;

    if (from == to)
        return true;
    for (unsigned event = 0; event < STEP_EVENTS; event++)
        if (step_phase_next(from, event, &next) && !(seen >> next & 1) &&
            can_reach(next, to, seen | 1u << next))
            return true;
    return false;
}

static void every_phase_is_reached_and_leads_to_an_end(void **state)
{
    for (unsigned phase = 0; phase < STEP_PHASES; phase++) {
        assert_true(can_reach(STEP_STARTING, phase, 1u << STEP_STARTING));
        assert_true(can_reach(phase, STEP_LEAVING, 1u << phase) ||
                    can_reach(phase, STEP_OVER, 1u << phase));
    }
}

static bool is_alive(const struct step *s)
{
    return !step_is_starting(s) && !step_has_ended(s);
}

static void running_step_can_be_ended_and_killed_at_any_time(void **state)
{
    for (unsigned phase = 0; phase < STEP_PHASES; phase++) {
        struct step s = {.phase = phase};
        enum step_phase next;

        if (!is_alive(&s))
            continue;
        assert_true(step_phase_next(phase, STEP_ON_KILLED, &next));
        assert_true(next == STEP_KILLING || next == STEP_REAPING);
        step_advance(&s, STEP_ON_END_ORDERED);
        assert_true(step_is_ordered(&s));
    }
}

/* And no step that has ended, or was killed, runs again. */
static void step_never_returns_to_an_earlier_phase(void **state)
{
    for (unsigned phase = 0; phase < STEP_PHASES; phase++)
        for (unsigned event = 0; event < STEP_EVENTS; event++) {
            struct step before = {.phase = phase}, after = before;

            if (!step_phase_next(phase, event, &after.phase))
                continue;
            assert_false(step_has_ended(&before) && !step_has_ended(&after));
            assert_false(!step_is_starting(&before) && step_is_starting(&after));
            assert_false(phase == STEP_KILLING && step_is_running(&after));
        }
}

static void draining_step_informs_srun_once(void **state)
{
    struct step s = {.phase = STEP_DRAINING};
    enum step_phase next;

    step_advance(&s, STEP_ON_SRUN_TOLD);
    assert_true(step_is_draining(&s));
    assert_false(step_phase_next(s.phase, STEP_ON_SRUN_TOLD, &next));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_phase_is_reached_and_leads_to_an_end),
        cmocka_unit_test(running_step_can_be_ended_and_killed_at_any_time),
        cmocka_unit_test(step_never_returns_to_an_earlier_phase),
        cmocka_unit_test(draining_step_informs_srun_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
