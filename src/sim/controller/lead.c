/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several controllers on one store with the fence of PostgreSQL: a row names the last leader, and
 * each commit checks that row. control/lead/standby.c decides when a controller takes the lead, and
 * control/lead/outbox.c which messages may leave it. This file has the pings, takeovers and losses
 * as in slurmctld/lead/backup.c, lead.c and summon.c. A paused controller finds all messages of
 * that time in its sockets when it continues.
 */
#include <string.h>

#include "base/mem.h"
#include "sim/command/command.h"
#include "sim/controller/controller.h"
#include "sim/node/node.h"

#define WATCH_MS 1000
#define STUCK_MS 1000
#define SUMMON_ROUNDS 6
#define SUMMON_MS 10000
#define STEADY_MS 5000 /* margin beyond SlurmctldTimeout, including a reply's delay */

enum { PONG_WAITS, PONG_LEADS, PONG_GONE }; /* 'code' of SIM_PONG */

static bool is_stuck(const struct sim *s)
{
    return s->c->committing && s->now_ms - s->c->commit_from_ms > STUCK_MS;
}

/* --- a process ----------------------------------------------------------------------------------
 */

static void arm_standby(struct sim *s, int64_t after_ms)
{
    sim_push(
        s, after_ms,
        (struct sim_event){.kind = SIM_STANDBY, .generation = s->c->life, .value = ++s->c->ticks});
}

void sim_lead_begin(struct sim *s)
{
    struct sim_ctl *c = s->c;
    struct standby_options o = {.me = c->index,
                                .count = s->count,
                                .timeout_ms = s->timeout_ms,
                                .claims = c->index == 0 && !c->waits,
                                .deposed = c->waits};
    if (c->up)
        return;
    c->up = true;
    c->life = ++s->lives;
    c->standby = standby_new(&o, s->now_ms);
    memset(c->ping, 0, sizeof c->ping);
    sim_say(s, "controller %u begins in standby%s", c->index + 1, o.claims ? ", and claims" : "");
    arm_standby(s, 0);
}

void sim_lead_done(struct sim *s)
{
    for (unsigned i = 0; i < s->count; i++)
        standby_free(s->ctls[i].standby);
}

/* --- pings --------------------------------------------------------------------------------------
 */

static void send_ping(struct sim *s, unsigned peer)
{
    struct sim_ctl *c = s->c;
    struct sim_event e = {.kind = SIM_PING, .ctl = peer + 1, .index = c->index};
    e.value = c->ping[peer] = ++c->pings;
    e.generation = c->life;
    if (!sim_lead_are_apart(s, c, &s->ctls[peer]))
        sim_push(s, rng_between(&s->rng, 0, 2), e);
    e.kind = SIM_PING_OVER;
    e.ctl = c->index + 1;
    e.index = peer;
    sim_push(s, standby_ping_limit(c->standby), e);
}

/* A leader replies after a commit has confirmed its lead, or at once while its commit is stuck. */
void sim_lead_pinged(struct sim *s, const struct sim_event *e)
{
    struct sim_ctl *c = s->c;
    struct sim_event pong = {.kind = SIM_PONG, .ctl = e->index + 1, .index = c->index};
    pong.value = e->value;
    pong.generation = e->generation;
    pong.session = (uint64_t)s->now_ms;
    pong.code = !c->up ? PONG_GONE : c->control ? PONG_LEADS : PONG_WAITS;
    if (c->control && !is_stuck(s)) {
        sim_store_say(s, pong);
        sim_ctl_turn(s);
    } else if (!sim_lead_are_apart(s, c, &s->ctls[e->index])) {
        sim_push(s, rng_between(&s->rng, 0, 2), pong);
    }
}

static void run_standby(struct sim *s);

void sim_lead_ponged(struct sim *s, const struct sim_event *e)
{
    struct sim_ctl *c = s->c;
    if (!c->standby || e->generation != c->life || c->ping[e->index] != e->value)
        return;
    c->ping[e->index] = 0;
    if (e->kind == SIM_PONG && e->code != PONG_GONE)
        standby_heard(c->standby, e->index, e->code == PONG_LEADS, s->now_ms);
    else
        standby_silent(c->standby, e->index, e->kind == SIM_PONG, s->now_ms);
    run_standby(s);
}

/* --- taking the lead ----------------------------------------------------------------------------
 */

static int64_t max_time(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Breaks the promise if the lead is taken from a leader that responds and was not asked to yield.
 */
static void check_take(struct sim *s)
{
    const struct sim_ctl *c = s->c, *of = s->lead;
    if (of == c || !of->control || of->stopping)
        return;
    int64_t steady = max_time(max_time(of->trouble_until_ms, c->cut_until_ms),
                              max_time(of->up_since_ms, s->slow_disk_until_ms));
    if (s->now_ms - steady > s->timeout_ms + STEADY_MS)
        sim_break(s, "the lead was taken from one who leads", "controller %u from %u", c->index + 1,
                  of->index + 1);
}

static void summon_nodes(struct sim *s, unsigned rounds)
{
    for (unsigned i = 0; i < s->nodes.len; i++) {
        struct sim_node *n = &s->nodes.data[i];
        if (n->configured && !n->at[s->c->index].session &&
            !sim_lead_is_cut(s, s->c, SIM_CUT_NODES))
            sim_push(s, rng_between(&n->rng, 0, 50),
                     (struct sim_event){.kind = SIM_SUMMON,
                                        .index = i,
                                        .code = (int)s->c->index,
                                        .value = control_epoch(s->c->control)});
    }
    if (rounds > 1)
        sim_push(
            s, SUMMON_MS,
            (struct sim_event){.kind = SIM_SUMMONS, .generation = s->c->life, .value = rounds - 1});
}

void sim_lead_summon(struct sim *s, const struct sim_event *e)
{
    if (s->c->control && e->generation == s->c->life)
        summon_nodes(s, (unsigned)e->value);
}

/* All other controllers have lost the lead from now on, whether they know it or not. */
static void depose_others(struct sim *s)
{
    for (unsigned i = 0; i < s->count; i++)
        if (&s->ctls[i] != s->c && s->ctls[i].control && s->ctls[i].deposed_ms == INT64_MAX)
            s->ctls[i].deposed_ms = s->now_ms;
}

/* Nor may a controller take the lead back from an active leader, even if the two cannot reach each
 * other. */
static void check_take_back(struct sim *s)
{
    const struct sim_ctl *c = s->c;
    if (standby_wants_signs(c->standby) && s->lead != c &&
        s->now_ms - s->committed_ms < s->timeout_ms / 2)
        sim_break(s, "the lead was taken back from one who is at work", "controller %u from %u",
                  c->index + 1, s->lead->index + 1);
}

static bool take_lead(struct sim *s)
{
    struct sim_ctl *c = s->c;
    struct err err = {0};
    bool filled = sim_store_find(s, RECORD_META, 0, NULL) != NULL;
    if (sim_lead_is_cut(s, c, SIM_CUT_STORE) || (!filled && c->index != 0)) {
        standby_could_not_take(c->standby, s->now_ms);
        return false;
    }
    check_take(s);
    check_take_back(s);
    depose_others(s);
    c->lead = ++s->taken;
    c->deposed_ms = INT64_MAX;
    s->lead = c;
    s->result->takes++;
    standby_free(take_ptr(c->standby));
    sim_say(s, "controller %u takes the lead", c->index + 1);
    if (sim_ctl_start(s, &err) != 0)
        sim_break(s, "a configuration that is not read", "%s", err.text);
    if (!c->control)
        return true;
    sim_push(s, WATCH_MS, (struct sim_event){.kind = SIM_PROVE, .generation = c->life});
    summon_nodes(s, SUMMON_ROUNDS);
    return true;
}

/* Checks the lead from time to time, also without requests. */
void sim_lead_prove(struct sim *s, const struct sim_event *e)
{
    uint64_t life = s->c->life;
    if (!s->c->control || e->generation != life)
        return;
    if (!is_stuck(s)) {
        outbox_check(s->c->outbox);
        sim_ctl_commit(s);
    }
    if (s->c->life == life)
        sim_push(s, WATCH_MS, (struct sim_event){.kind = SIM_PROVE, .generation = life});
}

static void run_standby(struct sim *s)
{
    struct sim_ctl *c = s->c;
    int64_t again_ms;
    size_t peer = 0;
    for (unsigned i = 0; i < s->count; i++)
        if (standby_ping(c->standby, i, s->now_ms))
            send_ping(s, i);
    if (standby_wants_signs(c->standby) && !sim_lead_is_cut(s, c, SIM_CUT_STORE)) {
        standby_looked(c->standby, c->sign != s->commits, s->now_ms);
        c->sign = s->commits;
    }
    enum standby_will will = standby_next(c->standby, s->now_ms, &peer, &again_ms);
    if (will == STANDBY_ASK && !sim_lead_are_apart(s, c, &s->ctls[peer])) {
        sim_push(s, rng_between(&s->rng, 0, 2),
                 (struct sim_event){.kind = SIM_YIELD, .ctl = (unsigned)peer + 1});
        if (s->ctls[peer].control && !sim_lead_is_paused(s, &s->ctls[peer]))
            standby_accepted(c->standby, peer, s->now_ms);
    }
    if (will == STANDBY_TAKE && take_lead(s))
        return;
    arm_standby(s, again_ms);
}

void sim_lead_tick(struct sim *s, const struct sim_event *e)
{
    if (s->c->standby && e->generation == s->c->life && e->value == s->c->ticks)
        run_standby(s);
}

void sim_lead_yield(struct sim *s)
{
    if (!s->c->control || s->c->stopping)
        return;
    sim_say(s, "controller %u yields", s->c->index + 1);
    s->c->stopping = SIM_STOP_YIELD;
    control_stop(s->c->control, false);
    sim_ctl_turn(s);
}

/* --- requests -----------------------------------------------------------------------------------
 */

/* Passes the call on to the next controller, unless its command has tried for too long. Takes
 * ownership of the body. */
static void pass_on_call(struct sim *s, struct sim_event *e, int64_t after_ms)
{
    struct sim_call *call = &s->calls.data[e->value - 1];
    struct sim_event next = *e;
    if (!call->open)
        return;
    if (++call->tries % s->count == 0)
        after_ms += rng_between(&s->rng, 50, 200);
    if (s->now_ms - call->asked_ms > 10000) {
        sim_call_give_up(s, e->value);
        return;
    }
    next.ctl = (s->c->index + 1) % s->count + 1;
    call->ctl = next.ctl - 1;
    e->body = STR_INIT;
    sim_push(s, after_ms, next);
}

bool sim_lead_serves(struct sim *s, struct sim_event *e)
{
    if (sim_lead_is_cut(s, s->c, SIM_CUT_COMMANDS))
        pass_on_call(s, e, rng_between(&s->rng, 300, 3000));
    else if (!s->c->control || s->c->stopping)
        pass_on_call(s, e, rng_between(&s->rng, 1, 20));
    else if (is_stuck(s))
        sim_call_give_up(s, e->value); /* the command is told that nothing can be saved now */
    else
        return true;
    return false;
}

/* The command receives no reply in time and gives up; another controller may lead. */
void sim_lead_waits(struct sim *s, uint64_t number)
{
    struct sim_call *call = &s->calls.data[number - 1];
    if (!call->open || call->waits)
        return;
    call->waits = true;
    sim_push(s, rng_between(&s->rng, 300, 10000),
             (struct sim_event){.kind = SIM_GIVE_UP, .value = number});
}

void sim_lead_give_up(struct sim *s, const struct sim_event *e)
{
    struct sim_call *call = &s->calls.data[e->value - 1];
    const struct sim_ctl *c = &s->ctls[call->ctl];
    if (!call->open)
        return;
    if (sim_lead_is_paused(s, c) || sim_lead_is_cut(s, c, SIM_CUT_COMMANDS) || c != s->lead)
        sim_call_give_up(s, e->value);
}

/* --- faults -------------------------------------------------------------------------------------
 */

static void strike_controller(struct sim *s, const struct sim_item *f)
{
    struct sim_ctl *c = s->c;
    int64_t until_ms = s->now_ms + f->for_ms;
    if (f->what == SIM_FAULT_DOWN) {
        if (c->up)
            sim_ctl_kill(s, f->for_ms > 10 ? f->for_ms : 10);
        return;
    }
    if (f->what == SIM_FAULT_ORDER) {
        if (c->standby && !sim_lead_is_paused(s, c)) {
            standby_order(c->standby, true);
            arm_standby(s, 0);
        }
        return;
    }
    c->trouble_until_ms = max_time(c->trouble_until_ms, until_ms);
    if (f->what == SIM_FAULT_PAUSE) {
        c->paused_until_ms = max_time(c->paused_until_ms, until_ms);
        c->up_since_ms = c->paused_until_ms; /* it has to catch up from then on */
    } else {
        c->cut = (unsigned)f->keep;
        c->cut_until_ms = until_ms;
    }
    for (unsigned i = 0; i < s->nodes.len && sim_lead_is_cut(s, c, SIM_CUT_NODES); i++)
        if (s->nodes.data[i].session && s->nodes.data[i].ctl == c->index)
            sim_node_break(s, i, rng_between(&s->rng, 0, 10000), rng_between(&s->rng, 0, 10000));
    for (size_t i = 0; i < s->calls.len; i++)
        if (s->calls.data[i].open && s->calls.data[i].ctl == c->index && s->calls.data[i].arrived)
            sim_lead_waits(s, i + 1);
}

/* 'value' is the number of the controller; 0: the leader. */
void sim_lead_fault(struct sim *s, const struct sim_item *f)
{
    if (s->count == 1 || f->value < 0 || f->value > (int64_t)s->count)
        return;
    s->c = f->value ? &s->ctls[f->value - 1] : s->lead;
    strike_controller(s, f);
    s->c = s->lead;
}
