/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forecast ends equal the ends in a plain rotation that is simulated second by second. */
#define NODES 6
#define UNITS 4
#define MEMBERS 12
#define ENOUGH SIZE_MAX

#include "sched/gang/forecast.h"
#include "sched/gang/rotation_test_util.h"

static void add(struct bench *b, uint32_t from, uint32_t nodes, uint32_t first, uint32_t count,
                int64_t left_sec)
{
    bench_add(b, (uint32_t)b->r.members.len, from, nodes, first, count)->left_ms = left_sec * 1000;
}

static int64_t end_sec(const struct bench *b, uint32_t id)
{
    vec_foreach (&b->r.members, m)
        if (m->id == id)
            return m->ends_ms / 1000;
    fail();
    return 0;
}

/* One job runs while the others wait: the short job ends first, the long one last. */
static void jobs_on_the_same_nodes_end_later(void **state)
{
    struct bench b = {0};
    (void)state;
    add(&b, 0, 2, 0, UNITS, 100);
    add(&b, 0, 2, 0, UNITS, 40);
    add(&b, 3, 1, 0, UNITS, 50); /* alone */
    rotation_settle(&b.r);
    forecast_ends(&b.r, 10000, 30000, ENOUGH);
    assert_int_equal(end_sec(&b, 0), 140);
    assert_int_equal(end_sec(&b, 1), 10 + 30 + 30 + 10);
    assert_int_equal(end_sec(&b, 2), 50);
    bench_done(&b);
}

/* Without a limit, that is 365 days: needs few turns. */
static void long_jobs_are_forecast_in_few_turns(void **state)
{
    struct bench b = {0};
    int64_t year_sec = 365 * 86400;
    (void)state;
    for (int i = 0; i < 3; i++)
        add(&b, 0, 2, 0, UNITS, year_sec);
    add(&b, 0, 2, 0, UNITS, 3600);
    rotation_settle(&b.r);
    forecast_ends(&b.r, 30000, 30000, 200);
    assert_int_equal(end_sec(&b, 3), 4 * 3600);
    assert_int_equal(end_sec(&b, 2), 3 * year_sec + 3600);
    assert_int_equal(end_sec(&b, 1), 3 * year_sec + 3600 - 30);
    assert_int_equal(end_sec(&b, 0), 3 * year_sec + 3600 - 60);
    bench_done(&b);
}

/* Pinned members end soon and take no turns. */
static void pinned_members_are_left_out(void **state)
{
    struct bench b = {0};
    (void)state;
    add(&b, 0, 2, 0, UNITS, 100);
    add(&b, 0, 2, 0, UNITS, 40);
    b.r.members.data[0].runs = b.r.members.data[0].pinned = true;
    forecast_ends(&b.r, 10000, 30000, ENOUGH);
    assert_int_equal(end_sec(&b, 1), 40);
    bench_done(&b);
}

/* --- random rotations ----------------------------------------------------------------------------
 */

static uint64_t draw(uint64_t *chance, uint64_t below)
{
    *chance = *chance * 6364136223846793005u + 1442695040888963407u;
    return (*chance >> 33) % below;
}

static void draw_members(struct bench *b, uint64_t *chance, int64_t most_sec)
{
    for (uint32_t id = 0, count = 1 + (uint32_t)draw(chance, MEMBERS); id < count; id++) {
        uint32_t from = (uint32_t)draw(chance, NODES), first = (uint32_t)draw(chance, UNITS);
        uint32_t nodes = 1 + (uint32_t)draw(chance, NODES - from);
        uint32_t units = 1 + (uint32_t)draw(chance, UNITS - first);
        add(b, from, nodes, first, units, (int64_t)draw(chance, (uint64_t)most_sec));
    }
    rotation_settle(&b->r);
}

/* Removes members without remaining time; returns whether there were any. */
static bool end_members(struct rotation *r, int64_t at_sec, int64_t *ends)
{
    bool ended = false;
    for (size_t i = r->members.len; i-- > 0;) {
        struct rotation_member *m = &r->members.data[i];
        if (!m->runs || m->left_ms > 0)
            continue;
        ends[m->id] = at_sec;
        vec_done(&m->uses);
        vec_remove(&r->members, i);
        ended = true;
    }
    return ended;
}

/* Computes the ends of all members by running the rotation. */
static void run_plainly(struct rotation *r, int64_t switch_sec, int64_t slice_sec, int64_t *ends)
{
    for (int64_t at_sec = 0; r->members.len; at_sec++) {
        bool ended = end_members(r, at_sec, ends);
        if (at_sec == switch_sec) {
            rotation_turn(r);
            switch_sec += slice_sec;
        } else if (ended) {
            rotation_settle(r);
        }
        while (end_members(r, at_sec, ends)) /* members without remaining time at the start */
            rotation_settle(r);
        vec_foreach (&r->members, m)
            m->left_ms -= m->runs ? 1000 : 0;
    }
}

/* The forecast is exact. With a low limit of turns it is never too early. */
static void random_forecasts_come_true(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < TEST_DRAWN(3000); seed++) {
        uint64_t chance = seed;
        struct bench b = {.r.counts = seed % 3 == 0};
        int64_t most_sec = seed % 5 ? 200 : 3000;
        int64_t slice_sec = 5 + (int64_t)draw(&chance, 30);
        int64_t switch_sec = 1 + (int64_t)draw(&chance, (uint64_t)slice_sec);
        int64_t ends[MEMBERS], foreseen[MEMBERS], roughly[MEMBERS];
        draw_members(&b, &chance, most_sec);
        size_t count = b.r.members.len;
        forecast_ends(&b.r, switch_sec * 1000, slice_sec * 1000, draw(&chance, 200));
        for (uint32_t id = 0; id < count; id++)
            roughly[id] = end_sec(&b, id);
        forecast_ends(&b.r, switch_sec * 1000, slice_sec * 1000, ENOUGH);
        for (uint32_t id = 0; id < count; id++)
            foreseen[id] = end_sec(&b, id);
        run_plainly(&b.r, switch_sec, slice_sec, ends);
        for (uint32_t id = 0; id < count; id++) {
            assert_int_equal(foreseen[id], ends[id]);
            assert_true(roughly[id] >= ends[id]);
        }
        bench_done(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_on_the_same_nodes_end_later),
        cmocka_unit_test(long_jobs_are_forecast_in_few_turns),
        cmocka_unit_test(pinned_members_are_left_out),
        cmocka_unit_test(random_forecasts_come_true),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
