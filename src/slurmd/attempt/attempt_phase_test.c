/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt/attempt_phase.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static bool can_reach(enum attempt_phase from, enum attempt_phase to, unsigned seen)
{
    enum attempt_phase next;

    if (from == to)
        return true;
    for (unsigned event = 0; event < ATTEMPT_EVENTS; event++)
        if (attempt_phase_next(from, event, &next) && !(seen >> next & 1) &&
            can_reach(next, to, seen | 1u << next))
            return true;
    return false;
}

static void every_phase_is_reached_and_leads_to_the_end(void **state)
{
    for (unsigned phase = 0; phase < ATTEMPT_PHASES; phase++) {
        assert_true(can_reach(ATTEMPT_NEW, phase, 1u << ATTEMPT_NEW));
        assert_true(can_reach(phase, ATTEMPT_GONE, 1u << phase));
        assert_non_null(attempt_phase_text(phase));
    }
}

/* The controller repeats the order until the attempt is gone. */
static void an_order_to_end_is_legal_until_the_attempt_is_gone(void **state)
{
    enum attempt_phase next;

    for (unsigned phase = 0; phase < ATTEMPT_GONE; phase++) {
        assert_true(attempt_phase_next(phase, ATTEMPT_ON_END_ORDERED, &next));
        assert_true(attempt_phase_is_ending(next));
    }
}

static void an_attempt_that_ends_starts_nothing(void **state)
{
    for (unsigned phase = 0; phase < ATTEMPT_PHASES; phase++)
        for (unsigned event = 0; event < ATTEMPT_EVENTS; event++) {
            enum attempt_phase next = ATTEMPT_NEW;

            if (attempt_phase_is_ending(phase) && attempt_phase_next(phase, event, &next))
                assert_true(attempt_phase_is_ending(next));
        }
}

/* Neither concurrently with the prolog nor twice. */
static void epilog_begins_in_one_phase_only(void **state)
{
    enum attempt_phase next;

    for (unsigned phase = 0; phase < ATTEMPT_PHASES; phase++)
        for (unsigned event = 0; event < ATTEMPT_EVENTS; event++)
            if (attempt_phase_next(phase, event, &next) && next == ATTEMPT_EPILOG &&
                phase != ATTEMPT_EPILOG)
                assert_true(phase == ATTEMPT_ENDING && event == ATTEMPT_ON_EMPTIED);
}

static void an_event_without_a_row_changes_nothing(void **state)
{
    for (unsigned event = 0; event < ATTEMPT_EVENTS; event++) {
        enum attempt_phase next = ATTEMPT_PROLOG;

        assert_false(attempt_phase_next(ATTEMPT_GONE, event, &next));
        assert_int_equal(next, ATTEMPT_PROLOG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_phase_is_reached_and_leads_to_the_end),
        cmocka_unit_test(an_order_to_end_is_legal_until_the_attempt_is_gone),
        cmocka_unit_test(an_attempt_that_ends_starts_nothing),
        cmocka_unit_test(epilog_begins_in_one_phase_only),
        cmocka_unit_test(an_event_without_a_row_changes_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
