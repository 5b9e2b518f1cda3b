/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process around control/: its turns and commits, announced shutdowns, and its end in a crash,
 * by an announced shutdown, or because another controller leads. A crash loses everything that is
 * not on disk, and every message that waited for it.
 *
 * The last confirmed change of an announcement holds until somebody requests another one, whatever
 * happens to the controller: nothing starts, running jobs end at the announced time and not
 * earlier, then all daemons stop, and then the announcement is over.
 */
#include "base/mem.h"
#include "sim/command/command.h"
#include "sim/controller/controller.h"
#include "sim/rule/script.h"

/* The controller's part, as in slurmctld/dispatch.c. */
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

/* Whether the announced time is still valid. After a boot only the wall clock is left, and it must
 * agree with the one that made the record. */
static bool is_announcement_valid(const struct sim *s)
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

/* The nodes have been told to stop, and that is on disk. */
static void note_over(struct sim *s, const struct sim_ctl *c)
{
    if (c->stopping == SIM_STOP_SELF && s->announced.is == SIM_ANNOUNCED &&
        !sim_store_find(s, RECORD_SHUTDOWN, 0, NULL))
        s->announced.is = SIM_NOT_ANNOUNCED;
}

void sim_announce_check_start(struct sim *s)
{
    s->announced.timed = s->announced.timed && is_announcement_valid(s);
    bool is = control_is_announced(s->c->control);
    for (unsigned i = 0; i < s->count; i++) /* a controller that hangs may have got this far */
        note_over(s, &s->ctls[i]);
    if (s->announced.is == SIM_ANNOUNCED && !is)
        sim_break(s, "an announced shutdown is forgotten", "after a restart");
    if (s->announced.is == SIM_NOT_ANNOUNCED && is)
        sim_break(s, "a shutdown is announced that is not", "after a restart");
}

static void end_announcement(struct sim *s)
{
    note_over(s, s->c);
    s->c->stopping = SIM_STOP_NOT;
}

#define AGAIN_MS 50 /* delay before it starts again in standby */

/* --- the end of the process ---------------------------------------------------------------------
 */

/* The helper that runs the scripts ends with its controller. */
static void end_scripts(struct sim *s, uint64_t life)
{
    for (struct sim_hook *h = s->hooks; h; h = h->hh.next)
        h->running = h->life == life ? 0 : h->running;
    for (struct sim_burst *b = s->bursts; b; b = b->hh.next)
        b->call = b->life == life ? 0 : b->call;
}

static void end_controller(struct sim *s)
{
    uint64_t life = s->c->life;
    end_announcement(s);
    sim_store_drop(s, false);
    control_free(take_ptr(s->c->control));
    s->c->life = ++s->lives;
    /* Messages under way may still arrive; the nodes notice a little later. */
    for (unsigned i = 0; i < s->nodes.len; i++) {
        struct sim_node *n = &s->nodes.data[i];
        n->at[s->c->index].session = n->at[s->c->index].registrant = 0;
        if (n->session && n->ctl == s->c->index)
            sim_push(s, rng_between(&n->rng, 0, 9),
                     (struct sim_event){.kind = SIM_HANGUP, .index = i, .generation = n->session});
    }
    sim_calls_lost(s, life);
    end_scripts(s, life);
}

static void crash_controller(struct sim *s)
{
    sim_say(s, "the controller is killed");
    s->result->crashes++;
    end_controller(s);
}

/* Ends the process; it returns after 'for_ms'. */
static void stop_process(struct sim *s, bool waits, int64_t for_ms)
{
    struct sim_ctl *c = s->c;
    if (c->control)
        end_controller(s);
    standby_free(take_ptr(c->standby));
    c->up = false;
    c->waits = waits;
    c->life = ++s->lives;
    sim_push(s, for_ms, (struct sim_event){.kind = SIM_RESTART});
}

/* Another controller has taken the lead, or was given it. */
static void lose_lead(struct sim *s)
{
    sim_say(s, "controller %u goes back to standby", s->c->index + 1);
    stop_process(s, true, AGAIN_MS);
}

void sim_ctl_kill(struct sim *s, int64_t for_ms)
{
    sim_say(s, "controller %u is killed", s->c->index + 1);
    s->result->crashes++;
    s->c->paused_until_ms = s->now_ms;
    stop_process(s, false, for_ms);
}

/* Executes the pending crash if this is its point. */
static bool reach_point(struct sim *s, enum sim_point point)
{
    if (!s->crash || s->crash_point != (int64_t)point || !s->c->control)
        return false;
    if ((point == SIM_POINT_LOST || point == SIM_POINT_KEPT) && !s->c->committing)
        return false;
    const struct sim_item *crash = s->crash;
    sim_store_drop(s, point == SIM_POINT_KEPT);
    if (s->count > 1) {
        sim_ctl_kill(s, crash->for_ms > 10 ? crash->for_ms : 10);
        s->crash = NULL;
        return true;
    }
    crash_controller(s);
    if (crash->boot && !s->crash_again) {
        s->c->boot++;
        s->c->mono_offset_ms = s->now_ms - 1000;
    }
    /* A second kill happens during the recovery from the first. */
    s->crash_again = !s->crash_again && crash->then >= 0;
    s->crash_point = crash->then;
    if (!s->crash_again)
        s->crash = NULL;
    sim_push(s, crash->for_ms > 10 ? crash->for_ms : 10, (struct sim_event){.kind = SIM_RESTART});
    return true;
}

/* --- turns and commits --------------------------------------------------------------------------
 */

/* All messages have left. First the nodes get their orders; then a commit records that the shutdown
 * is done. */
static void leave_process(struct sim *s)
{
    if (s->c->stopping == SIM_STOP_YIELD) {
        lose_lead(s);
        return;
    }
    if (s->c->stopping == SIM_STOP_NODES) {
        s->c->stopping = SIM_STOP_SELF;
        control_stop(s->c->control, true);
        sim_ctl_commit(s);
        return;
    }
    sim_say(s, "the controller has stopped");
    int64_t off_ms = sim_off_ms(&s->rng);
    if (s->count > 1) {
        stop_process(s, false, off_ms);
        return;
    }
    end_controller(s);
    sim_push(s, off_ms, (struct sim_event){.kind = SIM_RESTART});
}

static void end_sending(struct sim *s)
{
    if (s->c->killed)
        reach_point(s, SIM_POINT_SENDING);
    else if (s->c->stopping && outbox_is_idle(s->c->outbox))
        leave_process(s);
}

void sim_ctl_commit(struct sim *s)
{
    sim_store_commit(s);
    end_sending(s);
}

void sim_ctl_committed(struct sim *s)
{
    if (reach_point(s, SIM_POINT_LOST) || reach_point(s, SIM_POINT_KEPT))
        return;
    if (s->c->lost) {
        lose_lead(s);
        return;
    }
    sim_store_release(s);
    end_sending(s);
}

/* An announced shutdown also stops the controllers that the leader can reach. */
static void stop_others(struct sim *s, int64_t for_ms)
{
    struct sim_ctl *leader = s->c;
    for (unsigned i = 0; i < s->count; i++) {
        s->c = &s->ctls[i];
        if (s->c != leader && s->c->up && !s->c->control && !sim_lead_is_paused(s, s->c) &&
            !sim_lead_are_apart(s, leader, s->c))
            stop_process(s, false, for_ms);
    }
    s->c = leader;
}

static void begin_shutdown(struct sim *s)
{
    if (s->c->stopping || !control_may_shut_down(s->c->control))
        return;
    sim_say(s, "the announced shutdown begins");
    s->c->stopping = SIM_STOP_NODES;
    stop_others(s, sim_off_ms(&s->rng));
    control_shutdown_nodes(s->c->control);
    control_stop(s->c->control, false);
}

void sim_ctl_turn(struct sim *s)
{
    if (!s->c->control || reach_point(s, SIM_POINT_INPUT))
        return;
    control_turn(s->c->control);
    begin_shutdown(s);
    s->result->turns++;
    if (s->c == s->lead) {
        sim_watch_turn(s);
        sim_check_turn(s);
    }
    if (!reach_point(s, SIM_POINT_TURN))
        sim_ctl_commit(s);
}
