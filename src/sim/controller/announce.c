/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Announced shutdowns at a controller: accepted, and kept across restarts. The last confirmed
 * change holds until somebody requests another one, whatever happens to the controller: nothing
 * starts, running jobs end at the announced time and not earlier, then all daemons stop, and then
 * the announcement is over.
 */
#include "sim/controller/controller.h"

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

/* The nodes have been told to stop, and that is on disk. */
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
    for (unsigned i = 0; i < s->count; i++) /* a controller that hangs may have got this far */
        note_over(s, &s->ctls[i]);
    if (s->announced.is == SIM_ANNOUNCED && !is)
        sim_break(s, "an announced shutdown is forgotten", "after a restart");
    if (s->announced.is == SIM_NOT_ANNOUNCED && is)
        sim_break(s, "a shutdown is announced that is not", "after a restart");
}

void sim_announce_end(struct sim *s)
{
    note_over(s, s->c);
    s->c->stopping = SIM_STOP_NOT;
}
