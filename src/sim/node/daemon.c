/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A virtual node daemon: its messages, and the events that it keeps until they are acknowledged,
 * also across a restart of the daemon. A reboot loses all events and starts a new incarnation.
 * order.c handles the orders.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "sim/command/command.h"
#include "sim/node/node.h"

/* Takes ownership of the body. */
static void send_packed(struct sim *s, unsigned index, enum sim_message message, struct str body)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_event event = {.kind = SIM_TO_CONTROL,
                              .message = message,
                              .index = index,
                              .generation = n->session,
                              .ctl = n->ctl + 1,
                              .value = s->ctls[n->ctl].life,
                              .body = body};
    int64_t at_ms = s->now_ms + rng_between(&n->rng, 0, 5);
    if (n->slow_until_ms > s->now_ms)
        at_ms += rng_between(&n->rng, 0, n->slow_by_ms);
    n->to_control_at_ms = at_ms = at_ms > n->to_control_at_ms ? at_ms : n->to_control_at_ms;
    sim_push(s, at_ms - s->now_ms, event);
}

void sim_node_send(struct sim *s, unsigned index, enum sim_message message,
                   const ProtobufCMessage *body)
{
    struct str packed = STR_INIT;
    if (body)
        pb_pack(body, &packed);
    send_packed(s, index, message, packed);
}

/* Sends the events that were not sent in this session yet. */
void sim_node_flush(struct sim *s, unsigned index)
{
    struct sim_node *n = &s->nodes.data[index];
    if (!n->up || !n->session || sim_is_stopped(s, n) || n->sent >= n->unacked.len)
        return;
    struct str packed = STR_INIT;
    for (; n->sent < n->unacked.len; n->sent++)
        pb_pack_field(1, n->unacked.data[n->sent].body.data, n->unacked.data[n->sent].body.len,
                      &packed);
    send_packed(s, index, SIM_REPORT, packed);
}

void sim_node_tell(struct sim *s, unsigned index, Pb__NodeEvent *event)
{
    struct sim_node *n = &s->nodes.data[index];
    event->seq = ++n->next_seq;
    struct sim_event kept = {.value = event->seq};
    pb_pack(&event->base, &kept.body);
    vec_push(&n->unacked, kept);
    sim_node_flush(s, index);
}

static Pb__Presence *make_presence(struct arena *arena, const struct sim_node_job *j)
{
    Pb__Presence *p = arena_alloc(arena, sizeof *p);
    pb__presence__init(p);
    p->job_id = j->key.job_id;
    p->restarts = j->key.restarts;
    p->step_ids = arena_alloc(arena, sizeof(uint32_t) * (j->steps.len + 1));
    vec_foreach (&j->steps, step)
        if (step->running)
            p->step_ids[p->n_step_ids++] = step->id;
    if (j->batch_running) {
        p->step_ids = arena_alloc(arena, sizeof(uint32_t));
        p->step_ids[0] = STEP_ID_BATCH;
        p->n_step_ids = 1;
    }
    p->has_ended = true;
    p->ended = j->gone;
    return p;
}

void sim_node_incarnation(const struct sim_node *n, char text[static SIM_NAME])
{
    snprintf(text, SIM_NAME, "boot%u:spool", n->incarnation);
}

void sim_node_register(struct sim *s, unsigned index)
{
    struct sim_node *n = &s->nodes.data[index];
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    bool lies = n->lie_until_ms > s->now_ms;
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    r.name = n->name;
    r.version = (char *)"sim";
    r.has_takes_attempt = r.takes_attempt = true;
    r.has_tells_prepared = r.tells_prepared = true;
    char incarnation[SIM_NAME];
    sim_node_incarnation(n, incarnation);
    r.incarnation = incarnation;
    struct str keys = STR_INIT;
    if (n->dynamic)
        sim_plan_keys(n->item, &keys);
    r.dynamic = n->dynamic ? arena_strdup(&arena, str_cstr(&keys)) : NULL;
    str_done(&keys);
    r.has_cpus = r.has_real_memory_mib = true;
    r.cpus = lies && n->lie_cpus ? n->lie_cpus : n->cpus;
    r.real_memory_mib = lies && n->lie_mem_mib ? n->lie_mem_mib : n->mem_mib;
    r.present = arena_alloc(&arena, sizeof(*r.present) * (n->jobs.len + 1));
    vec_foreach (&n->jobs, j)
        r.present[r.n_present++] = make_presence(&arena, j);
    sim_node_send(s, index, SIM_REGISTER, &r.base);
}

/* Both ends notice the break, each after its own delay; no further message gets through. */
void sim_node_break(struct sim *s, unsigned index, int64_t node_ms, int64_t control_ms)
{
    struct sim_node *n = &s->nodes.data[index];
    if (!n->session)
        return;
    n->broken = n->session;
    sim_push(s, node_ms,
             (struct sim_event){.kind = SIM_HANGUP, .index = index, .generation = n->session});
    sim_push(s, control_ms,
             (struct sim_event){
                 .kind = SIM_LOST, .index = index, .ctl = n->ctl + 1, .generation = n->session});
}

/* --- start and end of the daemon ----------------------------------------------------------------
 */

static void forget_everything(struct sim_node *n)
{
    vec_foreach (&n->jobs, j)
        vec_done(&j->steps);
    vec_clear(&n->jobs);
    vec_foreach (&n->unacked, e)
        sim_event_done(e);
    vec_clear(&n->unacked);
    vec_clear(&n->revoked);
    vec_clear(&n->cancelled);
}

/* The sruns on this machine end with it. */
static void end_sruns(struct sim *s, unsigned index)
{
    vec_foreach (&s->nodes.data[index].jobs, j)
        sim_srun_end_all(s, j->key, (long)index);
    for (size_t i = 0; i < s->nodes.data[index].jobs.len; i++)
        for (size_t k = 0; k < s->nodes.data[index].jobs.data[i].steps.len; k++) {
            struct sim_node_step *step = &s->nodes.data[index].jobs.data[i].steps.data[k];
            if (step->running)
                sim_srun_part_over(s, step->srun);
        }
}

void sim_node_kill(struct sim *s, unsigned index, bool reboot, int64_t down_ms)
{
    struct sim_node *n = &s->nodes.data[index];
    sim_say(s, "%s: %s", n->name, reboot ? "reboots" : "its daemon is killed");
    if (reboot) {
        end_sruns(s, index);
        forget_everything(n);
        n->incarnation++;
        sim_end_node_lost(s, index);
        n->stopped_until_ms = 0;
    }
    vec_clear(&n->cancelled);
    sim_node_break(s, index, 0, rng_between(&n->rng, 0, reboot ? 20000 : 10));
    n->up = false;
    n->session = 0;
    n->stopped_until_ms = 0;
    sim_push(s, down_ms, (struct sim_event){.kind = SIM_NODE_UP, .index = index});
}

void sim_node_done(struct sim_node *n)
{
    forget_everything(n);
    vec_done(&n->jobs);
    vec_done(&n->unacked);
    vec_done(&n->revoked);
    vec_done(&n->cancelled);
    vec_done(&n->holders);
}
