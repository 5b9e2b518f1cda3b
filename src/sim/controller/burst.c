/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of burst_buffer.lua in virtual time, and their promises: one function of a job runs at
 * a time, a buffer that was set up is torn down, and no payload starts before its buffer is ready.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "sim/controller/controller.h"
#include "sim/rule/script.h"

#define BUSY_PER_MILLE 200
#define FAILS_PER_MILLE 100 /* of teardowns; they are retried */
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
    bool fails = is_function(b, "job_teardown") && rng_chance(&s->rng, FAILS_PER_MILLE);
    end_later(s, b, m, rng_between(&s->rng, 0, 3000), fails ? 1 << 8 : 0);
}

bool sim_burst_receive(struct sim *s, const Pb__ScriptRun *m, bool stop)
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

bool sim_burst_end(struct sim *s, const struct sim_event *e)
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

void sim_burst_done(struct sim *s)
{
    struct sim_burst *b, *next;
    HASH_ITER (hh, s->bursts, b, next) {
        HASH_DEL(s->bursts, b);
        free(b);
    }
}
