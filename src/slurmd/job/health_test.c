/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "slurmd/job/health.h"

static void test_health_check_runs_in_configured_states(void **state)
{
    static const struct {
        const char *states;
        bool idle, mixed, full; /* no job; some of 4 CPUs; all of them */
    } vectors[] = {
        {NULL, true, true, true},
        {"ANY", true, true, true},
        {"any,start_only", true, true, true},
        {"CYCLE", true, true, true},
        {"START_ONLY", false, false, false},
        {"START_ONLY,IDLE", false, false, false},
        {"IDLE", true, false, false},
        {"idle,CYCLE", true, false, false},
        {"NONDRAINED_IDLE", true, false, false},
        {"MIXED", false, true, false},
        {"ALLOC", false, false, true},
        {"CYCLE,ALLOC,MIXED", false, true, true},
        {"ALLOC,IDLE", true, false, true},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        assert_int_equal(health_wants(vectors[i].states, 0, 0, 4), vectors[i].idle);
        assert_int_equal(health_wants(vectors[i].states, 1, 1, 4), vectors[i].mixed);
        assert_int_equal(health_wants(vectors[i].states, 2, 4, 4), vectors[i].full);
        assert_int_equal(health_wants(vectors[i].states, 2, 5, 4), vectors[i].full);
    }
}

static void test_all_nodes_check_at_the_same_time(void **state)
{
    static const struct {
        int64_t wall_ms, interval_sec, wait_ms;
    } vectors[] = {
        {0, 60, 60000},         {1, 60, 59999},    {59999, 60, 1}, {60000, 60, 60000},
        {123456789, 60, 23211}, {-1000, 60, 1000}, {5, 1, 995},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        for (int node = 0; node < 2; node++)
            assert_int_equal(health_wait_ms(vectors[i].wall_ms, vectors[i].interval_sec, "ANY",
                                            node ? "n1" : "n2"),
                             vectors[i].wait_ms);
}

static void test_cycle_distributes_nodes_over_the_interval(void **state)
{
    static const char *const nodes[] = {"n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"};
    unsigned thirds[3] = {0};

    for (int i = 0; i < 8; i++) {
        int64_t wait = health_wait_ms(1000000, 60, "CYCLE,IDLE", nodes[i]);

        assert_in_range(wait, 1, 60000);
        thirds[(wait - 1) / 20000]++;
        /* The same moment of every minute. */
        assert_int_equal(health_wait_ms(1000000 + wait, 60, "CYCLE", nodes[i]), 60000);
    }
    assert_true(thirds[0] && thirds[1] && thirds[2]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health_check_runs_in_configured_states),
        cmocka_unit_test(test_all_nodes_check_at_the_same_time),
        cmocka_unit_test(test_cycle_distributes_nodes_over_the_interval),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
