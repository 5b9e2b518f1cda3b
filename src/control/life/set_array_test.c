/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Arrays of heterogeneous jobs: each element is a job set. HET-99. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core\nNodeName=n[1-4] CPUs=4\n"                                       \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60\nMinJobAge=2\n"

static struct caller ann = FIXTURE_USER;

/* Two components of a whole node each. */
static int64_t submit_elements(struct fixture *f, const char *elements)
{
    Pb__JobSpec specs[2];
    for (size_t i = 0; i < 2; i++) {
        pb__job_spec__init(&specs[i]);
        specs[i].has_exclusive = specs[i].exclusive = true;
    }
    specs[0].array_inx = (char *)elements;
    return fixture_submit_set(f, &ann, specs, 2);
}

/* "1_4+0 R 1_4+1 R", of so many jobs from 'first' on: element, component and state. */
static void expect(struct fixture *f, int64_t first, uint32_t count, const char *expected)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_str_ struct str out = STR_INIT;
    arena_init(&arena, 0);
    for (uint32_t i = 0; i < count; i++) {
        const Pb__JobRecord *r = fixture_job(f, &arena, (uint32_t)first + i);
        if (!r)
            continue;
        const Pb__JobLive *live = r->live;
        assert_true(live->has_array_job_id && live->has_set_id);
        str_printf(&out, "%s%u_%u+%u %c", out.len ? " " : "", live->array_job_id,
                   live->array_task_id, live->set_offset,
                   live->state == PB__JOB_STATE__PENDING     ? 'P'
                   : live->state == PB__JOB_STATE__RUNNING   ? 'R'
                   : live->state == PB__JOB_STATE__SUSPENDED ? 'S'
                   : live->state == PB__JOB_STATE__CANCELLED ? 'C'
                                                             : 'E');
    }
    if (!str_eq(str_cstr(&out), expected))
        fail_msg("expected '%s'\n     got '%s'", expected, str_cstr(&out));
}

static void elements_are_sets(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    (void)state;
    int64_t id = submit_elements(f, "3,7,9");
    assert_true(id > 0);
    expect(f, id, 6, "1_3+0 R 1_3+1 R 1_7+0 R 1_7+1 R 1_9+0 P 1_9+1 P");
    fixture_restart(f);
    expect(f, id, 6, "1_3+0 R 1_3+1 R 1_7+0 R 1_7+1 R 1_9+0 P 1_9+1 P");
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    fixture_register(f, "n3", "i1");
    fixture_register(f, "n4", "i1");
    assert_int_equal(fixture_cancel(f, &ann, id, "9", 0), 0); /* one that waits, as a whole */
    expect(f, id, 6, "1_3+0 R 1_3+1 R 1_7+0 R 1_7+1 R 1_9+0 C 1_9+1 C");
    assert_int_equal(fixture_cancel(f, &ann, id, NULL, 0), 0);
    expect(f, id, 6, "1_3+0 C 1_3+1 C 1_7+0 C 1_7+1 C 1_9+0 C 1_9+1 C");
    fixture_free(f);
}

static void the_throttle_counts_elements(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    (void)state;
    int64_t id = submit_elements(f, "0-1%1");
    expect(f, id, 4, "1_0+0 R 1_0+1 R 1_1+0 P 1_1+1 P");
    fixture_end(f, (uint32_t)id, 0);
    fixture_gone(f, "n2", (uint32_t)id + 1, 0);
    fixture_pass(f, 1000);
    expect(f, id + 2, 2, "1_1+0 R 1_1+1 R");
    fixture_free(f);
}

static int suspend_elements(struct fixture *f, int64_t id, const char *elements, bool resume)
{
    struct caller root = FIXTURE_ROOT;
    Pb__JobSuspend r = PB__JOB_SUSPEND__INIT;
    r.job_id = (uint32_t)id;
    r.array_tasks = (char *)elements;
    r.has_resume = true;
    r.resume = resume;
    control_job_suspend(f->control, ++f->last_call, &root, &r);
    fixture_turn(f);
    return fixture_code(f, f->last_call);
}

/* The id of the array means each element that the order goes with, with all its components. */
static void orders_for_elements_in_several_states(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 4);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    int64_t id = submit_elements(f, "0-1%2");
    expect(f, id, 4, "1_0+0 R 1_0+1 R 1_1+0 R 1_1+1 R");
    assert_int_equal(suspend_elements(f, id, "1", false), 0);
    expect(f, id, 4, "1_0+0 R 1_0+1 R 1_1+0 S 1_1+1 S");
    assert_int_equal(suspend_elements(f, id, NULL, false), 0);
    expect(f, id, 4, "1_0+0 S 1_0+1 S 1_1+0 S 1_1+1 S");
    assert_int_equal(suspend_elements(f, id, "0", true), 0);
    assert_int_equal(suspend_elements(f, id, NULL, true), 0);
    expect(f, id, 4, "1_0+0 R 1_0+1 R 1_1+0 R 1_1+1 R");
    assert_int_equal(suspend_elements(f, id, NULL, true), ERR_NOT_SUSPENDED);

    Pb__JobUpdate throttle = PB__JOB_UPDATE__INIT, requeue = PB__JOB_UPDATE__INIT;
    throttle.job_id = (uint32_t)id + 3; /* a component of an element */
    throttle.has_array_throttle = true;
    throttle.array_throttle = 3;
    assert_int_equal(fixture_update_job(f, &ann, &throttle), 0);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(fixture_job(f, &arena, (uint32_t)id + i)->live->array_throttle, 3);

    requeue.job_id = (uint32_t)id;
    requeue.has_requeue = requeue.requeue = true;
    assert_int_equal(fixture_update_job(f, &ann, &requeue), 0);
    expect(f, id, 4, "1_0+0 C 1_0+1 P 1_1+0 C 1_1+1 P"); /* until the scripts have ended */
    fixture_gone(f, "n1", (uint32_t)id, 0);
    fixture_gone(f, "n3", (uint32_t)id + 2, 0);
    expect(f, id, 4, "1_0+0 R 1_0+1 R 1_1+0 R 1_1+1 R"); /* once more */
    fixture_free(f);
}

static void refused_set_array_leaves_no_record(void **state)
{
    static const struct {
        const char *lines, *elements;
        int code;
    } rows[] = {{CONF, "x", ERR_ARRAY},
                {CONF, "0-9999999", ERR_ARRAY},
                {CONF "MaxJobCount=5\n", "0-2", ERR_JOB_LIMIT},
                {CONF "SchedulerParameters=max_array_tasks=2\n", "0-2", ERR_ARRAY},
                {CONF "HetLimits=arrays\n", "0-2", ERR_ARRAY}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct fixture *f = fixture_new_up(rows[i].lines, 4);
        assert_int_equal(submit_elements(f, rows[i].elements), -rows[i].code);
        assert_int_equal(submit_elements(f, "5"),
                         i < 4 ? 1 : -ERR_ARRAY); /* the first id is free */
        fixture_free(f);
    }
    struct fixture *f = fixture_new_up(CONF, 4);
    Pb__JobSpec specs[2];
    pb__job_spec__init(&specs[0]);
    pb__job_spec__init(&specs[1]);
    specs[1].array_inx = (char *)"0-1";
    assert_int_equal(fixture_submit_set(f, &ann, specs, 2), -ERR_ARRAY);
    specs[0].array_inx = (char *)"0-1";
    specs[1].array_inx = NULL;
    specs[1].partition = (char *)"none"; /* the second component of the first element */
    assert_int_equal(fixture_submit_set(f, &ann, specs, 2), -ERR_NO_PARTITION);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_sets),
        cmocka_unit_test(the_throttle_counts_elements),
        cmocka_unit_test(orders_for_elements_in_several_states),
        cmocka_unit_test(refused_set_array_leaves_no_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
