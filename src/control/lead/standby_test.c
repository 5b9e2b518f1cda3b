/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Controllers in a world of virtual time: pings take time, processes die, hang and restart, and a
 * lock stands for the store. At any time at most one controller leads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "control/event/event.h"
#include "control/lead/standby.h"

#define MOST 3
#define TICK_MS 10
#define TIMEOUT_MS 2000
#define YIELD_MS 200 /* from the request to the release of the lock */

enum state { DEAD, HANGS, STANDS_BY, LEADS };

struct ctl {
    enum state state, was; /* was: before it hung */
    struct standby *logic;
    int64_t pinged_ms[MOST]; /* -1: none is running */
    int64_t yield_at_ms;     /* -1: not yielding */
};

struct world {
    struct ctl ctl[MOST];
    size_t count;
    int64_t now_ms, timeout_ms;
    long lock; /* the owner; -1: none */
    unsigned asked, taken, refused;
    bool cut[MOST][MOST]; /* no packets between these */
    bool no_lock;         /* taking always succeeds: a store that only fences */
};

static void start_controller(struct world *w, size_t i, bool claims)
{
    struct standby_options o = {
        .me = i, .count = w->count, .timeout_ms = w->timeout_ms, .claims = claims};
    struct ctl *c = &w->ctl[i];

    c->state = STANDS_BY;
    c->logic = standby_new(&o, w->now_ms);
    c->yield_at_ms = -1;
    for (size_t k = 0; k < MOST; k++)
        c->pinged_ms[k] = -1;
}

static void kill_controller(struct world *w, size_t i)
{
    struct ctl *c = &w->ctl[i];

    if (w->lock == (long)i)
        w->lock = -1;
    standby_free(take_ptr(c->logic));
    c->state = DEAD;
}

static void hang_controller(struct world *w, size_t i)
{
    w->ctl[i].was = w->ctl[i].state;
    w->ctl[i].state = HANGS;
}

static void take_lead(struct world *w, size_t i)
{
    if (w->lock >= 0 && !w->no_lock) {
        w->refused++;
        standby_could_not_take(w->ctl[i].logic, w->now_ms);
        return;
    }
    if (w->lock >= 0) { /* fenced: it becomes a standby */
        size_t old = (size_t)w->lock;
        bool hangs = w->ctl[old].state == HANGS;
        kill_controller(w, old);
        start_controller(w, old, false);
        if (hangs)
            hang_controller(w, old);
    }
    w->lock = (long)i;
    w->taken++;
    standby_free(take_ptr(w->ctl[i].logic));
    w->ctl[i].state = LEADS;
}

static bool is_there(const struct world *w, size_t i)
{
    return w->ctl[i].state == STANDS_BY || w->ctl[i].state == LEADS;
}

static void answer_ping(struct world *w, size_t i)
{
    struct ctl *c = &w->ctl[i];

    for (size_t k = 0; k < w->count; k++) {
        if (c->pinged_ms[k] >= 0) {
            int64_t age = w->now_ms - c->pinged_ms[k];
            bool cut = w->cut[i][k], gone = !cut && w->ctl[k].state == DEAD;
            bool here = !cut && is_there(w, k);
            if (!here && !gone && age < standby_ping_limit(c->logic))
                continue;
            c->pinged_ms[k] = -1;
            if (here)
                standby_heard(c->logic, k, w->ctl[k].state == LEADS, w->now_ms);
            else
                standby_silent(c->logic, k, gone, w->now_ms);
        }
        if (standby_ping(c->logic, k, w->now_ms))
            c->pinged_ms[k] = w->now_ms;
    }
}

static void tick_controller(struct world *w, size_t i)
{
    struct ctl *c = &w->ctl[i];
    size_t peer = 0;
    int64_t again_ms;

    if (c->state == LEADS && c->yield_at_ms >= 0 && w->now_ms >= c->yield_at_ms) {
        kill_controller(w, i);
        start_controller(w, i, false);
    }
    if (c->state != STANDS_BY)
        return;
    answer_ping(w, i);
    switch (standby_next(c->logic, w->now_ms, &peer, &again_ms)) {
    case STANDBY_WAIT:
        assert_true(again_ms >= 0 && again_ms <= 1000);
        break;
    case STANDBY_ASK:
        assert_true(peer < w->count && peer != i);
        w->asked++;
        if (!w->cut[i][peer] && w->ctl[peer].state == LEADS && w->ctl[peer].yield_at_ms < 0)
            w->ctl[peer].yield_at_ms = w->now_ms + YIELD_MS;
        break;
    case STANDBY_TAKE:
        take_lead(w, i);
        break;
    }
}

static void check_one(const struct world *w)
{
    unsigned leaders = 0;

    for (size_t i = 0; i < w->count; i++)
        leaders += w->ctl[i].state == LEADS;
    assert_true(leaders <= 1);
}

static void pass_time(struct world *w, int64_t ms)
{
    for (int64_t until = w->now_ms + ms; w->now_ms < until; w->now_ms += TICK_MS) {
        for (size_t i = 0; i < w->count; i++)
            tick_controller(w, i);
        check_one(w);
    }
}

/* Runs until it leads; returns the duration, at most 'limit'. */
static int64_t run_until_leads(struct world *w, size_t i, int64_t limit_ms)
{
    int64_t from = w->now_ms;

    while (w->ctl[i].state != LEADS && w->now_ms - from < limit_ms)
        pass_time(w, TICK_MS);
    return w->now_ms - from;
}

static void set_up_world(struct world *w, size_t count)
{
    *w = (struct world){.count = count, .now_ms = 1000000, .timeout_ms = TIMEOUT_MS, .lock = -1};
}

static void tear_down_world(struct world *w)
{
    for (size_t i = 0; i < w->count; i++)
        kill_controller(w, i);
}

/* All start: the primary leads at once, and stays. */
static void start_all(struct world *w, size_t count)
{
    set_up_world(w, count);
    for (size_t i = 0; i < count; i++)
        start_controller(w, i, i == 0);
    assert_true(run_until_leads(w, 0, 5000) <= 100);
    pass_time(w, 10 * TIMEOUT_MS);
    assert_int_equal(w->taken, 1);
    assert_int_equal(w->refused, 0);
    for (size_t i = 1; i < count; i++)
        assert_int_equal(standby_leader(w->ctl[i].logic), 0);
}

static void primary_leads_without_its_backup(void **state)
{
    struct world w;

    set_up_world(&w, 2);
    start_controller(&w, 0, true);
    assert_true(run_until_leads(&w, 0, 5000) <= 100); /* the backup's host refuses the connection */
    kill_controller(&w, 0);
    w.cut[0][1] = true; /* not even that */
    start_controller(&w, 0, true);
    assert_true(run_until_leads(&w, 0, 5000) <= TIMEOUT_MS);
    tear_down_world(&w);
    set_up_world(&w, 2); /* a backup waits for the primary to start */
    start_controller(&w, 1, false);
    int64_t took = run_until_leads(&w, 1, 5000);
    assert_true(took >= TIMEOUT_MS && took <= TIMEOUT_MS + 50);
    tear_down_world(&w);
}

static void backup_leads_after_the_primary_dies(void **state)
{
    for (size_t count = 2; count <= MOST; count++) {
        struct world w;
        start_all(&w, count);
        kill_controller(&w, 0);
        int64_t took = run_until_leads(&w, 1, 10000);
        assert_true(took <= TIMEOUT_MS + 50);
        assert_true(took > TIMEOUT_MS / 2);
        pass_time(&w, 10 * TIMEOUT_MS);
        assert_int_equal(w.taken, 2); /* a second backup follows the first */
        if (count == 3) {
            kill_controller(&w, 1);
            assert_true(run_until_leads(&w, 2, 10000) <= TIMEOUT_MS + 50);
        }
        tear_down_world(&w);
    }
}

static void returned_primary_leads_again(void **state)
{
    struct world w;

    start_all(&w, 3);
    kill_controller(&w, 0);
    run_until_leads(&w, 1, 10000);
    pass_time(&w, TIMEOUT_MS);
    start_controller(&w, 0, true);
    assert_true(run_until_leads(&w, 0, 10000) <= YIELD_MS + 300);
    assert_int_equal(w.asked, 1);
    pass_time(&w, 10 * TIMEOUT_MS);
    assert_int_equal(w.taken, 3);
    /* A controller that lost or returned the lead does not claim it back. */
    kill_controller(&w, 0);
    run_until_leads(&w, 1, 10000);
    start_controller(&w, 0, false);
    pass_time(&w, 10 * TIMEOUT_MS);
    assert_int_equal(w.ctl[1].state, LEADS);
    kill_controller(&w, 1);
    assert_true(run_until_leads(&w, 0, 10000) <= TIMEOUT_MS + 50);
    tear_down_world(&w);
}

/* A leader that hangs still has the lock: others only retry. */
static void backup_waits_while_a_hanging_primary_holds_the_lock(void **state)
{
    struct world w;

    start_all(&w, 2);
    pass_time(&w, TIMEOUT_MS);
    assert_int_equal(standby_heard_leader(w.ctl[1].logic, w.now_ms), 0);
    hang_controller(&w, 0);
    pass_time(&w, 10 * TIMEOUT_MS);
    assert_int_equal(standby_heard_leader(w.ctl[1].logic, w.now_ms), -1);
    assert_int_equal(w.taken, 1);
    assert_in_range(w.refused, 10, 40);
    w.ctl[0].state = LEADS; /* it continues */
    pass_time(&w, TIMEOUT_MS);
    unsigned before = w.refused;
    pass_time(&w, 10 * TIMEOUT_MS);
    assert_int_equal(w.refused, before);

    w.no_lock = true;
    hang_controller(&w, 0);
    assert_true(run_until_leads(&w, 1, 10000) <= TIMEOUT_MS + 50);
    w.ctl[0].state = STANDS_BY; /* its reaction when it finds out */
    pass_time(&w, 10 * TIMEOUT_MS);
    assert_int_equal(w.taken, 2);
    tear_down_world(&w);
}

static void backup_takes_over_by_order(void **state)
{
    struct world w;

    start_all(&w, 3);
    standby_order(w.ctl[2].logic, true);
    assert_true(run_until_leads(&w, 2, 10000) <= YIELD_MS + 300);
    pass_time(&w, 10 * TIMEOUT_MS);
    assert_int_equal(w.taken, 2);
    /* A leader that does not answer is not awaited. */
    kill_controller(&w, 2);
    standby_order(w.ctl[1].logic, true);
    assert_true(run_until_leads(&w, 1, 10000) <= 500);
    tear_down_world(&w);
    set_up_world(&w, 2);
    w.timeout_ms = 20000;
    w.no_lock = true;
    start_controller(&w, 0, true);
    start_controller(&w, 1, false);
    run_until_leads(&w, 0, 1000);
    pass_time(&w, 5000);
    hang_controller(&w, 0);
    standby_order(w.ctl[1].logic, true);
    assert_true(run_until_leads(&w, 1, 30000) <= 3200); /* one ping interval and its limit */
    /* The last known state, that no controller leads, may be outdated. */
    tear_down_world(&w);
    set_up_world(&w, 2);
    start_controller(&w, 1, false);
    pass_time(&w, 50);
    start_controller(&w, 0, true);
    assert_true(run_until_leads(&w, 0, 100) < 100);
    standby_order(w.ctl[1].logic, true);
    assert_true(run_until_leads(&w, 1, 10000) <= YIELD_MS + 300);
    assert_int_equal(w.refused, 0);
    /* The order is withdrawn. */
    tear_down_world(&w);
    start_all(&w, 2);
    hang_controller(&w, 0);
    standby_order(w.ctl[1].logic, true);
    pass_time(&w, TIMEOUT_MS);
    assert_true(w.refused > 0);
    standby_order(w.ctl[1].logic, false);
    w.ctl[0].state = LEADS;
    pass_time(&w, 10 * TIMEOUT_MS);
    assert_int_equal(w.ctl[0].state, LEADS);
    assert_int_equal(w.ctl[0].yield_at_ms, -1);
    tear_down_world(&w);
}

/* An order takes the lead from a leader that misses a ping. A leader that has agreed to yield gets
 * the time for an orderly end, and no more. */
static void a_leader_that_yields_may_miss_a_ping(void **state)
{
    for (int accepts = 0; accepts < 2; accepts++) {
        struct standby_options o = {.me = 0, .count = 2, .timeout_ms = 300000};
        struct standby *s = standby_new(&o, 0);
        size_t peer = 0;
        int64_t again_ms, now_ms = 1000;
        standby_order(s, true);
        assert_true(standby_ping(s, 1, now_ms));
        standby_heard(s, 1, true, now_ms);
        assert_int_equal(standby_next(s, now_ms, &peer, &again_ms), STANDBY_ASK);
        assert_int_equal(peer, 1);
        if (accepts)
            standby_accepted(s, 1, now_ms);
        standby_silent(s, 1, false, now_ms);
        enum standby_will will = STANDBY_ASK;
        for (; will != STANDBY_TAKE && now_ms < 60000; now_ms += 100)
            will = standby_next(s, now_ms, &peer, &again_ms);
        assert_int_equal(now_ms, 1000 + (accepts ? 12000 : 0) + 100);
        /* It has closed its port: at once. */
        standby_accepted(s, 1, now_ms);
        standby_silent(s, 1, true, now_ms);
        now_ms += 500;
        assert_int_equal(standby_next(s, now_ms, &peer, &again_ms), STANDBY_TAKE);
        standby_free(s);
    }
}

/* Random deaths, hangs and restarts, with and without the lock: check_one() at every tick, and
 * after some quiet time one controller leads. */
static void one_controller_leads_after_random_faults(void **state)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct world w;
        set_up_world(&w, 2 + seed % 2);
        w.no_lock = seed % 3 == 0;
        srand(seed);
        for (int event = 0; event < 60; event++) {
            size_t i = (size_t)rand() % w.count, k = (size_t)rand() % w.count;
            struct ctl *c = &w.ctl[i];
            switch (rand() % 6) {
            case 0:
                kill_controller(&w, i);
                break;
            case 1:
                if (is_there(&w, i))
                    hang_controller(&w, i);
                break;
            case 2:
                w.cut[i][k] = w.cut[k][i] = i != k && rand() % 3 == 0;
                break;
            case 3:
                if (c->state == STANDS_BY)
                    standby_order(c->logic, rand() % 2);
                break;
            default:
                if (c->state == DEAD)
                    start_controller(&w, i, i == 0);
                else if (c->state == HANGS)
                    c->state = w.lock == (long)i ? LEADS : STANDS_BY;
            }
            pass_time(&w, rand() % 4000);
        }
        memset(w.cut, 0, sizeof(w.cut));
        for (size_t i = 0; i < w.count; i++) {
            if (w.ctl[i].state == HANGS)
                w.ctl[i].state = w.lock == (long)i ? LEADS : STANDS_BY;
            if (w.ctl[i].state == DEAD)
                start_controller(&w, i, i == 0);
        }
        pass_time(&w, 3 * TIMEOUT_MS);
        assert_true(w.lock >= 0);
        assert_int_equal(w.ctl[w.lock].state, LEADS);
        tear_down_world(&w);
    }
}

/* A backup that was suspended has heard no one for long, for which only the backup is
 * responsible. */
static void hanging_backup_takes_no_lead_from_the_primary(void **state)
{
    for (int64_t ms = TIMEOUT_MS / 2; ms <= 20 * TIMEOUT_MS; ms += TIMEOUT_MS / 3) {
        struct world w;
        start_all(&w, 2);
        w.no_lock = true;
        w.now_ms += ms % TICK_MS;
        hang_controller(&w, 1);
        pass_time(&w, ms);
        w.ctl[1].state = w.ctl[1].was;
        pass_time(&w, 10 * TIMEOUT_MS);
        assert_int_equal(w.taken, 1);
        assert_int_equal(w.ctl[0].state, LEADS);
        hang_controller(&w, 1); /* and if the primary has died meanwhile, it takes the lead */
        pass_time(&w, ms);
        kill_controller(&w, 0);
        w.ctl[1].state = w.ctl[1].was;
        assert_true(run_until_leads(&w, 1, 10000) <= 2 * TIMEOUT_MS);
        tear_down_world(&w);
    }
}

enum signs { UNREAD, CHANGES, STAYS };

/* Returns after how many ms the lead is taken, at most 20 timeouts; the other controller never
 * answers. */
static int64_t run_until_taken(struct standby *s, int64_t from_ms, enum signs signs)
{
    for (int64_t ms = 0; ms <= 20 * TIMEOUT_MS; ms += 100) {
        size_t peer = 0;
        int64_t again_ms;
        if (standby_ping(s, 1, from_ms + ms))
            standby_silent(s, 1, false, from_ms + ms);
        if (signs != UNREAD && ms % 400 == 0)
            standby_looked(s, signs == CHANGES, from_ms + ms);
        if (standby_next(s, from_ms + ms, &peer, &again_ms) == STANDBY_TAKE)
            return ms;
    }
    return INT64_MAX;
}

/* It reaches the store but not the controller that deposed it. */
static void deposed_controller_leaves_the_lead_to_a_working_one(void **state)
{
    struct standby_options o = {.count = 2, .timeout_ms = TIMEOUT_MS, .deposed = true};
    struct standby *s = standby_new(&o, 1000);
    assert_true(standby_wants_signs(s));
    assert_true(run_until_taken(s, 1000, CHANGES) == INT64_MAX);
    assert_true(run_until_taken(s, 100000, UNREAD) == INT64_MAX); /* nothing is known */
    int64_t after_ms = run_until_taken(s, 200000, STAYS);
    assert_true(after_ms >= TIMEOUT_MS && after_ms <= TIMEOUT_MS + 500);
    standby_free(s);

    /* When it has heard the new leader it is a backup like any other. */
    s = standby_new(&o, 1000);
    standby_heard(s, 1, true, 2000);
    assert_false(standby_wants_signs(s));
    after_ms = run_until_taken(s, 2000, CHANGES);
    assert_true(after_ms >= TIMEOUT_MS && after_ms <= TIMEOUT_MS + 500);
    standby_free(s);

    /* An order takes the lead whatever the store shows. */
    s = standby_new(&o, 1000);
    standby_order(s, true);
    assert_true(run_until_taken(s, 1000, CHANGES) <= 500);
    standby_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primary_leads_without_its_backup),
        cmocka_unit_test(backup_leads_after_the_primary_dies),
        cmocka_unit_test(returned_primary_leads_again),
        cmocka_unit_test(backup_waits_while_a_hanging_primary_holds_the_lock),
        cmocka_unit_test(backup_takes_over_by_order),
        cmocka_unit_test(a_leader_that_yields_may_miss_a_ping),
        cmocka_unit_test(one_controller_leads_after_random_faults),
        cmocka_unit_test(hanging_backup_takes_no_lead_from_the_primary),
        cmocka_unit_test(deposed_controller_leaves_the_lead_to_a_working_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
