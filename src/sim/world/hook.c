/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * PrologSlurmctld and EpilogSlurmctld: the helper process that runs them, which ends with its
 * controller, and what is promised of them. No payload of an attempt begins before its prolog has
 * ended well; of a job one script runs at a time; what has begun on disk is run to its end, and not
 * again once that is on disk.
 */
#include <signal.h>

#include "base/mem.h"
#include "sim/world/parts.h"

#define FAILS_PER_MILLE 60
#define LONG_PER_MILLE 50

struct sim_hook { /* of an attempt */
    struct sim_key key;
    bool good;          /* its prolog has ended well */
    bool begun;         /* it was asked for when that was on disk */
    bool prolog;        /* its prolog has run to its end, well or not */
    bool epilog;        /* so has its epilog */
    int running;        /* enum _Pb__ScriptKind; 0: none */
    uint64_t run, life; /* of which start and controller */
    UT_hash_handle hh;
};

static struct sim_hook *find_hook(struct sim *s, struct sim_key key, bool make)
{
    struct sim_hook *h;
    HASH_FIND(hh, s->hooks, &key, sizeof key, h);
    if (h || !make)
        return h;
    h = mem_new(struct sim_hook);
    h->key = key;
    HASH_ADD(hh, s->hooks, key, sizeof h->key, h);
    return h;
}

static const char *name_of(int kind)
{
    return kind == PB__SCRIPT_KIND__SCRIPT_PROLOG ? "prolog" : "epilog";
}

static void check_run(struct sim *s, const struct sim_hook *h, int kind)
{
    struct sim_view v;
    bool prolog = kind == PB__SCRIPT_KIND__SCRIPT_PROLOG;
    bool stored = sim_view_stored(s, h->key.job_id, &v) && v.restarts == h->key.restarts;
    for (struct sim_hook *other = s->hooks; other; other = other->hh.next)
        if (other->running && other->life == s->c->life && other->key.job_id == h->key.job_id)
            sim_break(s, "two scripts of a job run at a time", "job %u restart %u: %s and %s",
                      h->key.job_id, h->key.restarts, name_of(other->running), name_of(kind));
    if (!stored || v.state == PB__JOB_STATE__PENDING)
        sim_break(s, "a script was run before that was on disk", "%s of job %u restart %u",
                  name_of(kind), h->key.job_id, h->key.restarts);
    else if (prolog ? h->prolog && !v.configuring : h->epilog && !v.epilog_due)
        sim_break(s, "a script was run again that is known to have run", "%s of job %u restart %u",
                  name_of(kind), h->key.job_id, h->key.restarts);
}

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
    struct sim_hook *h = find_hook(s, (struct sim_key){m->job_id, m->restarts}, true);
    check_run(s, h, (int)m->kind);
    h->begun = true;
    h->running = (int)m->kind;
    h->run = ++s->hook_runs;
    h->life = s->c->life;
    bool takes_long = rng_chance(&s->rng, LONG_PER_MILLE);
    end_after(s, h, rng_between(&s->rng, 0, takes_long ? 60000 : 500),
              rng_chance(&s->rng, FAILS_PER_MILLE) ? 1 << 8 : 0);
}

/* A message to the helper: to begin one, or (code) to end one early. */
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
        return; /* no fence keeps a script of the past from running where it was hung up */
    if (sim_burst_receive(s, m, e->code != 0))
        return;
    if (!e->code) {
        begin_hook(s, m);
        return;
    }
    const struct sim_hook *h = find_hook(s, (struct sim_key){m->job_id, m->restarts}, false);
    if (h && h->running)
        end_after(s, h, rng_between(&s->rng, 0, 20), SIGTERM);
}

void sim_hook_end(struct sim *s, const struct sim_event *e)
{
    if (sim_burst_end(s, e))
        return;
    struct sim_hook *h = find_hook(s, (struct sim_key){e->index, (uint32_t)e->session}, false);
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

void sim_hook_crash(struct sim *s, uint64_t life)
{
    for (struct sim_hook *h = s->hooks; h; h = h->hh.next)
        h->running = h->life == life ? 0 : h->running;
    sim_burst_crash(s, life);
}

/* Of a configuration that comes into force: a promise is one of what was configured all along. */
void sim_hook_conf(struct sim *s, const struct conf *conf)
{
    s->no_prolog = s->no_prolog || !conf->prolog_slurmctld;
    s->no_epilog = s->no_epilog || !conf->epilog_slurmctld;
}

void sim_hook_check_start(struct sim *s, struct sim_key key)
{
    const struct sim_hook *h = find_hook(s, key, false);
    sim_burst_check_start(s, key);
    if (!s->no_prolog && (!h || !h->good))
        sim_break(s, "a payload was started before its prolog had ended well", "job %u restart %u",
                  key.job_id, key.restarts);
}

/* At the end of the run: whatever was begun with a prolog has had its epilog. */
void sim_hook_check_end(struct sim *s)
{
    sim_burst_check_end(s);
    for (const struct sim_hook *h = s->hooks; h; h = h->hh.next) {
        if (h->running)
            sim_break(s, "a script runs and nobody waits for it", "%s of job %u restart %u",
                      name_of(h->running), h->key.job_id, h->key.restarts);
        if (!s->no_epilog && h->begun && !h->epilog)
            sim_break(s, "an attempt had no epilog", "job %u restart %u", h->key.job_id,
                      h->key.restarts);
    }
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
