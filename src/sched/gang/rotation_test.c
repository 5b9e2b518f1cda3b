/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GANG-28 to GANG-36, GANG-47, GANG-48, GANG-54 to GANG-57: the rotation shows the sequences of the
 * guide to gang scheduling, agrees with a plain model, starves no job and divides time evenly.
 */
#define NODES 5
#define UNITS 8

#include <stdio.h>

#include "base/str.h"
#include "sched/gang/rotation_test_util.h"

static void start(struct bench *b, uint32_t id, uint32_t from, uint32_t nodes)
{
    bench_add(b, id, from, nodes, 0, UNITS);
    rotation_settle(&b->r);
}

static int by_number(const void *a, const void *b)
{
    return (int)*(const uint32_t *)a - (int)*(const uint32_t *)b;
}

/* Expects "51 52 | 53": running and suspended jobs, in the order of squeue. */
static void expect(const struct bench *b, const char *states)
{
    _cleanup_str_ struct str text = STR_INIT;
    for (int waits = 0; waits < 2; waits++) {
        VEC(uint32_t) ids = {0};
        vec_foreach (&b->r.members, m)
            if (m->runs != waits)
                vec_push(&ids, m->id);
        if (ids.len)
            qsort(ids.data, ids.len, sizeof ids.data[0], by_number);
        if (waits)
            str_puts(&text, " |");
        vec_foreach (&ids, id)
            str_printf(&text, "%s%u", text.len ? " " : "", *id);
        vec_done(&ids);
    }
    assert_string_equal(str_cstr(&text), states);
}

static void turn(struct bench *b, const char *states)
{
    rotation_turn(&b->r);
    expect(b, states);
}

/* GANG-29, GANG-30, GANG-43. */
static void two_jobs_on_all_nodes_swap(void **state)
{
    struct bench b = {0};
    start(&b, 3, 0, 5);
    expect(&b, "3 |");
    start(&b, 4, 0, 5);
    expect(&b, "3 | 4");
    turn(&b, "4 | 3");
    turn(&b, "3 | 4");
    bench_done(&b);
}

/* GANG-47: the job on nodes of its own always runs. */
static void job_beside_two_that_swap_always_runs(void **state)
{
    struct bench b = {0};
    start(&b, 9, 0, 3);
    start(&b, 10, 3, 2);
    start(&b, 11, 0, 3);
    expect(&b, "9 10 | 11");
    turn(&b, "10 11 | 9");
    turn(&b, "9 10 | 11");
    bench_done(&b);
}

/* GANG-48: local backfill. */
static void small_job_runs_beside_the_first_one_at_once(void **state)
{
    struct bench b = {0};
    start(&b, 12, 0, 3);
    start(&b, 13, 0, 5);
    start(&b, 14, 3, 2);
    expect(&b, "12 14 | 13");
    turn(&b, "13 | 12 14");
    turn(&b, "12 14 | 13");
    bench_done(&b);
}

/* GANG-54, GANG-55: with cores only those that share cores swap. */
static void cores_of_their_own_are_never_suspended(void **state)
{
    struct bench b = {0};
    for (uint32_t i = 0; i < 6; i++)
        bench_add(&b, 44 + i, 0, 5, i % 4 * 2, 2);
    rotation_settle(&b.r);
    expect(&b, "44 45 46 47 | 48 49");
    turn(&b, "46 47 48 49 | 44 45");
    turn(&b, "44 45 46 47 | 48 49");
    turn(&b, "46 47 48 49 | 44 45");
    bench_done(&b);
}

/* GANG-56, GANG-57: CPUs that are counted are shared by all. */
static void counted_cpus_are_shared_by_all(void **state)
{
    struct bench b = {.r.counts = true};
    for (uint32_t i = 0; i < 6; i++)
        bench_add(&b, 51 + i, 0, 5, i % 4 * 2, 2);
    rotation_settle(&b.r);
    expect(&b, "51 52 53 54 | 55 56");
    turn(&b, "51 52 55 56 | 53 54");
    turn(&b, "53 54 55 56 | 51 52");
    turn(&b, "51 52 53 54 | 55 56");
    bench_done(&b);
}

/* A job has more CPUs than others leave to the rotation: it takes its turn alone. */
static void job_with_more_cpus_than_are_left_runs_alone(void **state)
{
    struct bench b = {.r.counts = true};
    bench_add(&b, 1, 0, 1, 0, 6);
    bench_add(&b, 2, 0, 1, 0, 2);
    bench_add(&b, 3, 0, 1, 2, 2);
    vec_foreach (&b.r.members, m)
        vec_foreach (&m->uses, use)
            use->of = 4;
    rotation_settle(&b.r);
    expect(&b, "1 | 2 3");
    turn(&b, "2 3 | 1");
    turn(&b, "1 | 2 3");
    bench_done(&b);
}

/* Components of a heterogeneous job may have CPUs of the same node: all of them count. */
static void components_on_a_node_count_together(void **state)
{
    struct bench b = {.r.counts = true};
    bench_add(&b, 1, 0, 1, 0, 3);
    struct rotation_use more = b.r.members.data[0].uses.data[0];
    more.count = 4;
    rotation_use_node(&b.r.members.data[0], &more);
    bench_add(&b, 2, 0, 1, 0, 2);
    bench_add(&b, 3, 1, 1, 0, 2);
    rotation_settle(&b.r);
    expect(&b, "1 3 | 2");
    turn(&b, "2 3 | 1");
    turn(&b, "1 3 | 2");
    bench_done(&b);
}

/* GANG-32: a job that is still stopping does not wait: it needs no slice. */
static void pinned_member_does_not_wait(void **state)
{
    struct bench b = {0};
    start(&b, 1, 0, 5);
    start(&b, 2, 0, 5);
    assert_true(rotation_waits(&b.r));
    b.r.members.data[1].pinned = true;
    assert_false(rotation_waits(&b.r));
    bench_done(&b);
}

/* GANG-06: a pinned member, whose job is ending, keeps its resources until it is removed. */
static void waiting_job_runs_when_the_other_one_is_gone(void **state)
{
    struct bench b = {0};
    start(&b, 1, 0, 5);
    start(&b, 2, 0, 5);
    b.r.members.data[0].pinned = true;
    rotation_settle(&b.r);
    expect(&b, "1 | 2");
    rotation_turn(&b.r);
    expect(&b, "1 | 2");
    for (size_t i = 0; i < b.r.members.len; i++)
        if (b.r.members.data[i].id == 1) {
            vec_done(&b.r.members.data[i].uses);
            vec_remove(&b.r.members, i);
            break;
        }
    rotation_settle(&b.r);
    expect(&b, "2 |");
    assert_false(rotation_waits(&b.r));
    bench_done(&b);
}

/* After a change of the configuration more jobs may run than the slot permits. */
static void first_of_too_many_running_jobs_continues(void **state)
{
    struct bench b = {0};
    for (uint32_t i = 1; i <= 3; i++)
        bench_add(&b, i, 0, 1, 0, UNITS);
    vec_foreach (&b.r.members, m)
        m->runs = true;
    rotation_settle(&b.r);
    expect(&b, "1 | 2 3");
    bench_done(&b);
}

/* GANG-36: eight jobs, twenty slices: the run times differ by one slice at most, and no job waits
 * for more than seven slices. */
static void time_is_divided_evenly(void **state)
{
    struct bench b = {0};
    unsigned ran[9] = {0}, waited[9] = {0}, least = 20, most = 0;
    for (uint32_t i = 1; i <= 8; i++)
        start(&b, i, 0, 5);
    for (int slice = 0; slice < 20; slice++) {
        vec_foreach (&b.r.members, m) {
            ran[m->id] += m->runs;
            waited[m->id] = m->runs ? 0 : waited[m->id] + 1;
            assert_true(waited[m->id] <= 7);
        }
        rotation_turn(&b.r);
    }
    for (int i = 1; i <= 8; i++) {
        least = ran[i] < least ? ran[i] : least;
        most = ran[i] > most ? ran[i] : most;
    }
    assert_true(most - least <= 1);
    bench_done(&b);
}

/* --- drawn rotations, and a plain model ---------------------------------------------------------
 */

static uint64_t draw(uint64_t *chance, uint64_t below)
{
    *chance = *chance * 6364136223846793005u + 1442695040888963407u;
    return (*chance >> 33) % below;
}

/* The queue of the model: ids in order, and whether each runs. */
struct model {
    uint32_t queue[32];
    bool runs[32];
    size_t len;
};

static const struct rotation_member *find(const struct rotation *r, uint32_t id)
{
    vec_foreach (&r->members, m)
        if (m->id == id)
            return m;
    fail();
    return NULL;
}

/* Whether the members in 'active' leave all nodes and units of the member free. */
static bool model_fits(const struct rotation *r, const uint32_t *active, size_t n, uint32_t id)
{
    for (uint32_t node = 0; node < NODES; node++) {
        uint32_t own = 0, others = 0;
        vec_foreach (&find(r, id)->uses, use)
            own += use->node == node ? use->count : 0;
        for (size_t i = 0; i < n; i++)
            vec_foreach (&find(r, active[i])->uses, use)
                others += use->node == node ? use->count : 0;
        if (r->counts && own && others && own + others > UNITS)
            return false;
        for (size_t i = 0; i < n && !r->counts; i++)
            if (rotation_excludes(find(r, id), find(r, active[i])))
                return false;
    }
    return true;
}

static void model_turn(const struct rotation *r, struct model *m)
{
    struct model next = {0};
    uint32_t active[32];
    size_t n = 0;
    for (int runs = 0; runs < 2; runs++)
        for (size_t i = 0; i < m->len; i++)
            if (m->runs[i] == runs)
                next.queue[next.len++] = m->queue[i];
    for (size_t i = 0; i < next.len; i++) {
        next.runs[i] = model_fits(r, active, n, next.queue[i]);
        if (next.runs[i])
            active[n++] = next.queue[i];
    }
    *m = next;
}

static void compare(const struct rotation *r, const struct model *m)
{
    assert_int_equal(r->members.len, m->len);
    for (size_t i = 0; i < m->len; i++) {
        const struct rotation_member *x = &r->members.data[i];
        assert_int_equal(x->runs, m->runs[i]);
        if (i > 0)
            assert_true(x->place > r->members.data[i - 1].place);
        assert_int_equal(x->id, m->queue[i]);
    }
}

static void draw_members(struct bench *b, uint64_t *chance)
{
    for (uint32_t id = 1, count = 1 + (uint32_t)draw(chance, 16); id <= count; id++) {
        uint32_t from = (uint32_t)draw(chance, NODES), first = (uint32_t)draw(chance, UNITS);
        bench_add(b, id, from, 1 + (uint32_t)draw(chance, NODES - from), first,
                  1 + (uint32_t)draw(chance, UNITS - first));
    }
}

/* GANG-31, GANG-36: in each slice the model's jobs run, and each job runs within as many slices as
 * there are other jobs. */
static void drawn_rotation_agrees_with_a_plain_model(void **state)
{
    for (uint64_t seed = 0; seed < TEST_DRAWN(2000); seed++) {
        uint64_t chance = seed;
        struct bench b = {.r.counts = seed % 3 == 0};
        struct model m = {0};
        unsigned waited[32] = {0};
        draw_members(&b, &chance);
        rotation_settle(&b.r);
        vec_foreach (&b.r.members, x) {
            m.queue[m.len] = x->id;
            m.runs[m.len++] = x->runs;
        }
        for (size_t slice = 0; slice < 2 * m.len; slice++) {
            rotation_turn(&b.r);
            model_turn(&b.r, &m);
            compare(&b.r, &m);
            vec_foreach (&b.r.members, x) {
                waited[x->id] = x->runs ? 0 : waited[x->id] + 1;
                assert_true(waited[x->id] < m.len);
            }
            rotation_settle(&b.r); /* nothing has changed */
            compare(&b.r, &m);
        }
        bench_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_jobs_on_all_nodes_swap),
        cmocka_unit_test(job_beside_two_that_swap_always_runs),
        cmocka_unit_test(small_job_runs_beside_the_first_one_at_once),
        cmocka_unit_test(cores_of_their_own_are_never_suspended),
        cmocka_unit_test(counted_cpus_are_shared_by_all),
        cmocka_unit_test(job_with_more_cpus_than_are_left_runs_alone),
        cmocka_unit_test(components_on_a_node_count_together),
        cmocka_unit_test(pinned_member_does_not_wait),
        cmocka_unit_test(waiting_job_runs_when_the_other_one_is_gone),
        cmocka_unit_test(first_of_too_many_running_jobs_continues),
        cmocka_unit_test(time_is_divided_evenly),
        cmocka_unit_test(drawn_rotation_agrees_with_a_plain_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
