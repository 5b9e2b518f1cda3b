/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Virtual commands. Each client owns one job. It submits the job until it receives a reply; all
 * attempts have the same request id, so that a repeated request finds the same job. salloc and srun
 * hold an allocation and run steps in it; some clients wait for the end. A reply is a promise that
 * check.c verifies later.
 */
#include <stdio.h>
#include <string.h>

#include "sim/command/command.h"

static void schedule_client_action(struct sim *s, unsigned index, int64_t after_ms)
{
    sim_push(s, after_ms, (struct sim_event){.kind = SIM_CLIENT, .index = index});
}

/* --- requests -----------------------------------------------------------------------------------
 */

static void spec_counts(const struct sim_item *item, Pb__JobSpec *spec)
{
#define COUNT(field, value)                                                                        \
    (spec->has_##field = (value) > 0, spec->field = (typeof(spec->field))(value))
    COUNT(num_tasks, item->tasks);
    COUNT(min_nodes, item->min_nodes);
    COUNT(max_nodes, item->max_nodes);
    COUNT(cpus_per_task, item->cpus_per_task);
    COUNT(mem_per_cpu_mib, item->mem_cpu_mib);
    COUNT(mem_per_node_mib, item->mem_node_mib);
    COUNT(time_limit_sec, item->limit_sec);
    COUNT(exclusive, item->exclusive);
    COUNT(oversubscribe, item->shares);
    COUNT(contiguous, item->contiguous);
    COUNT(hold, item->held);
    COUNT(no_kill, item->no_kill);
    COUNT(immediate, item->immediate);
    COUNT(ntasks_per_node, item->node_tasks);
    COUNT(ntasks_per_socket, item->socket_tasks);
    COUNT(ntasks_per_core, item->core_tasks);
    COUNT(threads_per_core, item->threads_wanted);
    COUNT(sockets_per_node, item->sockets_wanted);
    COUNT(cores_per_socket, item->cores_wanted);
    COUNT(core_spec, item->core_spec);
    COUNT(min_cpus_per_node, item->min_cpus);
    COUNT(exclusive_user, item->user_alone);
    COUNT(exclusive_topo, item->topo_alone);
    COUNT(req_switches, item->switches);
    COUNT(wait_switch_sec, item->switch_wait_sec);
#undef COUNT
}

static char *text_or_null(const char *text)
{
    return *text ? (char *)text : NULL;
}

static void spec_of(const struct sim *s, const struct sim_client *c, char *name, Pb__JobSpec *spec)
{
    const struct sim_item *item = c->item;
    *spec = (Pb__JobSpec)PB__JOB_SPEC__INIT;
    snprintf(name, SIM_NAME, "j%lld", (long long)item->id);
    spec->name = name;
    spec->work_dir = (char *)"/";
    spec_counts(item, spec);
    spec->has_nice = item->nice != 0;
    spec->nice = (int32_t)item->nice;
    spec->has_requeue = item->requeue != 0;
    spec->requeue = item->requeue == 1;
    spec->has_begin_at_sec = item->begin_sec != 0;
    spec->begin_at_sec = sim_wall_ms(s) / 1000 + item->begin_sec;
    spec->partition = text_or_null(item->name);
    spec->features = text_or_null(item->features);
    spec->req_nodes = text_or_null(item->required);
    spec->exc_nodes = text_or_null(item->excluded);
    spec->signal = text_or_null(item->signal);
    spec->licenses = text_or_null(item->licenses);
    spec->burst_buffer = !*item->burst                      ? NULL
                         : strcmp(item->burst, "pool") == 0 ? (char *)"#BB_LUA pool=p capacity=1"
                                                            : (char *)"#BB_LUA";
    spec->reservation = text_or_null(item->resv);
    spec->has_deadline_at_sec = item->deadline_sec != 0;
    spec->deadline_at_sec = sim_wall_ms(s) / 1000 + item->deadline_sec;
    spec->gres = text_or_null(item->gres);
    spec->tres_per_job = text_or_null(item->gpus);
    spec->tres_per_task = text_or_null(item->task_gres);
    spec->prefer = text_or_null(item->prefer);
    spec->has_batch = true;
    spec->batch = item->what == SIM_JOB_BATCH;
}

/* The dependency is left out if the other job has no acknowledged id yet. */
static char *dependency_of(struct sim *s, struct sim_client *c)
{
    long on = c->item->after ? sim_client_find(s, c->item->after) : -1;
    if (!c->asked_once && on >= 0 && s->clients.data[on].job_id) {
        c->waits_for = s->clients.data[on].job_id;
        snprintf(c->depend, sizeof c->depend, "%s:%u", c->item->depend, c->waits_for);
    }
    c->asked_once = true; /* repeated submissions find the same job and must be equal */
    return text_or_null(c->depend);
}

static char *array_of(const struct sim_item *item, char text[SIM_NAME])
{
    if (!item->array)
        return NULL;
    int len = snprintf(text, SIM_NAME, "0-%lld", (long long)item->array - 1);
    if (item->throttle)
        snprintf(text + len, SIM_NAME - (size_t)len, "%%%lld", (long long)item->throttle);
    return text;
}

/* Runs --test-only first, which must leave no trace. */
static bool asks_first(const struct sim_item *item)
{
    return item->id % 3 == 0;
}

struct components { /* of a submission, without the leader */
    Pb__JobSpec specs[SIM_SET_MOST], *list[SIM_SET_MOST];
    char names[SIM_SET_MOST][SIM_NAME];
    size_t count;
};

static void make_components(struct sim *s, const struct sim_client *leader, struct components *set)
{
    set->count = sim_set_count(s, leader) - 1;
    for (size_t i = 0; i < set->count; i++) {
        spec_of(s, sim_set_component(s, leader, i + 1), set->names[i], &set->specs[i]);
        set->list[i] = &set->specs[i];
    }
}

static void submit_set(struct sim *s, unsigned index, enum sim_owner owner)
{
    struct components set;
    struct sim_client *c = &s->clients.data[index];
    Pb__JobSpec spec;
    Pb__StepSpec step;
    char name[SIM_NAME], array[SIM_NAME];
    uint8_t id[16] = {2};
    uint64_t call;
    memcpy(id + 1, &c->item->id, sizeof c->item->id);
    spec_of(s, c, name, &spec);
    make_components(s, c, &set);
    spec.dependency = dependency_of(s, c);
    spec.array_inx = array_of(c->item, array);
    spec.has_kill_invalid_dep = spec.kill_invalid_dep = spec.dependency != NULL;
    if (asks_first(c->item)) {
        Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
        r.spec = &spec;
        r.has_test_only = r.test_only = true;
        r.components = set.list;
        r.n_components = set.count;
        sim_call(s, SIM_OF_NOBODY, SIM_TEST_ONLY, index, &c->rng, &r.base);
    }
    spec.has_request_id = true;
    spec.request_id = (ProtobufCBinaryData){sizeof id, id};
    if (c->item->what != SIM_JOB_BATCH) {
        Pb__AllocRequest r = PB__ALLOC_REQUEST__INIT;
        sim_srun_spec(s, c, 0, &step);
        r.spec = &spec;
        r.step = c->item->what == SIM_JOB_SRUN ? &step : NULL;
        call = sim_call(s, owner, SIM_ALLOC, index, &c->rng, &r.base);
    } else {
        Pb__JobPayload payload = PB__JOB_PAYLOAD__INIT;
        Pb__SubmitRequest r = PB__SUBMIT_REQUEST__INIT;
        payload.has_script = true;
        payload.script = (ProtobufCBinaryData){10, (uint8_t *)"#!/bin/sh\n"};
        r.spec = &spec;
        r.payload = &payload;
        r.components = set.list;
        r.n_components = set.count;
        call = sim_call(s, owner, SIM_SUBMIT, index, &c->rng, &r.base);
    }
    if (owner == SIM_OF_CLIENT)
        c->call = call;
}

static void wait_for_grant(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    Pb__AllocWait r = PB__ALLOC_WAIT__INIT;
    Pb__StepSpec step;
    sim_srun_spec(s, c, 0, &step);
    r.job_id = c->job_id;
    r.step = c->item->what == SIM_JOB_SRUN ? &step : NULL;
    r.has_ready = r.ready = c->configuring;
    c->call = sim_call(s, SIM_OF_CLIENT, SIM_ALLOC_WAIT, index, &c->rng, &r.base);
}

static void release_allocation(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    Pb__JobComplete r = PB__JOB_COMPLETE__INIT;
    r.job_id = c->job_id;
    const struct sim_watch *w = sim_watch_find(s, c->job_id);
    /* Any attempt may be running. */
    for (uint32_t restarts = 0; w && restarts <= w->view.restarts; restarts++)
        sim_end_by_owner(s, (struct sim_key){c->job_id, restarts}, 0);
    c->call = sim_call(s, SIM_OF_CLIENT, SIM_JOB_COMPLETE, index, &c->rng, &r.base);
}

static void watch_end(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    Pb__JobIdRequest r = PB__JOB_ID_REQUEST__INIT;
    r.job_id = c->job_id;
    c->watch = sim_call(s, SIM_OF_WATCH, SIM_WAIT_END, index, &c->rng, &r.base);
}

/* The shell of salloc: runs its steps one after the other, then stays for some time. */
static void hold_allocation(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    if (c->next_step < (unsigned)c->item->steps) {
        sim_srun_begin(s, index, c->next_step++, (struct sim_key){c->job_id, 0}, -1);
        return;
    }
    c->state = SIM_RELEASING;
    schedule_client_action(s, index, c->item->run_ms);
}

void sim_client_act(struct sim *s, unsigned index)
{
    struct sim_client *c = &s->clients.data[index];
    if (c->dead)
        return;
    if (c->watching && !c->watch && c->job_id && !c->end_told)
        watch_end(s, index);
    if (c->call)
        return;
    switch (c->state) {
    case SIM_SUBMITTING:
        submit_set(s, index, SIM_OF_CLIENT);
        if (c->item->again_ms)
            submit_set(s, index, SIM_OF_NOBODY);
        break;
    case SIM_WAITING:
        wait_for_grant(s, index);
        break;
    case SIM_HOLDING:
        hold_allocation(s, index);
        break;
    case SIM_RELEASING:
        release_allocation(s, index);
        break;
    case SIM_OVER:
        break;
    }
}

/* --- answers ------------------------------------------------------------------------------------
 */

/* The record of the job; if the first element of an array has been purged, the record of another
 * element. */
static bool find_record(const struct sim *s, uint32_t job_id, struct sim_view *v)
{
    if (sim_view_stored(s, job_id, v))
        return true;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
        if (w->view.there && w->view.array_id == job_id)
            return sim_view_stored(s, w->job_id, v);
    return false;
}

/* An acknowledged job is on disk, unless it has been purged: the reply may have been late. */
static void check_promised(struct sim *s, unsigned index)
{
    const struct sim_client *c = &s->clients.data[index];
    const struct sim_watch *w = sim_watch_find(s, c->job_id);
    struct sim_view v;
    if (w && w->purged && w->client == index)
        return;
    if (!find_record(s, c->job_id, &v))
        sim_break(s, "a job was acknowledged and is not on disk", "job %u", c->job_id);
    else if (v.name[0] != 'j' || strtoll(v.name + 1, NULL, 10) != c->item->id)
        sim_break(s, "an id that belongs to another submission", "job %u is %s, not j%lld",
                  c->job_id, v.name, (long long)c->item->id);
    else if (c->item->what == SIM_JOB_BATCH && !sim_store_find(s, RECORD_PAYLOAD, c->job_id, NULL))
        sim_break(s, "a job was acknowledged without its script", "job %u", c->job_id);
}

/* A repeated submission must have found the same job; an id belongs to one job. */
static void on_promised(struct sim *s, unsigned index, uint32_t job_id)
{
    struct sim_client *c = &s->clients.data[index];
    if (!c->job_id)
        s->result->acknowledged++;
    if (c->job_id && c->job_id != job_id)
        sim_break(s, "one submission became two jobs", "%u and %u", c->job_id, job_id);
    c->job_id = job_id;
    check_promised(s, index);
    sim_set_promised(s, c);
    if (c->item->waits || c->item->what == SIM_JOB_ALLOC)
        c->watching = true;
}

static void on_granted(struct sim *s, unsigned index, const Pb__AllocReply *r)
{
    struct sim_client *c = &s->clients.data[index];
    if (!r->granted || r->configuring) {
        c->configuring = c->configuring || r->configuring;
        c->state = SIM_WAITING;
        schedule_client_action(s, index, 0);
        return;
    }
    if (c->item->dies_ms)
        sim_push(s, c->item->dies_ms,
                 (struct sim_event){.kind = SIM_CLIENT, .index = index, .value = 1});
    c->state = c->item->what == SIM_JOB_SRUN ? SIM_OVER : SIM_HOLDING;
    if (r->step)
        sim_srun_begin_launched(s, index, (struct sim_key){c->job_id, 0}, r->step);
    else if (c->item->what == SIM_JOB_SRUN)
        sim_srun_begin_owner(s, index, (struct sim_key){c->job_id, 0});
    schedule_client_action(s, index, 0);
}

static void on_allocated(struct sim *s, unsigned index, const struct sim_event *e)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__AllocReply *r =
        arena_unpack(&arena, &pb__alloc_reply__descriptor, e->body.data, e->body.len);
    if (!r) {
        sim_break(s, "a reply that does not decode", "to an allocation");
        return;
    }
    on_promised(s, index, r->job_id);
    on_granted(s, index, r);
}

static void on_submitted(struct sim *s, unsigned index, const struct sim_event *e)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__SubmitReply *r =
        arena_unpack(&arena, &pb__submit_reply__descriptor, e->body.data, e->body.len);
    if (!r || !r->job_id) {
        sim_break(s, "a reply that does not decode", "to a submission");
        return;
    }
    on_promised(s, index, r->job_id);
    s->clients.data[index].state = SIM_OVER;
    schedule_client_action(s, index, 0);
}

/* A client that waits for the end is told a final state, and the record has the same one. */
static void on_ended(struct sim *s, unsigned index, const struct sim_event *e)
{
    struct sim_client *c = &s->clients.data[index];
    struct sim_view v;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobEnd *r = arena_unpack(&arena, &pb__job_end__descriptor, e->body.data, e->body.len);
    const struct sim_watch *w = sim_watch_find(s, c->job_id);
    c->end_told = true;
    if (w && w->purged)
        return;
    if (!r || !sim_view_stored(s, c->job_id, &v)) {
        sim_break(s, "the end of a job was told that is not on disk", "job %u", c->job_id);
        return;
    }
    c->end_state = (int)r->state;
    if (c->state == SIM_HOLDING)
        c->state = SIM_OVER; /* salloc ends with its allocation */
    if (c->requeues_asked == 0 && (v.state != (int)r->state || v.requeue_after))
        sim_break(s, "an end was told that is none", "job %u: told state %d, on disk %d%s",
                  c->job_id, (int)r->state, v.state, v.requeue_after ? ", to be requeued" : "");
}

static void on_failed(struct sim *s, unsigned index, const struct sim_call *call,
                      const struct sim_event *e)
{
    struct sim_client *c = &s->clients.data[index];
    if (call->request == SIM_SUBMIT || (call->request == SIM_ALLOC && !c->job_id)) {
        sim_say(s, "j%lld is refused: %s", (long long)c->item->id, str_cstr(&e->body));
        s->result->refused++;
        c->refused = true;
    }
    c->state = SIM_OVER; /* rejected, or the allocation ended before it was granted */
}

void sim_client_reply(struct sim *s, const struct sim_call *call, const struct sim_event *e)
{
    struct sim_client *c = &s->clients.data[call->index];
    if (call->owner == SIM_OF_WATCH) {
        c->watch = 0;
        if (!e->code)
            on_ended(s, call->index, e);
        return;
    }
    if (call->owner == SIM_OF_NOBODY) { /* a repeated submission */
        if (!e->code && call->request == SIM_SUBMIT)
            on_submitted(s, call->index, e);
        return;
    }
    c->call = 0;
    if (e->code)
        on_failed(s, call->index, call, e);
    else if (call->request == SIM_SUBMIT)
        on_submitted(s, call->index, e);
    else if (call->request == SIM_ALLOC || call->request == SIM_ALLOC_WAIT)
        on_allocated(s, call->index, e);
    else {
        sim_check_over(s, c->job_id, "its owner said that it is over");
        c->state = SIM_OVER;
    }
}

/* The connection and the reply are lost: the client sends the request again. */
void sim_client_lost(struct sim *s, const struct sim_call *call)
{
    struct sim_client *c = &s->clients.data[call->index];
    if (call->owner == SIM_OF_WATCH)
        c->watch = 0;
    else
        c->call = 0;
    if (!c->dead)
        schedule_client_action(s, call->index, rng_between(&c->rng, 100, 3000));
}

void sim_client_break(struct sim *s, unsigned index, bool dies)
{
    struct sim_client *c = &s->clients.data[index];
    c->dead = c->dead || dies;
    uint64_t calls[] = {c->call, c->watch};
    c->call = c->watch = 0;
    for (size_t i = 0; i < 2; i++)
        if (calls[i])
            sim_call_close(s, calls[i]);
    if (dies && c->state != SIM_OVER)
        c->state = SIM_OVER;
    else if (!dies)
        schedule_client_action(s, index, rng_between(&c->rng, 10, 40000));
}
