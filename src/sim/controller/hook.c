/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PrologSlurmctld and EpilogSlurmctld: the helper process that runs them, which ends with its
 * controller, and their promises. No payload of an attempt starts before its prolog has succeeded;
 * one script of a job runs at a time; a script whose start is on disk runs to its end, and does not
 * run again once the end is on disk.
 */
#include <signal.h>

#include "base/mem.h"
#include "sim/controller/controller.h"
#include "sim/rule/script.h"

#define FAILS_PER_MILLE 60
#define LONG_PER_MILLE 50

static void end_after(struct sim *s, const struct sim_hook *h, int64_t ms, int status)
{
    struct sim_event e = {.kind = SIM_HOOK_END, .generation = s->c->life, .value = h->run};
    e.index = h->key.job_id;
    e.session = h->key.restarts;
    e.code = status;
    sim_push(s, ms, e);
}

static void begin_hook(struct sim *s, const Pb__ScriptRun *m)
{
    struct sim_hook *h = sim_hook_find(s, (struct sim_key){m->job_id, m->restarts}, true);
    sim_hook_check_run(s, h, (int)m->kind);
    h->begun = true;
    h->running = (int)m->kind;
    h->run = ++s->hook_runs;
    h->life = s->c->life;
    bool takes_long = rng_chance(&s->rng, LONG_PER_MILLE);
    end_after(s, h, rng_between(&s->rng, 0, takes_long ? 60000 : 500),
              rng_chance(&s->rng, FAILS_PER_MILLE) ? 1 << 8 : 0);
}

/* A message to the helper: starts a script, or ends one early ('code' is not 0). */
void sim_hook_receive(struct sim *s, struct sim_event *e)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__ScriptRun *m =
        arena_unpack(&arena, &pb__script_run__descriptor, e->body.data, e->body.len);
    if (!s->c->control || e->generation != s->c->life)
        return; /* the helper has ended with its controller */
    if (!m) {
        sim_break(s, "a message that does not decode", "to the helper");
        return;
    }
    if (s->c->deposed_ms != INT64_MAX)
        return; /* no fence prevents a deposed controller's helper from running a script */
    if (sim_burst_receive(s, m, e->code != 0))
        return;
    if (!e->code) {
        begin_hook(s, m);
        return;
    }
    const struct sim_hook *h = sim_hook_find(s, (struct sim_key){m->job_id, m->restarts}, false);
    if (h && h->running)
        end_after(s, h, rng_between(&s->rng, 0, 20), SIGTERM);
}

void sim_hook_end(struct sim *s, const struct sim_event *e)
{
    if (sim_burst_end(s, e))
        return;
    struct sim_hook *h = sim_hook_find(s, (struct sim_key){e->index, (uint32_t)e->session}, false);
    if (!h || !s->c->control || e->generation != s->c->life || !h->running || h->run != e->value)
        return;
    Pb__ScriptEnded m = PB__SCRIPT_ENDED__INIT;
    m.kind = (Pb__ScriptKind)h->running;
    m.job_id = h->key.job_id;
    m.restarts = h->key.restarts;
    m.wait_status = e->code;
    if (m.kind == PB__SCRIPT_KIND__SCRIPT_PROLOG && e->code)
        sim_end_not_launched(s, h->key);
    h->good = h->good || (m.kind == PB__SCRIPT_KIND__SCRIPT_PROLOG && e->code == 0);
    h->prolog = h->prolog || m.kind == PB__SCRIPT_KIND__SCRIPT_PROLOG;
    h->epilog = h->epilog || m.kind == PB__SCRIPT_KIND__SCRIPT_EPILOG;
    h->running = 0;
    control_script_ended(s->c->control, &m);
    sim_ctl_turn(s);
}

void sim_hook_done(struct sim *s)
{
    struct sim_hook *h, *next;
    sim_burst_done(s);
    HASH_ITER (hh, s->hooks, h, next) {
        HASH_DEL(s->hooks, h);
        free(h);
    }
}
