/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Virtual clients. Each owns one job: it submits until it has an answer (with the same request id,
 * so that a repeat finds the same job), some cancel it, some hold an allocation with one step. An
 * answer is a promise that sim_run() checks at the end.
 */
#include <string.h>

#include "sim/sim.h"

static struct sim_client *client_of(struct sim *s, uint64_t call)
{
    struct sim_client *c = &s->clients.data[call & 0xfffff];
    return c->call == call ? c : NULL;
}

static void later(struct sim *s, unsigned index, int64_t after_ms)
{
    sim_push(s, after_ms, (struct sim_event){.kind = SIM_CLIENT, .index = index});
}

static void ask(struct sim *s, unsigned index, enum sim_request request,
                const ProtobufCMessage *body)
{
    struct sim_client *c = &s->clients.data[index];
    c->call = ++s->next_call << 20 | index;
    struct sim_event event = {
        .kind = SIM_REQUEST, .index = index, .value = c->call, .code = (int)request};
    pb_pack(body, &event.body);
    sim_push(s, rng_between(&s->rng, 0, 3), event);
}

static void spec_of(struct sim_client *c, Pb__JobSpec *spec)
{
    *spec = (Pb__JobSpec)PB__JOB_SPEC__INIT;
    spec->name = (char *)"sim";
    spec->work_dir = (char *)"/";
    spec->has_num_tasks = spec->has_min_nodes = spec->has_time_limit_sec = spec->has_batch = true;
    spec->has_request_id = spec->has_mem_per_cpu_mib = true;
    spec->num_tasks = c->tasks;
    spec->min_nodes = c->nodes;
    spec->time_limit_sec = c->limit_sec;
    spec->mem_per_cpu_mib = 100;
    spec->batch = !c->interactive;
}

static void step_of(const struct sim_client *c, Pb__StepSpec *step)
{
    *step = (Pb__StepSpec)PB__STEP_SPEC__INIT;
    step->has_num_tasks = true;
    step->num_tasks = c->tasks;
}

static void submit(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    Pb__JobSpec spec;
    Pb__StepSpec step;
    uint8_t id[16] = {0};
    spec_of(c, &spec);
    memcpy(id, &c->id, sizeof c->id);
    spec.request_id = (ProtobufCBinaryData){sizeof id, id};
    if (c->interactive) {
        step_of(c, &step);
        Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
        r.spec = &spec;
        r.step = &step;
        ask(s, index, SIM_ALLOC, &r.base);
    } else {
        Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
        Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
        payload.has_script = true;
        payload.script = (ProtobufCBinaryData){10, (uint8_t *)"#!/bin/sh\n"};
        r.spec = &spec;
        r.payload = &payload;
        ask(s, index, SIM_SUBMIT, &r.base);
    }
}

static void cancel(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    Pb__StepId id = PB__STEP_ID__INIT, *ids[] = {&id};
    Pb__JobSignal r = PB__JOB_SIGNAL__INIT;
    id.job_id = c->job_id;
    r.target = ids;
    r.n_target = 1;
    ask(s, index, SIM_CANCEL, &r.base);
}

void sim_client_act(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    if (c->call)
        return;
    switch (c->state) {
    case SIM_SUBMITTING:
        submit(s, index);
        break;
    case SIM_WAITING: {
        Pb__AllocWait r = PB__ALLOC_WAIT__INIT;
        Pb__StepSpec step;
        step_of(c, &step);
        r.job_id = c->job_id;
        r.step = &step;
        ask(s, index, SIM_ALLOC_WAIT, &r.base);
        break;
    }
    case SIM_HOLDING:
        c->state = c->dies ? SIM_OVER : SIM_RELEASING;
        later(s, index, 0);
        break;
    case SIM_RELEASING: {
        Pb__JobComplete r = PB__JOB_COMPLETE__INIT;
        r.job_id = c->job_id;
        ask(s, index, SIM_COMPLETE, &r.base);
        break;
    }
    case SIM_CANCELLING:
        cancel(s, index);
        break;
    case SIM_OVER:
        break;
    }
}

/* The reply's promise; a repeated submission must have found the same job. */
static void promised(struct sim *s, struct sim_client *c, uint32_t job_id)
{
    if (!c->job_id)
        s->result->acknowledged++;
    if (c->job_id && c->job_id != job_id)
        sim_break(s, "one submission became the jobs %u and %u", c->job_id, job_id);
    c->job_id = job_id;
}

static void granted(struct sim *s, unsigned index, const Pb__AllocReply *r)
{
    struct sim_client *c = &s->clients.data[index];
    if (!r->granted) {
        c->state = SIM_WAITING;
        later(s, index, 0);
        return;
    }
    c->state = SIM_HOLDING;
    for (size_t i = 0; r->step && i < r->step->n_layout; i++)
        for (unsigned k = 0; k < s->nodes.len; k++)
            if (strcmp(s->nodes.data[k].name, r->step->layout[i]->node) == 0)
                sim_node_step(s, k, c->job_id, r->step->step_id, c->run_ms);
    later(s, index, c->run_ms + rng_between(&s->rng, 0, 10));
}

static void submitted(struct sim *s, unsigned index, uint32_t job_id)
{
    struct sim_client *c = &s->clients.data[index];
    promised(s, c, job_id);
    c->state = c->wants_cancel ? SIM_CANCELLING : SIM_OVER;
    if (c->wants_cancel)
        later(s, index, rng_between(&s->rng, 0, 20000));
}

static void failed(struct sim *s, unsigned index, const struct sim_event *e)
{
    struct sim_client *c = &s->clients.data[index];
    if (c->state == SIM_SUBMITTING)
        sim_break(s, "a good submission was refused: %s", str_cstr(&e->body));
    c->state = SIM_OVER; /* the allocation ended before it was granted, or the job before it was
                            cancelled */
}

void sim_client_reply(struct sim *s, struct sim_event *e)
{
    struct sim_client *c = client_of(s, e->value);
    unsigned index = e->value & 0xfffff;
    if (!c)
        return;
    c->call = 0;
    if (e->code) {
        failed(s, index, e);
        return;
    }
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    if (c->state == SIM_SUBMITTING && !c->interactive) {
        Pb__SubmitReply *r =
            arena_unpack(&arena, &pb__submit_reply__descriptor, e->body.data, e->body.len);
        submitted(s, index, r ? r->job_id : 0);
    } else if (c->state == SIM_SUBMITTING || c->state == SIM_WAITING) {
        Pb__AllocReply *r =
            arena_unpack(&arena, &pb__alloc_reply__descriptor, e->body.data, e->body.len);
        if (!r) {
            sim_break(s, "an allocation's reply does not decode");
            return;
        }
        promised(s, c, r->job_id);
        granted(s, index, r);
    } else {
        c->state = SIM_OVER;
    }
}

static void arrive(struct sim *s, enum sim_request request, uint64_t call, void *body)
{
    static const struct caller owner = {
        .uid = 1000, .gid = 1000, .user_name = "sim", .group_name = "sim"};
    if (request == SIM_SUBMIT)
        control_submit(s->control, call, &owner, body);
    else if (request == SIM_ALLOC)
        control_alloc(s->control, call, &owner, body);
    else if (request == SIM_ALLOC_WAIT)
        control_alloc_wait(s->control, call, &owner, body);
    else if (request == SIM_COMPLETE)
        control_job_complete(s->control, call, &owner, body);
    else
        control_job_signal(s->control, call, &owner, body);
}

void sim_client_request(struct sim *s, struct sim_event *e)
{
    static const ProtobufCMessageDescriptor *const types[] = {
        &pb__submit_request__descriptor, &pb__alloc_request__descriptor,
        &pb__alloc_wait__descriptor, &pb__job_complete__descriptor, &pb__job_signal__descriptor};
    struct sim_client *c = client_of(s, e->value);
    if (!c)
        return;
    if (!s->control) {
        c->call = 0;
        later(s, e->index, rng_between(&s->rng, 100, 3000));
        return;
    }
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    arrive(s, (enum sim_request)e->code, e->value,
           arena_unpack(&arena, types[e->code], e->body.data, e->body.len));
    sim_turn(s);
}

void sim_clients_lost(struct sim *s)
{
    for (unsigned i = 0; i < s->clients.len; i++)
        if (s->clients.data[i].call) {
            s->clients.data[i].call = 0;
            later(s, i, rng_between(&s->rng, 10, 3000));
        }
}
