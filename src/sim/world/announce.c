/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Announced shutdowns: asked for, called off, and kept. What was answered last is so until somebody
 * asks for something else, whatever becomes of the controller: nothing starts, what runs ends at
 * that time and not before, then all daemons stop, and after that it is over.
 */
#include "sim/world/parts.h"

#define OFF_MS 20000 /* at the most, until somebody starts all daemons again */

int64_t sim_announce_off_ms(struct rng *rng)
{
    return rng_between(rng, 100, OFF_MS);
}

static void resolve_one(struct sim *s)
{
    s->announced.resolved++;
}

void sim_announce_ask(struct sim *s, const struct sim_item *a, unsigned act)
{
    struct sim_announced *n = &s->announced;
    n->is = SIM_ANNOUNCED_UNKNOWN;
    n->last = n->asked == n->resolved ? act + 1 : 0;
    n->asked += a->again_ms > 0 ? 2 : 1;
}

void sim_announce_send(struct sim *s, unsigned index, const struct sim_item *a)
{
    Pb__ShutdownRequest r = PB__SHUTDOWN_REQUEST__INIT;
    r.has_announce_sec = a->what == SIM_DO_ANNOUNCE;
    r.announce_sec = a->value;
    r.has_retract = r.retract = a->what == SIM_DO_CALL_OFF;
    sim_call(s, SIM_OF_ACT, SIM_ANNOUNCE, index, &s->rng, &r.base);
}

/* At the controller, as slurmctld/dispatch.c does it. */
void sim_announce_take(struct sim *s, uint64_t call, const Pb__ShutdownRequest *r)
{
    static const Pb__Empty done = PB__EMPTY__INIT;
    if (r->retract && !control_is_announced(s->c->control)) {
        s->env.reply_error(s, call, -ERR_RANGE, "no shutdown is announced");
        return;
    }
    control_announce(s->c->control, r->retract ? -1 : r->announce_sec);
    if (s->c == s->lead) {
        s->announced.taken_ms = s->now_ms;
        s->announced.timed = true;
    }
    s->env.reply(s, call, &done.base);
}

void sim_announce_reply(struct sim *s, const struct sim_item *a, unsigned act, bool done)
{
    struct sim_announced *n = &s->announced;
    resolve_one(s);
    if (n->last != act + 1 || n->resolved != n->asked) /* its repeat may still be under way */
        return;
    n->is = done && a->what == SIM_DO_ANNOUNCE ? SIM_ANNOUNCED : SIM_NOT_ANNOUNCED;
    n->due_ms = n->taken_ms + a->value * 1000;
    if (a->what == SIM_DO_ANNOUNCE && !done)
        sim_break(s, "an announcement was refused", "act %u", act);
}

/* Its command does not know what came of it. */
void sim_announce_lost(struct sim *s)
{
    resolve_one(s);
}

/* --- promises -----------------------------------------------------------------------------------
 */

/* Across a boot there is only the wall clock, and what it said when the record was made. */
static bool goes_on(const struct sim *s)
{
    const struct sim_record *r = sim_store_find(s, RECORD_SHUTDOWN, 0, NULL);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__Announced *m =
        r ? arena_unpack(&arena, &pb__announced__descriptor, r->data, r->len) : NULL;
    if (!m || m->boot == s->env.boot(s->env.ctx))
        return true;
    int64_t apart_ms = m->at_sec * 1000 - (sim_wall_ms(s) + s->announced.due_ms - s->now_ms);
    return apart_ms > -SIM_ANNOUNCE_EARLY_MS && apart_ms < SIM_ANNOUNCE_EARLY_MS;
}

/* The nodes were told, and that is on disk. */
static void note_over(struct sim *s, const struct sim_ctl *c)
{
    if (c->stopping == SIM_STOP_SELF && s->announced.is == SIM_ANNOUNCED &&
        !sim_store_find(s, RECORD_SHUTDOWN, 0, NULL))
        s->announced.is = SIM_NOT_ANNOUNCED;
}

void sim_announce_check_start(struct sim *s)
{
    s->announced.timed = s->announced.timed && goes_on(s);
    bool is = control_is_announced(s->c->control);
    for (unsigned i = 0; i < s->count; i++) /* one that hangs may have got so far */
        note_over(s, &s->ctls[i]);
    if (s->announced.is == SIM_ANNOUNCED && !is)
        sim_break(s, "an announced shutdown is forgotten", "after a restart");
    if (s->announced.is == SIM_NOT_ANNOUNCED && is)
        sim_break(s, "a shutdown is announced that is not", "after a restart");
}

/* --- it takes place -----------------------------------------------------------------------------
 */

void sim_announce_turn(struct sim *s)
{
    if (s->c->stopping || !control_may_shut_down(s->c->control))
        return;
    sim_say(s, "the announced shutdown begins");
    s->c->stopping = SIM_STOP_NODES;
    sim_lead_stop_others(s, rng_between(&s->rng, 100, OFF_MS));
    control_shutdown_nodes(s->c->control);
    control_stop(s->c->control, false);
}

/* Everything has left: first the orders of the nodes, then that this was it is on disk. */
void sim_announce_left(struct sim *s)
{
    if (s->c->stopping == SIM_STOP_YIELD) {
        sim_lead_lose(s);
        return;
    }
    if (s->c->stopping == SIM_STOP_NODES) {
        s->c->stopping = SIM_STOP_SELF;
        control_stop(s->c->control, true);
        sim_store_commit(s);
        return;
    }
    sim_say(s, "the controller has stopped");
    int64_t off_ms = rng_between(&s->rng, 100, OFF_MS);
    if (s->count > 1) {
        sim_lead_down(s, false, off_ms);
        return;
    }
    sim_ctl_end(s);
    sim_push(s, off_ms, (struct sim_event){.kind = SIM_RESTART});
}

void sim_announce_end(struct sim *s)
{
    note_over(s, s->c);
    s->c->stopping = SIM_STOP_NOT;
}
