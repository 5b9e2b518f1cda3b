/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --dependency, as the controller lives through it. */
#include <stdio.h>
#include <string.h>

#include "control/core/filter.h"
#include "control/fixture.h"

#define CONF                                                                                       \
    "NodeName=n[1-4] CPUs=4 RealMemory=4000\nPartitionName=a Nodes=ALL Default=YES\n"              \
    "SlurmdTimeout=0\n"

static struct fixture *make_fixture(const char *lines)
{
    return fixture_new_up(lines, 4);
}

static int64_t submit_dependent(struct fixture *f, const char *dependency)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.name = (char *)"job";
    s.dependency = (char *)dependency;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

static int64_t submit_after(struct fixture *f, const char *kind, int64_t id)
{
    char text[64];
    snprintf(text, sizeof text, "%s:%lld", kind, (long long)id);
    return submit_dependent(f, text);
}

static const Pb__JobLive *get_live(struct fixture *f, struct arena *arena, int64_t id)
{
    return fixture_job(f, arena, (uint32_t)id)->live;
}

/* Uses the first free node, so jobs run one at a time. */
static void end_job(struct fixture *f, int64_t id, int status)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = get_live(f, &arena, id);
    fixture_launched(f, l->nodes, (uint32_t)id, l->restarts);
    fixture_batch_ended(f, l->nodes, (uint32_t)id, l->restarts, status);
    fixture_gone(f, l->nodes, (uint32_t)id, l->restarts);
}

static int change_dependency(struct fixture *f, int64_t id, const char *dependency)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    set.dependency = (char *)dependency;
    r.job_id = (uint32_t)id;
    r.set = &set;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

static void assert_waits(struct fixture *f, int64_t id, const char *reason, const char *shown)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = get_live(f, &arena, id);
    assert_int_equal(l->state, PB__JOB_STATE__PENDING);
    assert_string_equal(l->reason, reason);
    assert_string_equal(l->dependency ? l->dependency : "", shown);
}

static void assert_runs(struct fixture *f, int64_t id)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_int_equal(get_live(f, &arena, id)->state, PB__JOB_STATE__RUNNING);
    assert_null(get_live(f, &arena, id)->dependency);
}

static const char *format_id(const char *format, int64_t id)
{
    static char text[128];
    snprintf(text, sizeof text, format, (long long)id, (long long)id);
    return text;
}

static void dependencies_on_unknown_jobs_are_refused(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL);
    assert_int_equal(submit_dependent(f, "afterok:999"), -ERR_DEPENDENCY);
    assert_int_equal(submit_dependent(f, "soon"), -ERR_DEPENDENCY);
    assert_int_equal(submit_dependent(f, format_id("afterok:%lld_3", a)), -ERR_DEPENDENCY);
    assert_int_equal(submit_dependent(f, format_id("expand:%lld,singleton", a)), -ERR_DEPENDENCY);
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.dependency = (char *)format_id("expand:%lld", a);
    assert_int_equal(fixture_submit(f, &FIXTURE_OTHER, &s), -ERR_DEPENDENCY);
    assert_int_equal(change_dependency(f, a, "afterok:999"), ERR_NOT_PENDING); /* it runs */
    fixture_free(f);
}

static void a_job_waits_for_success(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL), ok = submit_after(f, "afterok", a),
            bad = submit_after(f, "afternotok", a), any = submit_after(f, "afterany", a),
            begun = submit_after(f, "after", a);
    assert_runs(f, begun);
    assert_waits(f, ok, "Dependency", format_id("afterok:%lld(unfulfilled)", a));
    end_job(f, a, 0);
    assert_runs(f, ok);
    assert_runs(f, any);
    assert_waits(f, bad, "DependencyNeverSatisfied", format_id("afternotok:%lld(failed)", a));
    fixture_free(f);
}

static void dependent_starts_after_the_nodes_are_clean(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL), b = submit_after(f, "afterany", a);
    fixture_launched(f, "n1", (uint32_t)a, 0);
    fixture_batch_ended(f, "n1", (uint32_t)a, 0, 1 << 8);
    assert_waits(f, b, "Dependency", format_id("afterany:%lld(unfulfilled)", a));
    fixture_gone(f, "n1", (uint32_t)a, 0);
    assert_runs(f, b);
    fixture_free(f);
}

static void job_with_an_invalid_dependency_ends_if_configured(void **state)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct fixture *f = make_fixture(CONF "DependencyParameters=kill_invalid_depend\n");
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    int64_t a = submit_dependent(f, NULL), b = submit_after(f, "afterok", a);
    s.dependency = (char *)format_id("afterok:%lld", a);
    s.has_kill_invalid_dep = true;
    int64_t stays = fixture_submit(f, &FIXTURE_USER, &s);
    end_job(f, a, 1 << 8);
    fixture_pass(f, 10);
    assert_int_equal(get_live(f, &arena, b)->state, PB__JOB_STATE__CANCELLED);
    assert_string_equal(get_live(f, &arena, b)->reason, "DependencyNeverSatisfied");
    assert_waits(f, stays, "DependencyNeverSatisfied", format_id("afterok:%lld(failed)", a));
    fixture_reconfigure(f, CONF);
    s.dependency = (char *)format_id("afterok:%lld", a);
    s.kill_invalid_dep = true; /* of a job that has already failed */
    int64_t never = fixture_submit(f, &FIXTURE_USER, &s);
    fixture_pass(f, 10);
    assert_int_equal(get_live(f, &arena, never)->state, PB__JOB_STATE__CANCELLED);
    fixture_free(f);
}

static void outcomes_of_purged_jobs_survive_a_restart(void **state)
{
    struct fixture *f = make_fixture(CONF "MinJobAge=10\n");
    int64_t a = submit_dependent(f, NULL), b = submit_dependent(f, NULL);
    char text[64];
    snprintf(text, sizeof text, "afterok:%lld:%lld", (long long)a, (long long)b);
    int64_t c = submit_dependent(f, text);
    end_job(f, a, 0);
    fixture_pass(f, 11000);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_null(fixture_job(f, &arena, (uint32_t)a));
    fixture_restart(f);
    assert_waits(f, c, "Dependency", format_id("afterok:%lld(unfulfilled)", b));
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    end_job(f, b, 0);
    assert_runs(f, c);
    fixture_free(f);
}

static void a_delay_is_kept_over_a_restart(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL);
    int64_t b = submit_dependent(f, format_id("after:%lld+10", a));
    assert_waits(f, b, "Dependency", format_id("after:%lld+10(unfulfilled)", a));
    end_job(f, a, 1 << 8);
    fixture_pass(f, 400 * 1000); /* its job is purged */
    fixture_restart(f);
    fixture_register(f, "n1", "i1");
    fixture_pass(f, 190 * 1000);
    assert_waits(f, b, "Dependency", format_id("after:%lld+10(unfulfilled)", a));
    fixture_pass(f, 20 * 1000);
    assert_runs(f, b);
    fixture_free(f);
}

static void one_fulfilled_alternative_is_enough(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL), b = submit_dependent(f, NULL);
    char text[64];
    snprintf(text, sizeof text, "afterok:%lld?afterok:%lld", (long long)a, (long long)b);
    int64_t c = submit_dependent(f, text), d = submit_dependent(f, text);
    end_job(f, a, 1 << 8);
    snprintf(text, sizeof text, "afterok:%lld(failed)?afterok:%lld(unfulfilled)", (long long)a,
             (long long)b);
    assert_waits(f, c, "Dependency", text);
    end_job(f, b, 0);
    assert_runs(f, c);
    assert_runs(f, d);
    fixture_free(f);
}

static void update_changes_dependencies_without_a_circle(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL), b = submit_after(f, "afterok", a),
            c = submit_after(f, "afterok", b), d = submit_after(f, "afterok", c);
    assert_int_equal(change_dependency(f, b, format_id("afterok:%lld", b)), ERR_DEPENDENCY);
    assert_int_equal(change_dependency(f, b, format_id("afterany:%lld", d)), ERR_DEPENDENCY);
    assert_int_equal(change_dependency(f, b, "afterok:999"), ERR_DEPENDENCY);
    assert_waits(f, b, "Dependency", format_id("afterok:%lld(unfulfilled)", a));
    assert_int_equal(change_dependency(f, d, format_id("afterany:%lld", a)), 0);
    assert_waits(f, d, "Dependency", format_id("afterany:%lld(unfulfilled)", a));
    assert_int_equal(change_dependency(f, b, format_id("afterany:%lld", d)),
                     0); /* no longer a circle */
    assert_int_equal(change_dependency(f, c, ""), 0);
    assert_runs(f, c);
    end_job(f, a, 0);
    assert_runs(f, d);
    assert_waits(f, b, "Dependency", format_id("afterany:%lld(unfulfilled)", d));
    fixture_free(f);
}

static void singletons_of_one_name_run_one_at_a_time(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t plain = submit_dependent(f, NULL), a = submit_dependent(f, "singleton"),
            b = submit_dependent(f, "singleton");
    assert_waits(f, a, "Dependency", "singleton(unfulfilled)");
    Pb__JobSpec other = PB__JOB_SPEC__INIT;
    other.name = (char *)"job";
    other.dependency = (char *)"singleton";
    int64_t others = fixture_submit(f, &FIXTURE_OTHER, &other); /* of another user */
    assert_runs(f, others);
    end_job(f, plain, 0);
    assert_runs(f, a);
    assert_waits(f, b, "Dependency", "singleton(unfulfilled)");
    fixture_restart(f);
    static const char *const names[] = {"n1", "n2", "n3", "n4"};
    for (size_t i = 0; i < 4; i++)
        fixture_register(f, names[i], "i1");
    assert_waits(f, b, "Dependency", "singleton(unfulfilled)");
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    again.job_id = (uint32_t)a;
    again.has_requeue = again.requeue = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &again), 0);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    fixture_gone(f, get_live(f, &arena, a)->nodes, (uint32_t)a, 0);
    bool runs_a = get_live(f, &arena, a)->state == PB__JOB_STATE__RUNNING;
    bool runs_b = get_live(f, &arena, b)->state == PB__JOB_STATE__RUNNING;
    assert_true(runs_a != runs_b);
    fixture_free(f);
}

static void changed_name_changes_the_singleton(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t plain = submit_dependent(f, NULL), a = submit_dependent(f, "singleton");
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    Pb__JobSpec set = PB__JOB_SPEC__INIT;
    set.name = (char *)"else";
    r.job_id = (uint32_t)plain;
    r.set = &set;
    assert_waits(f, a, "Dependency", "singleton(unfulfilled)");
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    assert_runs(f, a);
    fixture_free(f);
}

/* It never began, so it waits for the same items again. */
static void a_requeue_lifts_no_dependency(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL), ok = submit_after(f, "afterok", a);
    int64_t bad = submit_after(f, "afternotok", a);
    Pb__JobSignal cancel = PB__JOB_SIGNAL__INIT;
    Pb__JobUpdate again = PB__JOB_UPDATE__INIT;
    Pb__JobFilter all = PB__JOB_FILTER__INIT;
    Pb__JobState pending = PB__JOB_STATE__PENDING;
    all.state = &pending;
    all.n_state = 1;
    cancel.filter = &all;
    control_job_signal(f->control, ++f->last_call, &FIXTURE_USER, &cancel);
    fixture_turn(f);
    assert_int_equal(fixture_state(f, (uint32_t)ok), PB__JOB_STATE__CANCELLED);
    fixture_restart(f);
    again.has_requeue = again.requeue = true;
    again.job_id = (uint32_t)ok;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &again), 0);
    assert_waits(f, ok, "Dependency", format_id("afterok:%lld(unfulfilled)", a));
    fixture_register(f, "n1", "i1");
    end_job(f, a, 0);
    assert_runs(f, ok);
    again.job_id = (uint32_t)bad; /* it got no notification while it was cancelled */
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &again), 0);
    assert_waits(f, bad, "DependencyNeverSatisfied", format_id("afternotok:%lld(failed)", a));
    fixture_free(f);
}

/* The hold is the displayed reason; the dependency continues. */
static void held_job_waits_for_its_dependency(void **state)
{
    struct fixture *f = make_fixture(CONF);
    int64_t a = submit_dependent(f, NULL), b = submit_after(f, "afterok", a);
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = (uint32_t)b;
    r.has_hold = r.hold = true;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    assert_waits(f, b, "JobHeldUser", format_id("afterok:%lld(unfulfilled)", a));
    end_job(f, a, 0);
    assert_waits(f, b, "JobHeldUser", "");
    r.hold = false;
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    assert_runs(f, b);
    fixture_free(f);
}

/* Each turn notifies a share of the dependents, and a crash in between loses none. */
static void many_dependents_are_notified_in_several_turns(void **state)
{
    struct fixture *f = make_fixture(CONF "MaxJobCount=5000\nMinJobAge=2\n");
    enum { MANY = 2000 };
    int64_t a = submit_dependent(f, NULL), ids[MANY];
    size_t waiting = MANY, turns = 0;
    for (size_t i = 0; i < MANY; i++)
        ids[i] = submit_after(f, "afternotok", a);
    end_job(f, a, 0);
    while (waiting) {
        size_t before = waiting;
        if (turns == 2) {
            fixture_restart(f);
            break;
        }
        fixture_turn(f);
        waiting = 0;
        for (size_t i = 0; i < MANY; i++) {
            _cleanup_arena_ struct arena arena;
            arena_init(&arena, 0);
            waiting += strcmp(get_live(f, &arena, ids[i])->reason, "Dependency") == 0;
        }
        assert_true(before - waiting <= 1000);
        turns++;
    }
    assert_int_equal(turns, 2);
    for (size_t i = 0; i < MANY; i++)
        assert_waits(f, ids[i], "DependencyNeverSatisfied",
                     format_id("afternotok:%lld(failed)", a));
    fixture_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dependencies_on_unknown_jobs_are_refused),
        cmocka_unit_test(a_job_waits_for_success),
        cmocka_unit_test(dependent_starts_after_the_nodes_are_clean),
        cmocka_unit_test(job_with_an_invalid_dependency_ends_if_configured),
        cmocka_unit_test(outcomes_of_purged_jobs_survive_a_restart),
        cmocka_unit_test(a_delay_is_kept_over_a_restart),
        cmocka_unit_test(one_fulfilled_alternative_is_enough),
        cmocka_unit_test(update_changes_dependencies_without_a_circle),
        cmocka_unit_test(singletons_of_one_name_run_one_at_a_time),
        cmocka_unit_test(changed_name_changes_the_singleton),
        cmocka_unit_test(a_requeue_lifts_no_dependency),
        cmocka_unit_test(held_job_waits_for_its_dependency),
        cmocka_unit_test(many_dependents_are_notified_in_several_turns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
