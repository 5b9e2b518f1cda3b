/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/test_drawn.h"
#include "sim/sim.h"

#define FUZZ_SEEDS TEST_DRAWN(1000)
#define SET_SEEDS TEST_DRAWN(300)
#define TORUS_SEEDS TEST_DRAWN(200)
#define DRAWN_SEEDS 1000 /* drawn but not run */

static const struct sim_options options;

static int run_checked(const struct sim_plan *plan, struct sim_result *result, struct err *err)
{
    *err = (struct err){0};
    return sim_run(plan, &options, result, err);
}

static void read_plan(struct sim_plan *plan, const char *text)
{
    struct err err = {0};
    if (sim_plan_parse(plan, text, &err) != 0)
        fail_msg("%s", err.text);
}

/* --- promises -----------------------------------------------------------------------------------
 */

/* Different seeds each day: SLUICE_DAY, the number of the day, is set by tools/test. */
static uint64_t first_seed(void)
{
    const char *day = getenv("SLUICE_DAY");
    return 1 + (day ? strtoull(day, NULL, 10) : 0) * FUZZ_SEEDS;
}

/* Runs drawn plans, in which every promise must hold; slurmsim draws the same plans with 'how'. */
static struct sim_result run_drawn(void (*draw)(struct sim_plan *, uint64_t), const char *how,
                                   unsigned seeds)
{
    struct sim_result sum = {0};
    uint64_t first = first_seed();
    for (uint64_t seed = first; seed < first + seeds; seed++) {
        struct sim_plan plan = {0};
        struct sim_result r;
        struct err err;
        draw(&plan, seed);
        if (run_checked(&plan, &r, &err) != 0)
            fail_msg("slurmsim %s --seed=%llu: %s", how, (unsigned long long)seed, err.text);
        sum.acknowledged += r.acknowledged;
        sum.refused += r.refused;
        sum.steps += r.steps;
        sum.restarts += r.restarts;
        sum.crashes += r.crashes;
        sum.takes += r.takes;
        sum.reboots += r.reboots;
        sum.shrinks += r.shrinks;
        sum.sets += r.sets;
        sum.set_starts += r.set_starts;
        sum.torus_checks += r.torus_checks;
        sum.resv_gres_checks += r.resv_gres_checks;
        sim_plan_done(&plan);
    }
    return sum;
}

static void guarantees_hold_in_random_runs(void **state)
{
    struct sim_result sum = run_drawn(sim_plan_draw, "--fuzz", FUZZ_SEEDS);
    /* The worlds are busy, so that the promises are exercised. */
    assert_true(sum.acknowledged > 20 * FUZZ_SEEDS);
    assert_true(sum.acknowledged > 2 * sum.refused);
    assert_true(sum.steps > 5 * FUZZ_SEEDS && sum.restarts > FUZZ_SEEDS / 10);
    assert_true(sum.crashes > FUZZ_SEEDS && sum.reboots > FUZZ_SEEDS / 4);
    assert_true(sum.takes > FUZZ_SEEDS / 2);
    assert_true(sum.shrinks > FUZZ_SEEDS / 20);
    assert_true(sum.resv_gres_checks > FUZZ_SEEDS / 40);
}

/* With heterogeneous jobs: all components start or none, under all faults. */
static void guarantees_hold_for_heterogeneous_jobs(void **state)
{
    struct sim_result sum = run_drawn(sim_plan_draw_sets, "--fuzz --sets", SET_SEEDS);
    assert_true(sum.sets > 2 * SET_SEEDS && sum.set_starts > SET_SEEDS);
    assert_true(sum.acknowledged > 2 * sum.sets); /* there are other jobs too */
    assert_true(sum.crashes > SET_SEEDS && sum.reboots > SET_SEEDS / 4);
}

/* Jobs get placements of toruses, under all faults. */
static void guarantees_hold_in_toruses(void **state)
{
    struct sim_result sum = run_drawn(sim_plan_draw_toruses, "--fuzz --toruses", TORUS_SEEDS);
    (void)state;
    assert_true(sum.acknowledged > 10 * TORUS_SEEDS && sum.acknowledged > sum.refused);
    assert_true(sum.torus_checks > 2 * TORUS_SEEDS);
    assert_true(sum.steps > TORUS_SEEDS && sum.crashes > TORUS_SEEDS);
}

/* Every kind of command, fault and point is drawn. */
static void random_plans_contain_every_item(void **state)
{
    unsigned dos[SIM_DO_LAST + 1] = {0}, faults[SIM_FAULT_LAST + 1] = {0};
    unsigned points[SIM_POINT_SENDING + 1] = {0}, twice = 0;
    for (uint64_t seed = 1; seed <= DRAWN_SEEDS; seed++) {
        struct sim_plan plan = {0};
        sim_plan_draw(&plan, seed);
        vec_foreach (&plan.items, item) {
            if (item->kind == SIM_ITEM_DO)
                dos[item->what]++;
            if (item->kind == SIM_ITEM_FAULT)
                faults[item->what]++;
            if (item->kind == SIM_ITEM_FAULT && item->what == SIM_FAULT_CRASH) {
                points[item->point]++;
                twice += item->then >= 0;
            }
        }
        sim_plan_done(&plan);
    }
    for (size_t i = 0; i <= SIM_DO_LAST; i++)
        assert_true(dos[i] >= 20);
    for (size_t i = 0; i <= SIM_FAULT_LAST; i++)
        assert_true(i == SIM_FAULT_LOSE || i == SIM_FAULT_FORGET ? faults[i] == 0
                                                                 : faults[i] >= 100);
    for (size_t i = 0; i <= SIM_POINT_SENDING; i++)
        assert_true(points[i] >= 100);
    assert_true(twice >= 100);
}

/* A leader is a batch job, and its components follow it. Items that are not drawn for sets are the
 * same as without sets. */
static void sets_are_drawn_from_a_stream_of_their_own(void **state)
{
    unsigned sets = 0, components = 0, same = 0, jobs = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct sim_plan plain = {0}, plan = {0};
        sim_plan_draw(&plain, seed);
        sim_plan_draw_sets(&plan, seed);
        assert_true(plan.items.len >= plain.items.len);
        int64_t leader = 0;
        for (size_t i = 0; i < plain.items.len; i++) {
            const struct sim_item *a = &plain.items.data[i], *b = &plan.items.data[i];
            jobs += a->kind == SIM_ITEM_JOB;
            if (b->kind == SIM_ITEM_JOB && b->component_of) {
                sets += b->component_of != leader;
                leader = b->component_of;
                components++;
                assert_true(leader < b->id && b->what == SIM_JOB_BATCH && !b->array);
            } else if (a->kind != SIM_ITEM_JOB) {
                assert_memory_equal(a, b, sizeof *a);
            } else {
                same += memcmp(a, b, sizeof *a) == 0;
            }
        }
        sim_plan_done(&plain);
        sim_plan_done(&plan);
    }
    assert_true(sets > 200 && components > sets && same > jobs / 3);
}

static void guarantees_hold_in_small_clusters_with_many_faults(void **state)
{
    for (uint64_t seed = 1; seed <= TEST_DRAWN(60); seed++) {
        struct sim_size size = {
            .nodes = (unsigned)(1 + seed % 6),
            .cpus = (unsigned)(1 + seed % 4),
            .jobs = 40,
            .fault_per_mille = (unsigned)(50 + seed % 10 * 20),
        };
        struct sim_plan plan = {0};
        struct sim_result r;
        struct err err;
        sim_plan_draw_simple(&plan, seed, &size);
        if (run_checked(&plan, &r, &err) != 0)
            fail_msg("seed %llu: %s", (unsigned long long)seed, err.text);
        assert_int_equal(r.refused, 0);
        assert_int_equal(r.acknowledged, 40);
        sim_plan_done(&plan);
    }
}

static void run_without_faults_ends_quickly(void **state)
{
    struct sim_size size = {8, 4, 300, 0};
    struct sim_plan plan = {0};
    struct sim_result r;
    struct err err;
    sim_plan_draw_simple(&plan, 5, &size);
    assert_int_equal(run_checked(&plan, &r, &err), 0);
    assert_int_equal(r.ended, 300);
    assert_int_equal(r.crashes + r.reboots + r.kills + r.breaks, 0);
    sim_plan_done(&plan);
}

/* --- plans --------------------------------------------------------------------------------------
 */

/* CORE-010 */
static void plan_is_restored_from_its_text_and_repeats(void **state)
{
    for (uint64_t seed = 1; seed <= TEST_DRAWN(40); seed++) {
        struct sim_plan plan = {0}, again = {0};
        struct str text = STR_INIT, text_again = STR_INIT;
        struct sim_result a, b, c;
        struct err err;
        if (seed % 4)
            sim_plan_draw(&plan, seed);
        else
            sim_plan_draw_sets(&plan, seed);
        sim_plan_format(&plan, &text);
        read_plan(&again, str_cstr(&text));
        sim_plan_format(&again, &text_again);
        assert_string_equal(str_cstr(&text), str_cstr(&text_again));
        assert_int_equal(run_checked(&plan, &a, &err), 0);
        assert_int_equal(run_checked(&plan, &b, &err), 0);
        assert_int_equal(run_checked(&again, &c, &err), 0);
        assert_true(a.trace == b.trace && a.events == b.events);
        assert_true(a.trace == c.trace && a.events == c.events);
        again.seed++;
        assert_int_equal(run_checked(&again, &c, &err), 0);
        assert_true(a.trace != c.trace || a.attempts == 0);
        sim_plan_done(&plan);
        sim_plan_done(&again);
        str_done(&text);
        str_done(&text_again);
    }
}

static void bad_plans_are_refused_by_line(void **state)
{
    static const char *const bad[] = {
        "walk",
        "run seed=x",
        "run speed=1",
        "node",
        "node id=0",
        "node id=1 count=0",
        "node id=1 count=100001",
        "node id=1 cpus",
        "node id=1 tasks=4",
        "job id=1 at=1",
        "job id=1 kind=batch",
        "job kind=batch at=1",
        "job id=1 at=1 kind=none",
        "job id=2 at=1 kind=batch\njob id=2 at=1 kind=batch",
        "job id=1 at=1 kind=batch limit=99999999999999999999",
        "do what=jump at=1",
        "fault what=crash point=there at=1",
        "part part=a_name_that_is_much_too_long_for_one",
        "job id=2 at=1 kind=alloc component-of=1",
        "job id=2 at=1 kind=batch array=2 component-of=1",
        "job id=2 at=1 kind=batch component-of=2",
        "ctl count=0",
        "ctl count=4",
        "ctl count=2 timeout=999",
        "ctl at=1",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct sim_plan plan = {0};
        struct err err = {0};
        if (sim_plan_parse(&plan, bad[i], &err) == 0)
            fail_msg("taken: %s", bad[i]);
        assert_non_null(strstr(err.text, "line "));
        sim_plan_done(&plan);
    }
}

/* --- breaches are found -------------------------------------------------------------------------
 */

#define WORLD "run seed=1\nnode id=1 count=3 cores=4\npart part=a nodes=ALL options=Default=YES\n"

static void assert_breach_is_found(const char *promise, const char *text)
{
    struct sim_plan plan = {0};
    struct sim_result r;
    struct err err;
    read_plan(&plan, text);
    if (run_checked(&plan, &r, &err) == 0)
        fail_msg("nothing was found: %s", promise);
    assert_string_equal(r.promise, promise);
    sim_plan_done(&plan);
}

static void each_breach_of_a_guarantee_is_detected(void **state)
{
    assert_breach_is_found("a payload was started before that was on disk",
                           WORLD "fault what=lose at=50\njob id=1 kind=batch at=200\n");
    assert_breach_is_found("a job was acknowledged and is not on disk",
                           WORLD "fault what=lose at=50\njob id=1 kind=batch at=200 hold=1\n");
    assert_breach_is_found("an attempt was started twice", WORLD
                           "job id=1 kind=batch at=200 run=60000\nfault what=forget node=1 at=210\n"
                           "fault what=repeat node=1 at=1 for=90000\n");
}

/* All ways to another leader, and back to a primary that returns. */
static void lead_moves_to_an_available_controller(void **state)
{
    static const struct {
        const char *fault;
        unsigned takes;
    } rows[] = {
        {"", 1},
        {"fault what=pause at=20000 for=1000\n", 1},
        {"fault what=pause at=20000 for=30000\n", 2},
        {"fault what=down at=20000 for=20000\n", 3},
        {"fault what=crash at=20000 for=500 point=kept\n", 2},
        {"fault what=cut keep=15 at=20000 for=30000\n", 2},
        {"fault what=cut keep=8 at=20000 for=30000\n", 1},
        {"fault what=order value=2 at=20000\n", 2},
        {"fault what=pause value=2 at=20000 for=30000\n", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct sim_plan plan = {0};
        struct sim_result r;
        struct err err = {0};
        struct str text = STR_INIT;
        str_puts(&text, WORLD "ctl count=2 timeout=5000\n");
        for (unsigned id = 1; id <= 60; id++)
            str_printf(&text, "job id=%u kind=batch at=%u run=3000\n", id, id * 1000);
        str_puts(&text, rows[i].fault);
        read_plan(&plan, str_cstr(&text));
        if (run_checked(&plan, &r, &err) != 0)
            fail_msg("%s: %s", rows[i].fault, err.text);
        if (r.takes != rows[i].takes)
            fail_msg("%s: the lead was taken %u times", rows[i].fault, r.takes);
        assert_int_equal(r.ended, 60);
        str_done(&text);
        sim_plan_done(&plan);
    }
}

static size_t count_items(const struct sim_plan *plan, enum sim_item_kind kind)
{
    size_t n = 0;
    vec_foreach (&plan->items, item)
        n += item->kind == kind;
    return n;
}

static void failing_plan_is_minimised(void **state)
{
    struct sim_plan plan = {0};
    struct sim_result a, b;
    struct err err;
    sim_plan_draw(&plan, 7);
    struct sim_item lose;
    sim_plan_item(&lose, SIM_ITEM_FAULT);
    lose.what = SIM_FAULT_LOSE;
    lose.at_ms = 5000;
    vec_push(&plan.items, lose);
    assert_int_equal(run_checked(&plan, &a, &err), -ERR_INTERNAL);
    assert_int_equal(run_checked(&plan, &b, &err), -ERR_INTERNAL);
    assert_true(a.trace == b.trace && a.events == b.events);
    sim_minimise(&plan, 2000);
    assert_int_equal(run_checked(&plan, &b, &err), -ERR_INTERNAL);
    assert_string_equal(a.promise, b.promise);
    assert_true(count_items(&plan, SIM_ITEM_JOB) <= 1);
    assert_int_equal(count_items(&plan, SIM_ITEM_FAULT), 1);
    assert_true(count_items(&plan, SIM_ITEM_CONF) <=
                1); /* for a promise about the configured feature */
    assert_true(plan.items.len - count_items(&plan, SIM_ITEM_CONF) <= 4);
    sim_plan_done(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_plans_are_refused_by_line),
        cmocka_unit_test(random_plans_contain_every_item),
        cmocka_unit_test(sets_are_drawn_from_a_stream_of_their_own),
        cmocka_unit_test(plan_is_restored_from_its_text_and_repeats),
        cmocka_unit_test(each_breach_of_a_guarantee_is_detected),
        cmocka_unit_test(lead_moves_to_an_available_controller),
        cmocka_unit_test(failing_plan_is_minimised),
        cmocka_unit_test(run_without_faults_ends_quickly),
        cmocka_unit_test(guarantees_hold_in_small_clusters_with_many_faults),
        cmocka_unit_test(guarantees_hold_in_random_runs),
        cmocka_unit_test(guarantees_hold_for_heterogeneous_jobs),
        cmocka_unit_test(guarantees_hold_in_toruses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
