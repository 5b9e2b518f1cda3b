/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs with many dependencies: the cost, counted, and the same results. */
#include <stdio.h>
#include <string.h>

#include "control/fixture.h"
#include "control/internal.h"

#define CONF                                                                                       \
    "MinJobAge=2\nNodeName=n[1-2] CPUs=4 RealMemory=4000\nSlurmdTimeout=0\n"                       \
    "PartitionName=a Nodes=ALL Default=YES\n"

enum { NAMED = 200, WAITING = 50 };

/* No job starts there. */
static struct fixture *make_fixture(const char *lines)
{
    struct fixture *f = fixture_new(lines);
    fixture_register(f, "n1", "i1");
    fixture_register(f, "n2", "i1");
    assert_int_equal(fixture_update_node(f, "n[1-2]", "DRAIN", "test"), 0);
    return f;
}

static int64_t submit_dependent(struct fixture *f, const char *dependency)
{
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.dependency = (char *)dependency;
    return fixture_submit(f, &FIXTURE_USER, &s);
}

/* Submits jobs 1 to 'count', and a job that names them: "afterok:1:2...", or
 * "afterok:1?afterok:2...". */
static void submit_named(struct fixture *f, uint32_t count)
{
    for (uint32_t i = 1; i <= count; i++)
        assert_int_equal(submit_dependent(f, NULL), i);
}

static const char *format_dependencies(struct str *out, const char *kind, char separator,
                                       uint32_t from, uint32_t to)
{
    str_clear(out);
    for (uint32_t i = from; i <= to; i++)
        if (separator == ':')
            str_printf(out, "%s:%u", i == from ? kind : "", i);
        else
            str_printf(out, "%s%s:%u", i == from ? "" : "?", kind, i);
    return str_cstr(out);
}

static void cancel_job(struct fixture *f, uint32_t id, const char *tasks)
{
    assert_int_equal(fixture_cancel(f, &FIXTURE_USER, id, tasks, 0), 0);
}

static const struct depend_index *get_index(const struct fixture *f)
{
    return &f->control->cluster->waiting;
}

static void assert_waits(struct fixture *f, uint32_t id, const char *reason, size_t shown)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobLive *l = fixture_job(f, &arena, id)->live;
    size_t items = l->dependency ? 1 : 0;
    for (const char *s = l->dependency; s && *s; s++)
        items += *s == ',' || *s == '?';
    assert_int_equal(l->state, PB__JOB_STATE__PENDING);
    assert_string_equal(l->reason, reason);
    assert_int_equal(items, shown);
}

static void cost_of_a_job_end_depends_on_its_dependents(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct str text = STR_INIT;
    submit_named(f, NAMED);
    for (uint32_t i = 1; i <= WAITING; i++)
        assert_int_equal(submit_dependent(f, format_dependencies(&text, "afterany", ':', 1, NAMED)),
                         NAMED + i);
    assert_int_equal(get_index(f)->dependents.count, NAMED * WAITING);
    fixture_pass(f, 5000);
    uint64_t looks = get_index(f)->looks;
    size_t puts = f->puts;
    cancel_job(f, 7, NULL);
    fixture_pass(f, 100);
    assert_in_range(get_index(f)->looks - looks, WAITING, 2 * WAITING); /* not all of their items */
    assert_in_range(f->puts - puts, 1, 2);                              /* the ended job */
    assert_int_equal(get_index(f)->dependents.count, (NAMED - 1) * WAITING);
    assert_int_equal(get_index(f)->owed.count, WAITING);
    for (uint32_t i = 8; i < 58; i++) /* later changes are written together with it */
        cancel_job(f, i, NULL);
    puts = f->puts;
    fixture_pass(f, 1100);
    assert_int_equal(f->puts - puts, WAITING);
    assert_int_equal(get_index(f)->owed.count, 0);
    assert_waits(f, NAMED + 1, "Dependency", NAMED - 51);
    str_done(&text);
    fixture_free(f);
}

/* A named job is kept while its outcome is missing in a record, whenever the controller crashes. */
static void named_job_is_kept_until_its_outcome_is_recorded(void **state)
{
    struct str text = STR_INIT;
    for (int64_t ms = 0; ms < 6000; ms += 500) {
        struct fixture *f = make_fixture(CONF);
        submit_named(f, NAMED);
        uint32_t id =
            (uint32_t)submit_dependent(f, format_dependencies(&text, "afternotok", ':', 1, NAMED));
        for (uint32_t i = 1; i <= 100; i++)
            cancel_job(f, i, NULL);
        fixture_pass(f, ms);
        fixture_restart(f);
        fixture_pass(f, 5000);
        assert_null(cluster_find_job(f->control->cluster, 1));
        assert_waits(f, id, "Dependency", 100);
        assert_int_equal(get_index(f)->dependents.count, 100);
        fixture_restart(f);
        assert_waits(f, id, "Dependency", 100);
        fixture_free(f);
    }
    str_done(&text);
}

static void ended_jobs_are_purged_despite_many_dependents(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct str text = STR_INIT;
    submit_named(f, NAMED);
    for (uint32_t i = 1; i <= WAITING; i++)
        submit_dependent(f, format_dependencies(&text, "afterany", ':', 1, NAMED));
    int owing = 0;
    for (uint32_t i = 1; i <= 100; i++) {
        cancel_job(f, i, NULL);
        fixture_pass(f, 100);
        owing += get_index(f)->owed.count > 0;
    }
    assert_null(cluster_find_job(f->control->cluster, 40));
    assert_true(owing > 80); /* nearly always something is unwritten */
    str_done(&text);
    fixture_free(f);
}

static void long_dependency_lists_work_as_short_ones(void **state)
{
    static const struct {
        const char *kind;
        char separator;
        uint32_t ends; /* number of cancelled jobs */
        const char *reason;
    } v[] = {
        {"afterany", ':', NAMED - 1, "Dependency"},
        {"afterany", ':', NAMED, "Resources"},
        {"afterok", ':', 1, "DependencyNeverSatisfied"},
        {"afternotok", ':', NAMED, "Resources"},
        {"afterany", '?', 1, "Resources"},
        {"afterok", '?', NAMED - 1, "Dependency"},
        {"afterok", '?', NAMED, "DependencyNeverSatisfied"},
    };
    struct str text = STR_INIT;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        print_message("%s %c %u\n", v[i].kind, v[i].separator, v[i].ends);
        struct fixture *f = make_fixture(CONF);
        submit_named(f, NAMED);
        uint32_t id = (uint32_t)submit_dependent(
            f, format_dependencies(&text, v[i].kind, v[i].separator, 1, NAMED));
        for (uint32_t k = 1; k <= v[i].ends; k++)
            cancel_job(f, k, NULL);
        fixture_pass(f, 100);
        const char *reason = fixture_job(f, &arena, id)->live->reason;
        bool waits = strstr(v[i].reason, "Dependency") == v[i].reason;
        assert_string_equal(waits ? reason : v[i].reason, v[i].reason);
        assert_int_equal(strncmp(reason, "Dependency", 10) == 0, waits);
        fixture_restart(f);
        reason = fixture_job(f, &arena, id)->live->reason;
        assert_int_equal(strncmp(reason, "Dependency", 10) == 0, waits);
        fixture_free(f);
    }
    str_done(&text);
}

static void delay_applies_to_a_long_list(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct str text = STR_INIT;
    submit_named(f, 40);
    format_dependencies(&text, "after", ':', 1, 39);
    str_puts(&text, ":40+2");
    uint32_t id = (uint32_t)submit_dependent(f, str_cstr(&text));
    for (uint32_t i = 1; i <= 40; i++)
        cancel_job(f, i, NULL);
    fixture_pass(f, 100 * 1000);
    assert_waits(f, id, "Dependency", 1);
    fixture_pass(f, 21 * 1000);
    assert_int_equal(get_index(f)->dependents.count, 0);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    assert_null(fixture_job(f, &arena, id)->live->dependency);
    str_done(&text);
    fixture_free(f);
}

static int requeue_job(struct fixture *f, uint32_t id)
{
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    r.job_id = id;
    r.has_requeue = r.requeue = true;
    return fixture_update_job(f, &FIXTURE_USER, &r);
}

/* The job ends before it begins, and after a requeue waits for the items that were open. */
static void requeued_job_waits_for_its_open_dependencies(void **state)
{
    struct fixture *f = make_fixture("MinJobAge=1000\n" CONF);
    struct str text = STR_INIT;
    submit_named(f, NAMED);
    uint32_t id =
        (uint32_t)submit_dependent(f, format_dependencies(&text, "afternotok", ':', 1, NAMED));
    for (uint32_t i = 1; i <= 50; i++)
        cancel_job(f, i, NULL);
    cancel_job(f, id, NULL);
    assert_int_equal(depend_count_of_user(f->control->cluster, FIXTURE_USER.uid), 0);
    assert_int_equal(get_index(f)->dependents.count + get_index(f)->owed.count, 0);
    fixture_restart(f);
    assert_int_equal(depend_count_of_user(f->control->cluster, FIXTURE_USER.uid), 0);
    assert_int_equal(requeue_job(f, id), 0);
    assert_waits(f, id, "Dependency", NAMED - 50);
    assert_int_equal(depend_count_of_user(f->control->cluster, FIXTURE_USER.uid), NAMED);
    str_done(&text);
    fixture_free(f);
}

static const char *get_refusal(struct fixture *f, const char *dependency)
{
    assert_int_equal(submit_dependent(f, dependency), -ERR_DEPENDENCY);
    return fixture_text(f, f->last_call);
}

/* Items of one job: repeated ones are kept once, so that each has a delay of its own. */
static void put_many(int count, struct str *out)
{
    str_puts(out, "after:1");
    for (int i = 1; i < count; i++)
        str_printf(out, ":1+%d", i);
}

static void too_many_dependencies_are_refused(void **state)
{
    struct fixture *f = make_fixture("MaxJobCount=200\n" CONF);
    struct str text = STR_INIT;
    submit_named(f, 100);
    put_many(1000, &text);
    assert_int_equal(submit_dependent(f, str_cstr(&text)), 101);
    str_puts(&text, ":1+1000");
    const char *why = get_refusal(f, str_cstr(&text));
    assert_non_null(strstr(why, "it names 1001 jobs, and a job may wait for 1000 at most"));
    for (int i = 0; i < 30; i++)
        submit_dependent(f, format_dependencies(&text, "afterok", ':', 1, 100));
    why = get_refusal(f, format_dependencies(&text, "afterok", ':', 1, 3));
    assert_non_null(strstr(why, "it names 3 jobs; your jobs name 4000 already, of 4000 that"));
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.dependency = (char *)str_cstr(&text);
    assert_true(fixture_submit(f, &FIXTURE_OTHER, &s) > 0); /* within his own share */
    f->control->cluster->waiting.items += 12000;            /* of many other users */
    s.dependency = (char *)"afterany:1";
    assert_int_equal(fixture_submit(f, &FIXTURE_OTHER, &s), -ERR_DEPENDENCY);
    why = fixture_text(f, f->last_call);
    assert_non_null(strstr(why, "the jobs of all users name 16003 already, of 16000"));
    f->control->cluster->waiting.items -= 12000;
    cancel_job(f, 101, NULL);
    assert_true(submit_dependent(f, str_cstr(&text)) > 0);
    str_done(&text);
    fixture_free(f);
}

/* Each part of an array that gets its own record has all items of the array. */
static void parts_of_an_array_are_bounded(void **state)
{
    struct fixture *f = make_fixture("MaxJobCount=100\n" CONF);
    struct str text = STR_INIT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    Pb__JobUpdate r = PB__JOB_UPDATE__INIT;
    s.array_inx = (char *)"0-49";
    submit_named(f, 1);
    put_many(800, &text);
    s.dependency = (char *)str_cstr(&text);
    r.job_id = (uint32_t)fixture_submit(f, &FIXTURE_USER, &s);
    r.has_hold = r.hold = true;
    r.array_tasks = (char *)"3";
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), 0);
    r.array_tasks = (char *)"5";
    assert_int_equal(fixture_update_job(f, &FIXTURE_USER, &r), ERR_DEPENDENCY);
    cancel_job(f, r.job_id, "5"); /* ending is never rejected */
    assert_int_equal(depend_count_of_user(f->control->cluster, FIXTURE_USER.uid), 1600);
    str_done(&text);
    fixture_free(f);
}

static void aftercorr_of_many_arrays_is_refused(void **state)
{
    struct fixture *f = make_fixture(CONF);
    struct str text = STR_INIT;
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    s.array_inx = (char *)"0-3";
    for (int i = 1; i <= 17; i++)
        assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), i);
    s.dependency = (char *)format_dependencies(&text, "aftercorr", ':', 1, 17);
    assert_int_equal(fixture_submit(f, &FIXTURE_USER, &s), -ERR_DEPENDENCY);
    assert_non_null(strstr(fixture_text(f, f->last_call), "names 17 job arrays, and 16 is"));
    s.dependency = (char *)format_dependencies(&text, "aftercorr", ':', 1, 16);
    assert_true(fixture_submit(f, &FIXTURE_USER, &s) > 0);
    str_done(&text);
    fixture_free(f);
}

static void dependency_items_need_little_memory(void **state)
{
    assert_in_range(sizeof(struct depend_item), 1, 88);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost_of_a_job_end_depends_on_its_dependents),
        cmocka_unit_test(named_job_is_kept_until_its_outcome_is_recorded),
        cmocka_unit_test(ended_jobs_are_purged_despite_many_dependents),
        cmocka_unit_test(long_dependency_lists_work_as_short_ones),
        cmocka_unit_test(delay_applies_to_a_long_list),
        cmocka_unit_test(requeued_job_waits_for_its_open_dependencies),
        cmocka_unit_test(too_many_dependencies_are_refused),
        cmocka_unit_test(parts_of_an_array_are_bounded),
        cmocka_unit_test(aftercorr_of_many_arrays_is_refused),
        cmocka_unit_test(dependency_items_need_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
