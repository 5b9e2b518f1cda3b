/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job's usage is counted once: whatever is repeated, in any order, across restarts. */
#include <string.h>

#include "base/step_id.h"
#include "cluster/cluster.h"
#include "control/core/filter.h"
#include "control/fixture.h"

#define NODES                                                                                      \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=500\n"

static uint32_t start_job(struct fixture *f)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__StepSpec s = PB__STEP_SPEC__INIT;
    uint32_t id;

    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    spec.has_min_nodes = spec.has_num_tasks = true;
    spec.min_nodes = spec.num_tasks = 2;
    id = (uint32_t)fixture_submit(f, &user, &spec);
    s.has_job_id = s.has_num_tasks = s.has_overlap = true;
    s.job_id = id;
    s.num_tasks = 2;
    s.overlap = true;
    control_step_create(f->control, ++f->last_call, &user, &s);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
    return id;
}

/* Repeats the event with 'seq'; 0: a new event. */
static uint64_t report_usage(struct fixture *f, const char *node, uint32_t id, bool batch,
                             uint64_t usec, uint64_t seq)
{
    Pb__NodeReport r = PB__NODE_REPORT__INIT;
    Pb__NodeEvent e = PB__NODE_EVENT__INIT, *list = &e;
    Pb__BatchEnded b = PB__BATCH_ENDED__INIT;
    Pb__StepEnded t = PB__STEP_ENDED__INIT;
    Pb__Usage u = PB__USAGE__INIT;
    Pb__UsageMark mark = PB__USAGE_MARK__INIT, *marks = &mark;

    u.has_user_usec = u.has_max_rss_kib = true;
    u.user_usec = usec;
    u.max_rss_kib = usec * 2;
    mark.value = usec;
    u.most = &marks;
    u.n_most = 1;
    b.job_id = t.job_id = id;
    b.usage = t.usage = &u;
    if (batch)
        e.batch_ended = &b;
    else
        e.step_ended = &t;
    e.seq = seq ? seq : ++f->last_seq;
    r.events = &list;
    r.n_events = 1;
    control_node_report(f->control, node, &r);
    fixture_turn(f);
    return e.seq;
}

static const Pb__Usage *get_job_usage(struct fixture *f, struct arena *arena, uint32_t id)
{
    return fixture_job(f, arena, id)->live->usage;
}

static const Pb__StepRecord *step_record(struct fixture *f, struct arena *arena, uint32_t id,
                                         uint32_t step)
{
    struct caller user = FIXTURE_USER;
    Pb__StepFilter filter = PB__STEP_FILTER__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t cursor = 0;
    const Pb__StepList *list;

    assert_false(control_list_steps(f->control, &user, &filter, &cursor, 1 << 20, &out));
    list = arena_unpack(arena, &pb__step_list__descriptor, out.data, out.len);
    for (size_t i = 0; i < list->n_steps; i++)
        if (list->steps[i]->job_id == id && list->steps[i]->step_id == step)
            return list->steps[i];
    return NULL;
}

static void repeated_usage_report_is_not_counted(void **state)
{
    struct fixture *f = fixture_new(NODES);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = start_job(f);
    assert_null(get_job_usage(f, &arena, id));
    uint64_t seq = report_usage(f, "n2", id, false, 100, 0);
    report_usage(f, "n2", id, false, 100, seq);
    assert_int_equal(get_job_usage(f, &arena, id)->user_usec, 100);
    const Pb__StepRecord *step = step_record(f, &arena, id, 0);
    assert_int_equal(step->usage->user_usec, 100);
    assert_string_equal(step->usage->most[0]->node, "n2");
    fixture_restart(f); /* it was on disk, and a node without an acknowledgement sends it again */
    fixture_register(f, "n1", "i1");
    report_usage(f, "n2", id, false, 100, seq);
    assert_int_equal(get_job_usage(f, &arena, id)->user_usec, 100);
    assert_int_equal(get_job_usage(f, &arena, id)->max_rss_kib, 200);
    fixture_free(f);
}

static void parts_add_up_when_the_step_is_over_too(void **state)
{
    struct fixture *f = fixture_new(NODES);
    struct caller user = FIXTURE_USER;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = start_job(f);
    report_usage(f, "n2", id, false, 100, 0);
    Pb__StepComplete done = PB__STEP_COMPLETE__INIT; /* srun is faster than the other node */
    done.job_id = id;
    control_step_complete(f->control, ++f->last_call, &user, &done);
    fixture_turn(f);
    assert_null(step_record(f, &arena, id, 0));
    report_usage(f, "n1", id, false, 30, 0);
    report_usage(f, "n1", id, true, 7, 0);
    const Pb__Usage *u = get_job_usage(f, &arena, id);
    assert_true(u->user_usec == 137 && u->max_rss_kib == 200 && u->n_most == 0);
    fixture_restart(f);
    assert_int_equal(get_job_usage(f, &arena, id)->user_usec, 137);
    fixture_free(f);
}

static void usage_from_other_nodes_and_jobs_is_ignored(void **state)
{
    struct fixture *f = fixture_new(NODES);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = start_job(f);
    report_usage(f, "n9", id, false, 100, 0);
    report_usage(f, "n1", id + 5, false, 100, 0);
    assert_null(get_job_usage(f, &arena, id));
    fixture_free(f);
}

static void batch_step_record_names_its_node(void **state)
{
    struct fixture *f = fixture_new(NODES);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    uint32_t id = start_job(f);
    const Pb__StepRecord *batch = step_record(f, &arena, id, STEP_ID_BATCH);
    assert_int_equal(batch->n_layout, 1);
    assert_string_equal(batch->layout[0]->node, "n1");
    assert_true(batch->layout[0]->port > 0 && batch->layout[0]->addr[0]);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeated_usage_report_is_not_counted),
        cmocka_unit_test(parts_add_up_when_the_step_is_over_too),
        cmocka_unit_test(usage_from_other_nodes_and_jobs_is_ignored),
        cmocka_unit_test(batch_step_record_names_its_node),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
