/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Preemption of heterogeneous jobs: all components make room in the same way, or none does. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nNodeName=n[1-2] CPUs=4\n"                                       \
    "PreemptType=preempt/partition_prio\nPreemptMode=SUSPEND,GANG\n"                               \
    "PartitionName=cancel Nodes=ALL Default=YES PreemptMode=CANCEL\n"                              \
    "PartitionName=requeue Nodes=ALL PreemptMode=REQUEUE\n"                                        \
    "PartitionName=suspend Nodes=ALL PreemptMode=SUSPEND\n"                                        \
    "PartitionName=off Nodes=ALL PreemptMode=OFF\n"                                                \
    "PartitionName=grace Nodes=ALL PreemptMode=CANCEL GraceTime=10\n"                              \
    "PartitionName=long Nodes=ALL PreemptMode=CANCEL GraceTime=30\n"                               \
    "PartitionName=high Nodes=ALL PriorityTier=10\n"

static Pb__JobSpec whole_node(const char *part, const char *node)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.partition = (char *)part;
    s.req_nodes = (char *)node;
    s.has_num_tasks = s.has_min_nodes = s.has_max_nodes = s.has_requeue = s.requeue = true;
    s.num_tasks = 4;
    s.min_nodes = s.max_nodes = 1;
    return s;
}

static int64_t submit_on(struct fixture *f, const char *part, const char *node)
{
    struct caller user = FIXTURE_OTHER;
    const Pb__JobSpec s = whole_node(part, node);
    return fixture_submit(f, &user, &s);
}

static int64_t submit_set(struct fixture *f, const char *first, const char *second)
{
    struct caller user = FIXTURE_USER;
    const Pb__JobSpec specs[] = {whole_node(first, "n1"), whole_node(second, "n2")};
    return fixture_submit_set(f, &user, specs, 2);
}

static Pb__JobState state_of(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    return fixture_job(f, &arena, (uint32_t)id)->live->state;
}

static void set_is(struct fixture *f, int64_t id, Pb__JobState state)
{
    for (uint32_t i = 0; i < 2; i++)
        if (state_of(f, id + i) != state)
            fail_msg("component %u: expected state %d, got %d", i, state, state_of(f, id + i));
}

static void clean_nodes(struct fixture *f, int64_t id)
{
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_gone(f, "n2", (uint32_t)id + 1, 0);
    fixture_turn(f);
}

/* HET-57: one node is wanted, and both components make room, by the highest mode of their
 * partitions: SUSPEND, REQUEUE, CANCEL. */
static void the_highest_mode_counts_for_all(void **state)
{
    static const struct {
        const char *first, *second;
        Pb__JobState then; /* when their nodes are clean */
    } cases[] = {
        {"cancel", "cancel", PB__JOB_STATE__PREEMPTED},
        {"cancel", "requeue", PB__JOB_STATE__PENDING},
        {"requeue", "cancel", PB__JOB_STATE__PENDING},
        {"requeue", "suspend", PB__JOB_STATE__SUSPENDED},
        {"suspend", "cancel", PB__JOB_STATE__SUSPENDED},
        {"suspend", "requeue", PB__JOB_STATE__SUSPENDED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture *f = fixture_new_up(CONF, 2);
        int64_t id = submit_set(f, cases[i].first, cases[i].second);
        set_is(f, id, PB__JOB_STATE__RUNNING);
        submit_on(f, "high", "n2");
        bool suspends = cases[i].then == PB__JOB_STATE__SUSPENDED;
        assert_int_equal(state_of(f, id), /* the nodes of the other one may be clean at once */
                         suspends ? PB__JOB_STATE__SUSPENDED : PB__JOB_STATE__PREEMPTED);
        fixture_restart(f);
        fixture_register(f, "n1", "i1");
        fixture_register(f, "n2", "i1");
        if (!suspends)
            clean_nodes(f, id);
        set_is(f, id, cases[i].then);
        fixture_free(f);
    }
}

/* HET-57: a component that may not be displaced keeps the whole job: its partition has no mode, or
 * its tier is as high. */
static void component_that_may_not_be_preempted_keeps_the_set(void **state)
{
    static const char *const parts[][2] = {
        {"cancel", "off"}, {"off", "cancel"}, {"cancel", "high"}, {"high", "cancel"}};
    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct fixture *f = fixture_new_up(CONF, 2);
        int64_t id = submit_set(f, parts[i][0], parts[i][1]);
        int64_t urgent = submit_on(f, "high", i % 2 ? "n2" : "n1");
        set_is(f, id, PB__JOB_STATE__RUNNING);
        assert_int_equal(state_of(f, urgent), PB__JOB_STATE__PENDING);
        fixture_free(f);
    }
}

/* HET-57: each component has the time of grace of its own partition, and ends when it is over; the
 * end of the leader is the end of all, also of one without a time of grace. */
static void each_component_has_its_own_grace_time(void **state)
{
    static const struct {
        const char *first, *second;
        bool runs[4][2]; /* which of them run 1, 9, 10 and 30 seconds later */
    } cases[] = {
        {"grace", "grace", {{true, true}, {true, true}, {false, false}, {false, false}}},
        {"long", "grace", {{true, true}, {true, true}, {true, false}, {false, false}}},
        {"grace", "long", {{true, true}, {true, true}, {false, false}, {false, false}}},
        {"long", "cancel", {{true, true}, {true, true}, {true, true}, {false, false}}},
        {"cancel", "long", {{false, false}, {false, false}, {false, false}, {false, false}}},
    };
    static const int64_t steps_ms[] = {1000, 8000, 1000, 20000};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture *f = fixture_new_up(CONF, 2);
        int64_t id = submit_set(f, cases[i].first, cases[i].second);
        submit_on(f, "high", i % 2 ? "n2" : "n1");
        for (size_t at = 0; at < 4; at++) {
            fixture_pass(f, steps_ms[at]);
            for (uint32_t k = 0; k < 2; k++) {
                Pb__JobState expected =
                    cases[i].runs[at][k] ? PB__JOB_STATE__RUNNING : PB__JOB_STATE__PREEMPTED;
                if (state_of(f, id + k) != expected)
                    fail_msg("case %zu, look %zu, component %u: %d", i, at, k, state_of(f, id + k));
            }
        }
        fixture_free(f);
    }
}

/* HET-57: with strict_order a set has the highest priority of its components, which all end, and
 * not only that of its leader. */
static void the_highest_priority_counts_for_all(void **state)
{
    (void)state;
    for (uint32_t at = 0; at < 2; at++) {
        struct fixture *f = fixture_new_up(CONF "NodeName=n3 CPUs=4\n"
                                                "SchedulerParameters=preempt_strict_order\n",
                                           3);
        struct caller root = FIXTURE_ROOT;
        Pb__JobSpec specs[] = {whole_node("cancel", "n1"), whole_node("cancel", "n2")};
        Pb__JobSpec other = whole_node("cancel", "n3"), urgent = whole_node("high", NULL);
        for (uint32_t i = 0; i < 2; i++) {
            specs[i].has_priority = true;
            specs[i].priority = i == at ? 90 : 10;
        }
        other.has_priority = true;
        other.priority = 50;
        int64_t id = fixture_submit_set(f, &root, specs, 2);
        int64_t least = fixture_submit(f, &root, &other);
        set_is(f, id, PB__JOB_STATE__RUNNING);
        fixture_submit(f, &root, &urgent);
        assert_int_equal(state_of(f, least), PB__JOB_STATE__PREEMPTED);
        set_is(f, id, PB__JOB_STATE__RUNNING);
        fixture_free(f);
    }
}

/* HET-57: a set of a higher tier displaces whoever keeps one of its components from a start, and
 * starts as a whole when they are gone. */
static void set_preempts_jobs(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 2);
    (void)state;
    int64_t first = submit_on(f, "cancel", "n1"), second = submit_on(f, "requeue", "n2");
    int64_t id = submit_set(f, "high", "high");
    set_is(f, id, PB__JOB_STATE__PENDING);
    assert_int_equal(state_of(f, first), PB__JOB_STATE__PREEMPTED);
    assert_int_equal(state_of(f, second), PB__JOB_STATE__PREEMPTED);
    fixture_gone(f, "n1", (uint32_t)first, 0);
    fixture_turn(f);
    set_is(f, id, PB__JOB_STATE__PENDING); /* n1 is kept for it */
    assert_int_equal(state_of(f, submit_on(f, "cancel", "n1")), PB__JOB_STATE__PENDING);
    fixture_gone(f, "n2", (uint32_t)second, 0);
    fixture_turn(f);
    set_is(f, id, PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* HET-57: none is displaced when one component could not start anyhow, and none of a tier that one
 * of the components may not displace. */
static void set_preempts_only_if_it_can_start(void **state)
{
    static const char *const parts[][4] = {/* of the jobs on n1 and n2, and of the components */
                                           {"cancel", "off", "high", "high"},
                                           {"off", "requeue", "high", "high"},
                                           {"cancel", "cancel", "high", "requeue"},
                                           {"high", "cancel", "high", "high"}};
    (void)state;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        struct fixture *f = fixture_new_up(CONF, 2);
        int64_t first = submit_on(f, parts[i][0], "n1"), second = submit_on(f, parts[i][1], "n2");
        int64_t id = submit_set(f, parts[i][2], parts[i][3]);
        set_is(f, id, PB__JOB_STATE__PENDING);
        assert_int_equal(state_of(f, first), PB__JOB_STATE__RUNNING);
        assert_int_equal(state_of(f, second), PB__JOB_STATE__RUNNING);
        fixture_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_highest_mode_counts_for_all),
        cmocka_unit_test(component_that_may_not_be_preempted_keeps_the_set),
        cmocka_unit_test(each_component_has_its_own_grace_time),
        cmocka_unit_test(the_highest_priority_counts_for_all),
        cmocka_unit_test(set_preempts_jobs),
        cmocka_unit_test(set_preempts_only_if_it_can_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
