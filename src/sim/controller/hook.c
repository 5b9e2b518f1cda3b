/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The scripts of a site in virtual time: PrologSlurmctld and EpilogSlurmctld, and functions of
 * burst_buffer.lua, which a helper process runs that ends with its controller; and their promises.
 * No payload of an attempt starts before its prolog has succeeded and its buffer is ready; one
 * script and one function of a job run at a time; a script whose start is on disk runs to its end,
 * and does not run again once the end is on disk; a buffer that was set up is torn down.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/controller/controller.h"
#include "sim/rule/script.h"

#define BUSY_PER_MILLE 200
#define TEARDOWN_FAILS_PER_MILLE 100 /* of teardowns; they are retried */
#define PREFIX "slurm_bb_"

static bool is_function(const struct sim_burst *b, const char *name)
{
    return strcmp(b->function, name) == 0;
}

/* Schedules the message that reports the end of this run. */
static void end_later(struct sim *s, struct sim_burst *b, const Pb__ScriptRun *m, int64_t ms,
                      int status)
{
    struct sim_event e = {.kind = SIM_HOOK_END, .generation = s->c->life, .value = b ? b->run : 0};
    Pb__ScriptEnded ended = PB__SCRIPT_ENDED__INIT;
    bool tests = b && strstr(b->function, "test_") != NULL;
    ended.kind = m->kind;
    ended.job_id = m->job_id;
    ended.restarts = m->restarts;
    ended.wait_status = status;
    ended.text = status ? (char *)"it was told to fail" : NULL;
    if (!b)
        ended.output = (char *)"p 6 2\n"; /* slurm_bb_pools */
    else if (tests && rng_chance(&s->rng, BUSY_PER_MILLE))
        ended.output = (char *)"BUSY";
    pb_pack(&ended.base, &e.body);
    sim_push(s, ms, e);
}

static void begin_call(struct sim *s, const Pb__ScriptRun *m)
{
    if (m->kind == PB__SCRIPT_KIND__SCRIPT_BURST_ASK) {
        end_later(s, NULL, m, rng_between(&s->rng, 0, 100), 0);
        return;
    }
    struct sim_burst *b = sim_burst_find(s, m->job_id, true);
    struct sim_view v;
    if (b->call && b->life == s->c->life)
        sim_break(s, "two functions for one burst buffer run at a time", "job %u: %s and %s",
                  m->job_id, b->function, m->function);
    if (!sim_view_stored(s, m->job_id, &v))
        sim_break(s, "a function was called before its job was on disk", "job %u: %s", m->job_id,
                  m->function);
    snprintf(b->function, sizeof b->function, "%s", m->function + strlen(PREFIX));
    b->call = m->restarts;
    b->life = s->c->life;
    b->run = ++s->hook_runs;
    if (is_function(b, "setup")) {
        b->is_set_up = true;
        b->is_ready = false;
    }
    bool fails = is_function(b, "job_teardown") && rng_chance(&s->rng, TEARDOWN_FAILS_PER_MILLE);
    end_later(s, b, m, rng_between(&s->rng, 0, 3000), fails ? 1 << 8 : 0);
}

static bool receive_burst_call(struct sim *s, const Pb__ScriptRun *m, bool stop)
{
    if (m->kind != PB__SCRIPT_KIND__SCRIPT_BURST && m->kind != PB__SCRIPT_KIND__SCRIPT_BURST_ASK)
        return false;
    struct sim_burst *b = stop ? sim_burst_find(s, m->job_id, false) : NULL;
    if (!stop)
        begin_call(s, m);
    else if (b && b->call == m->restarts && b->life == s->c->life)
        end_later(s, b, m, rng_between(&s->rng, 0, 20), SIGKILL);
    return true;
}

static bool end_burst_call(struct sim *s, const struct sim_event *e)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (!e->body.len)
        return false;
    Pb__ScriptEnded *m =
        arena_unpack(&arena, &pb__script_ended__descriptor, e->body.data, e->body.len);
    struct sim_burst *b = e->value ? sim_burst_find(s, m->job_id, false) : NULL;
    if (!s->c->control || e->generation != s->c->life)
        return true;
    if (b && (b->call != m->restarts || b->run != e->value))
        return true; /* the function was told to end, and has ended */
    if (b) {
        b->call = 0;
        b->is_ready = b->is_ready || (is_function(b, "pre_run") && !m->wait_status);
        if (is_function(b, "job_teardown"))
            b->is_set_up = b->is_ready = false;
    }
    control_script_ended(s->c->control, m);
    sim_ctl_turn(s);
    return true;
}

static void free_burst_calls(struct sim *s)
{
    struct sim_burst *b, *next;
    HASH_ITER (hh, s->bursts, b, next) {
        HASH_DEL(s->bursts, b);
        free(b);
    }
}

#define SCRIPT_FAILS_PER_MILLE 60
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
              rng_chance(&s->rng, SCRIPT_FAILS_PER_MILLE) ? 1 << 8 : 0);
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
    if (receive_burst_call(s, m, e->code != 0))
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
    if (end_burst_call(s, e))
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
    free_burst_calls(s);
    HASH_ITER (hh, s->hooks, h, next) {
        HASH_DEL(s->hooks, h);
        free(h);
    }
}
