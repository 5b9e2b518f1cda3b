/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "sim/sim.h"

static void promises_hold_under_faults(void **state)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct sim_options o = {.seed = seed,
                                .nodes = 1 + seed % 6,
                                .cpus = 1 + seed % 4,
                                .jobs = 40,
                                .fault_per_mille = 50 + seed % 10 * 20};
        struct sim_result r;
        struct err err = {0};
        if (sim_run(&o, &r, &err) != 0)
            fail_msg("%s", err.text);
        assert_int_equal(r.acknowledged, 40);
    }
}

static void without_faults_all_is_quick(void **state)
{
    struct sim_options o = {.seed = 5, .nodes = 8, .cpus = 4, .jobs = 300};
    struct sim_result r;
    struct err err = {0};
    assert_int_equal(sim_run(&o, &r, &err), 0);
    assert_int_equal(r.ended, 300);
    assert_int_equal(r.controller_crashes + r.node_crashes + r.sessions_broken, 0);
}

static void same_seed_same_bytes(void **state)
{
    struct sim_options o = {.seed = 77, .nodes = 5, .cpus = 4, .jobs = 100, .fault_per_mille = 200};
    struct sim_result a, b, c;
    struct err err = {0};
    assert_int_equal(sim_run(&o, &a, &err), 0);
    assert_int_equal(sim_run(&o, &b, &err), 0);
    assert_true(a.trace == b.trace && a.events == b.events);
    o.seed++;
    assert_int_equal(sim_run(&o, &c, &err), 0);
    assert_true(a.trace != c.trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(promises_hold_under_faults),
        cmocka_unit_test(without_faults_all_is_quick),
        cmocka_unit_test(same_seed_same_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
