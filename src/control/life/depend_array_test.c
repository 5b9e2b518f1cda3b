/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --dependency between job arrays and their elements. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "control/core/filter.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "MaxArraySize=100\nMaxJobCount=200\nNodeName=n[1-2] CPUs=4 RealMemory=4000\n"                  \
    "PartitionName=a Nodes=ALL Default=YES\nSlurmdTimeout=0\n"

static void register_all(struct fixture *f)
{
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
}

static struct fixture *make_fixture(const char *lines)
{
    struct fixture *f = fixture_new(lines);
    register_all(f);
    return f;
}

static int64_t submit_array(struct fixture *f, const char *indexes, const char *depends)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.array_inx = (char *)indexes;
    s.dependency = (char *)depends;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

static int set_dependency(struct fixture *f, int64_t id, const char *tasks, const char *depends)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    r.job_id = (uint32_t)id;
    r.array_tasks = (char *)tasks;
    r.set = &set;
    set.dependency = (char *)depends;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

static int hold_elements(struct fixture *f, int64_t id, const char *tasks, bool on)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)id;
    r.array_tasks = (char *)tasks;
    r.has_hold = true;
    r.hold = on;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

static void assert_waits(struct fixture *f, int64_t id, const char *reason, const char *shown)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, (uint32_t)id)->live;
    assert_int_equal(l->state, PB__JOB_STATE__PENDING);
    assert_string_equal(l->reason, reason);
    assert_string_equal(l->dependency ? l->dependency : "", shown);
}

static void job_waits_for_one_element(void **state)
{
    struct fixture *f = make_fixture("MinJobAge=2\n" CONF);
    assert_int_equal(submit_array(f, "0-3%2", NULL), 1); /* 0 and 1 run as jobs 2 and 3 */
    uint32_t ok = (uint32_t)submit_array(f, NULL, "afterok:1_1"),
             bad = (uint32_t)submit_array(f, NULL, "afternotok:1_0"),
             far = (uint32_t)submit_array(f, NULL, "after:1_3"),
             never = (uint32_t)submit_array(f, NULL, "afterok:1_0");
    assert_waits(f, far, "Dependency", "after:1_3(unfulfilled)");
    fixture_end(f, 3, 0);
    assert_int_equal(fixture_state(f, ok), PB__JOB_STATE__RUNNING);
    assert_waits(f, bad, "Dependency", "afternotok:1_0(unfulfilled)");
    assert_waits(f, far, "Dependency", "after:1_3(unfulfilled)");
    fixture_restart(f);
    register_all(f);
    assert_waits(f, bad, "Dependency", "afternotok:1_0(unfulfilled)");
    fixture_end(f, 2, 1 << 8);
    assert_int_equal(fixture_state(f, bad), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, far), PB__JOB_STATE__RUNNING);
    assert_waits(f, never, "DependencyNeverSatisfied", "afterok:1_0(failed)");
    fixture_free(f);
}

/* Elements of one record are cancelled together. */
static void dependents_learn_of_elements_cancelled_together(void **state)
{
    struct fixture *f = make_fixture(CONF);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit_array(f, "0-9", NULL), 1);
    int64_t in = submit_array(f, NULL, "afterok:1_4"), out = submit_array(f, NULL, "afterok:1_6"),
            all = submit_array(f, NULL, "afterany:1_*"), part;
    assert_waits(f, all, "Dependency", "afterany:1_*(unfulfilled)");
    part = submit_array(f, "0-3", "afterany:1");
    assert_int_equal(hold_elements(f, part, "1-2", true),
                     0); /* a split record keeps its displayed text */
    assert_waits(f, part + 1, "JobHeldUser", "afterany:1_*(unfulfilled)");
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, 1, "3-5", 0), 0);
    assert_waits(f, in, "DependencyNeverSatisfied", "afterok:1_4(failed)");
    assert_waits(f, out, "Dependency", "afterok:1_6(unfulfilled)");
    fixture_free(f);
}

static void circular_dependencies_of_elements_are_refused(void **state)
{
    struct fixture *f = make_fixture(CONF);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit_array(f, "0-9", NULL), 1);
    int64_t one = submit_array(f, NULL, "afterok:1_4"), all = submit_array(f, NULL, "afterok:1");
    char text[40];
    snprintf(text, sizeof text, "afterok:%lld", (long long)one);
    assert_int_equal(set_dependency(f, 1, "4", text), ERR_DEPENDENCY);
    assert_int_equal(set_dependency(f, 1, NULL, text), ERR_DEPENDENCY);
    assert_int_equal(set_dependency(f, 1, "5", text), 0);
    assert_int_equal(set_dependency(f, 1, "4", "afterok:1_5"),
                     ERR_DEPENDENCY); /* of its own array */
    snprintf(text, sizeof text, "afterok:%lld", (long long)all);
    assert_int_equal(set_dependency(f, 1, "7", text), ERR_DEPENDENCY);
    snprintf(text, sizeof text, "afterok:%lld", (long long)one);
    int64_t behind =
        submit_array(f, NULL, "afterok:1_5"); /* depends on an element that depends on 1_4 */
    snprintf(text, sizeof text, "afterok:%lld", (long long)behind);
    assert_int_equal(set_dependency(f, 1, "4", text), ERR_DEPENDENCY);
    assert_int_equal(set_dependency(f, 1, "6", text), 0);
    fixture_free(f);
}

/* Returns every record of the array: "7:[3-9] P Dependency 8:1 R". */
static const char *format_records(struct fixture *f, uint32_t array)
{
    static char text[2000];
    struct caller root = FIXTURE_ROOT;
    struct str out = STR_INIT, joined = STR_INIT;
    _cleanup_arena_ struct arena arena;
    uint64_t cursor = 0;
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    filter.has_all_states = filter.all_states = true;
    while (control_list_jobs(f->control, &root, &filter, &cursor, 100000, &out))
        ;
    arena_init(&arena, 0);
    const Pb__JobList *list = arena_unpack(&arena, &pb__job_list__descriptor, out.data, out.len);
    for (size_t i = 0; i < list->n_jobs; i++) {
        const Pb__JobLive *l = list->jobs[i]->live;
        if (l->array_job_id != array)
            continue;
        str_puts(&joined, joined.len ? " " : "");
        if (l->array_tasks)
            str_printf(&joined, "[%s]", l->array_tasks);
        else
            str_printf(&joined, "%u", l->array_task_id);
        str_printf(&joined, " %c", "PRSCXF"[l->state]);
        if (l->state == PB__JOB_STATE__PENDING)
            str_printf(&joined, " %s", l->reason);
    }
    snprintf(text, sizeof text, "%s", str_cstr(&joined));
    str_done(&joined);
    str_done(&out);
    return text;
}

/* Returns the record of an element. */
static uint32_t find_element(struct fixture *f, uint32_t array, uint32_t task)
{
    struct caller root = FIXTURE_ROOT;
    struct str out = STR_INIT;
    _cleanup_arena_ struct arena arena;
    uint64_t cursor = 0;
    uint32_t id = 0;
    Pb__JobFilter filter = PB__JOB_FILTER__INIT;
    filter.has_all_states = filter.all_states = true;
    while (control_list_jobs(f->control, &root, &filter, &cursor, 100000, &out))
        ;
    arena_init(&arena, 0);
    const Pb__JobList *list = arena_unpack(&arena, &pb__job_list__descriptor, out.data, out.len);
    for (size_t i = 0; i < list->n_jobs; i++) {
        const Pb__JobLive *l = list->jobs[i]->live;
        if (l->array_job_id == array && !l->array_tasks && l->array_task_id == task)
            id = l->job_id;
    }
    str_done(&out);
    return id;
}

static void cancel_elements(struct fixture *f, uint32_t id, const char *tasks)
{
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, id, tasks, 0), 0);
}

/* Each element begins when the element with its number has succeeded, in any order, across
 * restarts. */
static void aftercorr_element_waits_for_the_same_index(void **state)
{
    struct fixture *f = make_fixture(CONF);
    assert_int_equal(submit_array(f, "0-7", NULL), 1);
    uint32_t b = (uint32_t)submit_array(f, "0-9", "aftercorr:1");
    assert_waits(f, b, "Dependency", "aftercorr:1_*(unfulfilled)");
    fixture_pass(f, 100); /* 8 and 9 have no such element */
    assert_string_equal(format_records(f, b),
                        "[0-7] P Dependency [8-9] P DependencyNeverSatisfied");
    fixture_end(f, find_element(f, 1, 5), 0);
    assert_string_equal(format_records(f, b),
                        "[0-4,6-7] P Dependency [8-9] P DependencyNeverSatisfied 5 R");
    fixture_restart(f);
    register_all(f);
    assert_string_equal(format_records(f, b),
                        "[0-4,6-7] P Dependency [8-9] P DependencyNeverSatisfied 5 R");
    fixture_end(f, find_element(f, 1, 2), 1 << 8);
    fixture_pass(f, 100);
    assert_int_equal(fixture_state(f, find_element(f, b, 5)), PB__JOB_STATE__RUNNING);
    assert_waits(f, find_element(f, b, 2), "DependencyNeverSatisfied", "aftercorr:1_*(failed)");
    fixture_reconfigure(f, CONF "DefMemPerCPU=10\n");
    register_all(f);
    fixture_end(f, find_element(f, 1, 0), 0);
    fixture_end(f, find_element(f, 1, 7), 0);
    assert_int_equal(fixture_state(f, find_element(f, b, 0)), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, find_element(f, b, 7)), PB__JOB_STATE__RUNNING);
    assert_non_null(strstr(format_records(f, b), "[1,3-4,6] P Dependency"));
    for (uint32_t i = 1; i < 7; i++)
        if (i != 2 && i != 5)
            fixture_end(f, find_element(f, 1, i), 0);
    fixture_pass(f, 100);
    for (uint32_t i = 0; i < 8; i++)
        if (i != 2)
            assert_int_equal(fixture_state(f, find_element(f, b, i)), PB__JOB_STATE__RUNNING);
    fixture_free(f);
}

/* Elements that may start wait for resources beside elements that may not; a split by a hold keeps
 * the known states. */
static void startable_elements_wait_for_resources(void **state)
{
    struct fixture *f = make_fixture("MinJobAge=2\n" CONF);
    assert_int_equal(submit_array(f, "0-7", NULL), 1);
    int64_t others = submit_array(f, "0-6", NULL); /* they precede */
    uint32_t b = (uint32_t)submit_array(f, "0-7", "aftercorr:1");
    for (uint32_t i = 0; i < 5; i++)
        fixture_end(f, find_element(f, 1, i), 0);
    fixture_pass(f, 5000); /* and their records are purged */
    assert_string_equal(format_records(f, b), "[0-7] P Priority");
    assert_int_equal(hold_elements(f, b, "3,5", true), 0);
    assert_int_equal(hold_elements(f, b, "4", true), 0);
    assert_int_equal(hold_elements(f, b, "6", true), 0);
    fixture_restart(f);
    register_all(f);
    assert_int_equal(hold_elements(f, b, NULL, false), 0);
    fixture_pass(f, 100);
    assert_non_null(strstr(format_records(f, b), "[0-2,7] P Priority"));
    assert_non_null(strstr(format_records(f, b), "[3,5] P Priority"));
    assert_waits(f, find_element(f, b, 4), "Priority", "");
    assert_waits(f, find_element(f, b, 6), "Dependency", "aftercorr:1_*(unfulfilled)");
    cancel_elements(f, (uint32_t)others, NULL);
    for (uint32_t i = 0; i < 7; i++)
        fixture_end(f, find_element(f, (uint32_t)others, i), 0);
    fixture_pass(f, 100);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(fixture_state(f, find_element(f, b, i)), PB__JOB_STATE__RUNNING);
    for (uint32_t i = 5; i < 8; i++)
        assert_waits(f, find_element(f, b, i), "Dependency", "aftercorr:1_*(unfulfilled)");
    fixture_free(f);
}

/* Elements that can never start are ended if requested; with several lists, all must fail or one
 * must fail. */
static void elements_that_never_start_are_ended_if_configured(void **state)
{
    struct fixture *f = make_fixture(CONF "DependencyParameters=kill_invalid_depend\n");
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit_array(f, "0-9", NULL), 1);
    uint32_t b = (uint32_t)submit_array(f, "0-9", "aftercorr:1"),
             c = (uint32_t)submit_array(f, "0-9", "afterany:1_9,aftercorr:1:1"),
             d = (uint32_t)submit_array(f, "4-12", "aftercorr:1?afterok:1_9");
    cancel_elements(f, 1, "2-5");
    fixture_pass(f, 100);
    assert_string_equal(format_records(f, b), "[0-1,6-9] P Dependency [2-5] X");
    assert_string_equal(format_records(f, c), "[0-1,6-9] P Dependency [2-5] X");
    assert_string_equal(format_records(f, d), "[4-12] P Dependency"); /* 1_9 could still succeed */
    cancel_elements(f, 1, "9");
    fixture_pass(f, 100);
    assert_string_equal(format_records(f, d), "[6-8] P Dependency [4-5,9-12] X");
    fixture_restart(f);
    register_all(f);
    assert_int_equal(fixture_update_node(f, "n[1-2]", "RESUME", NULL), 0);
    fixture_end(f, find_element(f, 1, 6), 0);
    fixture_pass(f, 100);
    assert_int_equal(fixture_state(f, find_element(f, b, 6)), PB__JOB_STATE__RUNNING);
    assert_int_equal(fixture_state(f, find_element(f, c, 6)), PB__JOB_STATE__RUNNING);
    cancel_elements(f, 1, NULL);
    assert_non_null(
        strstr(format_records(f, b), "[0-1,7-8] P Dependency")); /* they are being ended */
    for (uint32_t i = 0; i < 9; i++)
        if (i < 2 || i > 6)
            fixture_end(f, find_element(f, 1, i), SIGTERM);
    fixture_pass(f, 100);
    assert_null(strstr(format_records(f, b), " P"));
    fixture_free(f);
}

/* A job that is not an array depends on a whole array, and an array on a job that is not an
 * array. */
static void aftercorr_of_others_is_afterok(void **state)
{
    struct fixture *f = make_fixture(CONF);
    assert_int_equal(submit_array(f, "0-1", NULL), 1);
    uint32_t plain = (uint32_t)submit_array(f, NULL, "aftercorr:1"),
             all = (uint32_t)submit_array(f, "0-1", "aftercorr:1,aftercorr:3");
    assert_int_equal(plain, 3);
    assert_waits(f, all, "Dependency", "aftercorr:1_*(unfulfilled),aftercorr:3(unfulfilled)");
    fixture_end(f, find_element(f, 1, 0), 0);
    assert_waits(f, plain, "Dependency", "aftercorr:1_*(unfulfilled)");
    fixture_end(f, find_element(f, 1, 1), 0);
    assert_int_equal(fixture_state(f, plain), PB__JOB_STATE__RUNNING);
    assert_waits(f, all, "Dependency", "aftercorr:3(unfulfilled)");
    fixture_end(f, plain, 0);
    assert_string_equal(format_records(f, all), "1 R 0 R");
    fixture_free(f);
}

/* A million elements that depend on a million are two records, and few if some have failed. */
static void million_elements_wait_for_a_million(void **state)
{
    struct fixture *f = make_fixture("MaxArraySize=1000001\nMaxJobCount=3000000\n"
                                     "NodeName=n[1-2] CPUs=4 RealMemory=4000\n"
                                     "PartitionName=a Nodes=ALL Default=YES\nSlurmdTimeout=0\n");
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    assert_int_equal(submit_array(f, "0-999999", NULL), 1);
    assert_int_equal(submit_array(f, "0-999999", "aftercorr:1"), 2);
    cancel_elements(f, 1, "1-999998:2");
    fixture_pass(f, 100);
    assert_string_equal(format_records(f, 2),
                        "[0-999998:2,999999] P Dependency [1-999997:2] P DependencyNeverSatisfied");
    cancel_elements(f, 1, NULL);
    fixture_pass(f, 100);
    assert_waits(f, 2, "DependencyNeverSatisfied", "aftercorr:1_*(failed)");
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_waits_for_one_element),
        cmocka_unit_test(dependents_learn_of_elements_cancelled_together),
        cmocka_unit_test(circular_dependencies_of_elements_are_refused),
        cmocka_unit_test(aftercorr_element_waits_for_the_same_index),
        cmocka_unit_test(startable_elements_wait_for_resources),
        cmocka_unit_test(elements_that_never_start_are_ended_if_configured),
        cmocka_unit_test(aftercorr_of_others_is_afterok),
        cmocka_unit_test(million_elements_wait_for_a_million),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
