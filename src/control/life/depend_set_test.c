/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --dependency of and on heterogeneous jobs: HET-129. */
#include <stdio.h>
#include <string.h>

#include "cluster/job/job_set.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "SelectTypeParameters=CR_Core_Memory\nNodeName=n[1-9] CPUs=4 RealMemory=4000\n"                \
    "PartitionName=a Nodes=ALL Default=YES MaxTime=60 DefMemPerCPU=100\nSlurmdTimeout=0\n"

static Pb__JobSpec make_spec(const char *name, const char *dependency)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.has_min_nodes = s.has_max_nodes = s.has_cpus_per_task = s.has_num_tasks = true;
    s.min_nodes = s.max_nodes = s.num_tasks = 1;
    s.cpus_per_task = 4;
    s.name = (char *)name;
    s.dependency = (char *)dependency;
    return s;
}

static int64_t submit_set(struct fixture *f, const char *name, const char *dependency)
{
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {make_spec(name, dependency), make_spec(name, dependency)};
    return fixture_submit_set(f, &user, specs, 2);
}

static int64_t submit_behind(struct fixture *f, const char *format, int64_t id)
{
    struct caller user = FIXTURE_USER;
    char text[64];
    snprintf(text, sizeof text, format, (long long)id);
    Pb__JobSpec spec = make_spec("job", text);
    return fixture_submit(f, &user, &spec);
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, int64_t id)
{
    return fixture_job(f, arena, (uint32_t)id)->live;
}

#define expect_reason(f, id, word) expect_reason_at(f, id, word, __LINE__)
/* "": it runs, or has ended. */
static void expect_reason_at(struct fixture *f, int64_t id, const char *word, int line)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = get_live(f, &arena, id);
    const char *got = l->state == PB__JOB_STATE__PENDING ? l->reason : "";
    if (!str_eq(got, word))
        fail_msg("line %d: job %lld: '%s', expected '%s'", line, (long long)id, got, word);
}

/* The script ends, and the leader's node is clean; the other component's is not yet. */
static void end_leader(struct fixture *f, int64_t id, int status)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = get_live(f, &arena, id);
    fixture_launched(f, l->nodes, (uint32_t)id, l->restarts);
    fixture_batch_ended(f, l->nodes, (uint32_t)id, l->restarts, status);
    fixture_gone(f, l->nodes, (uint32_t)id, l->restarts);
}

static void clean_nodes(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = get_live(f, &arena, id);
    fixture_gone(f, l->nodes, (uint32_t)id, l->restarts);
}

static void restart_controller(struct fixture *f)
{
    fixture_restart(f);
    for (unsigned i = 1; i < 10; i++) {
        char node[4];
        snprintf(node, sizeof node, "n%u", i);
        fixture_register(f, node, "i1");
    }
}

/* The other one of its components has processes that outlive the script: a step of it. */
static void start_step(struct fixture *f, int64_t id)
{
    Pb__StepSpec spec = PB__STEP_SPEC__INIT;
    struct caller user = FIXTURE_USER;
    spec.has_job_id = true;
    spec.job_id = (uint32_t)id;
    control_step_create(f->control, ++f->last_call, &user, &spec);
    fixture_turn(f);
    assert_int_equal(fixture_code(f, f->last_call), 0);
}

/* The leader stands for the whole: over is it when all components are. */
static void a_job_waits_for_all_components(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 9);
    int64_t id = submit_set(f, "set", NULL);
    int64_t ok = submit_behind(f, "afterok:%lld", id), any = submit_behind(f, "afterany:%lld", id);
    int64_t begun = submit_behind(f, "after:%lld", id);
    (void)state;
    start_step(f, id + 1);
    expect_reason(f, begun, "");
    expect_reason(f, ok, "Dependency");
    end_leader(f, id, 0);
    fixture_turn(f);
    expect_reason(f, ok, "Dependency");
    expect_reason(f, any, "Dependency");
    restart_controller(f);
    expect_reason(f, ok, "Dependency");
    clean_nodes(f, id + 1);
    fixture_pass(f, 1000);
    expect_reason(f, ok, "");
    expect_reason(f, any, "");
    fixture_free(f);
}

/* One component was cancelled: the job as a whole has not ended well, the others have. */
static void dependency_names_one_component_by_its_offset(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 9);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec specs[] = {make_spec("s", NULL), make_spec("s", NULL), make_spec("s", NULL)};
    int64_t id = fixture_submit_set(f, &user, specs, 3);
    int64_t whole = submit_behind(f, "afterok:%lld", id);
    int64_t second = submit_behind(f, "afternotok:%lld+1", id);
    int64_t third = submit_behind(f, "afterok:%lld+2", id);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    char text[64];
    (void)state;
    snprintf(text, sizeof text, "afternotok:%lld+1(unfulfilled)", (long long)id);
    assert_string_equal(get_live(f, &arena, second)->dependency, text);
    assert_int_equal(fixture_cancel(f, &user, id + 1, NULL, 0), 0);
    clean_nodes(f, id + 1);
    fixture_pass(f, 1000);
    expect_reason(f, second, "");
    expect_reason(f, third, "Dependency");
    restart_controller(f);
    end_leader(f, id, 0);
    fixture_pass(f, 1000);
    clean_nodes(f, id + 2);
    fixture_pass(f, 1000);
    expect_reason(f, whole, "DependencyNeverSatisfied");
    expect_reason(f, third, "");
    fixture_free(f);
}

static void a_wrong_offset_is_refused(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 9);
    int64_t id = submit_set(f, "set", NULL);
    (void)state;
    assert_int_equal(submit_behind(f, "afterok:%lld+2", id), -ERR_DEPENDENCY);
    assert_string_equal(fixture_text(f, f->last_call),
                        "Job dependency problem: Invalid job id specified: job 1 has components 0 "
                        "to 1");
    assert_int_equal(submit_behind(f, "afterok:%lld+0", id + 1), -ERR_DEPENDENCY);
    assert_int_equal(submit_behind(f, "afterok:%lld+0", 77), -ERR_DEPENDENCY);
    assert_string_equal(fixture_text(f, f->last_call),
                        "Job dependency problem: job 77+0 does not exist or has been purged");
    fixture_free(f);
}

/* Components have one name, and are not in one another's way. */
static void singleton_sets_run_one_after_the_other(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 9);
    (void)state;
    int64_t first = submit_set(f, "one", "singleton"), second = submit_set(f, "one", "singleton");
    int64_t third = submit_set(f, "one", "singleton");
    for (int i = 0; i < 2; i++) {
        expect_reason(f, first + i, "");
        expect_reason(f, second + i, "Dependency");
    }
    end_leader(f, first, 0);
    fixture_pass(f, 1000);
    for (int i = 0; i < 2; i++) {
        expect_reason(f, second + i, "");
        expect_reason(f, third + i, "Dependency");
    }
    restart_controller(f);
    end_leader(f, second, 0);
    clean_nodes(f, second + 1);
    fixture_pass(f, 1000);
    for (int i = 0; i < 2; i++)
        expect_reason(f, third + i, "");
    fixture_free(f);
}

static int change_dependency(struct fixture *f, int64_t id, const char *dependency)
{
    struct caller user = FIXTURE_USER;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    set.dependency = (char *)dependency;
    r.job_id = (uint32_t)id;
    r.set = &set;
    return fixture_update_job(f, &user, &r);
}

static void component_cannot_wait_for_its_own_job(void **state)
{
    struct fixture *f = fixture_new_up(CONF, 9);
    struct caller user = FIXTURE_USER;
    Pb__JobSpec held = make_spec("held", NULL);
    held.has_hold = held.hold = true;
    (void)state;
    int64_t first = fixture_submit(f, &user, &held);
    char text[64];
    snprintf(text, sizeof text, "afterok:%lld", (long long)first);
    int64_t id = submit_set(f, "set", text);
    snprintf(text, sizeof text, "afterok:%lld", (long long)id);
    assert_int_equal(change_dependency(f, id + 1, text), ERR_DEPENDENCY);
    snprintf(text, sizeof text, "afterok:%lld+1", (long long)id);
    assert_int_equal(change_dependency(f, id, text), ERR_DEPENDENCY);
    assert_int_equal(change_dependency(f, first, text), ERR_DEPENDENCY); /* a circle */
    snprintf(text, sizeof text, "afterok:%lld", (long long)id);
    assert_int_equal(change_dependency(f, first, text), ERR_DEPENDENCY);
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_waits_for_all_components),
        cmocka_unit_test(dependency_names_one_component_by_its_offset),
        cmocka_unit_test(a_wrong_offset_is_refused),
        cmocka_unit_test(singleton_sets_run_one_after_the_other),
        cmocka_unit_test(component_cannot_wait_for_its_own_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
