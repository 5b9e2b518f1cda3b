/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A virtual node: what slurmd and its step shepherds promise, without processes. It starts a batch
 * job at most once per (job, restart count), answers repeated orders with what it did, and keeps
 * its events until they are acknowledged, also through a restart of the daemon. A reboot loses all
 * of it and makes a new incarnation.
 */
#include <stdio.h>
#include <string.h>

#include "base/hostlist.h"
#include "sim/sim.h"

enum { WORK_END, WORK_KILLED, WORK_STEP }; /* 'code' of SIM_NODE_WORK */
#define BEAT_MS 20000
enum { KILLED_STATUS = 15 }; /* wait status of SIGTERM */

static struct sim_node_job *find_job(struct sim_node *n, uint32_t job_id, uint32_t restarts)
{
    vec_foreach (&n->jobs, j)
        if (j->job_id == job_id && j->restarts == restarts)
            return j;
    return NULL;
}

static void to_control(struct sim *s, unsigned index, enum sim_message_kind kind,
                       const ProtobufCMessage *body)
{
    struct sim_node *n = &s->nodes.data[index];
    if (!n->session)
        return;
    struct sim_event event = {
        .kind = SIM_TO_CONTROL, .message = kind, .index = index, .generation = n->session};
    pb_pack(body, &event.body);
    int64_t at_ms = s->now_ms + rng_between(&s->rng, 0, 5);
    n->to_control_at_ms = at_ms = at_ms > n->to_control_at_ms ? at_ms : n->to_control_at_ms;
    sim_push(s, at_ms - s->now_ms, event);
}

static void report(struct sim *s, unsigned index, size_t first)
{
    struct sim_node *n = &s->nodes.data[index];
    struct str packed = STR_INIT;
    for (size_t i = first; i < n->unacked.len; i++)
        pb_pack_field(1, n->unacked.data[i].body.data, n->unacked.data[i].body.len, &packed);
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__NodeReport *r = arena_unpack(&arena, &pb__node_report__descriptor, packed.data, packed.len);
    if (r)
        to_control(s, index, SIM_REPORT, &r->base);
    str_done(&packed);
}

/* Keeps the event until it is acknowledged, and sends it when there is a session. */
static void tell(struct sim *s, unsigned index, Pb__NodeEvent *event)
{
    struct sim_node *n = &s->nodes.data[index];
    event->seq = ++n->next_seq;
    struct sim_event kept = {.value = event->seq};
    pb_pack(&event->base, &kept.body);
    vec_push(&n->unacked, kept);
    if (n->up)
        report(s, index, n->unacked.len - 1);
}

static void tell_launched(struct sim *s, unsigned index, uint32_t job_id, uint32_t restarts,
                          int code)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__Launched launched = PB__LAUNCHED__INIT;
    launched.job_id = job_id;
    launched.restarts = restarts;
    launched.code = code;
    launched.text = code ? (char *)"simulated launch failure" : NULL;
    event.launched = &launched;
    tell(s, index, &event);
}

static void tell_gone(struct sim *s, unsigned index, uint32_t job_id, uint32_t restarts)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__JobGone gone = PB__JOB_GONE__INIT;
    gone.job_id = job_id;
    gone.restarts = restarts;
    event.job_gone = &gone;
    tell(s, index, &event);
}

static void tell_batch_ended(struct sim *s, unsigned index, const struct sim_node_job *j,
                             int status, bool gone)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__BatchEnded ended = PB__BATCH_ENDED__INIT;
    ended.job_id = j->job_id;
    ended.restarts = j->restarts;
    ended.exit_status = status;
    ended.has_gone = true;
    ended.gone = gone;
    event.batch_ended = &ended;
    tell(s, index, &event);
}

static void tell_step_ended(struct sim *s, unsigned index, const struct sim_node_job *j,
                            uint32_t step_id, int status)
{
    Pb__NodeEvent event = PB__NODE_EVENT__INIT;
    Pb__StepEnded ended = PB__STEP_ENDED__INIT;
    ended.job_id = j->job_id;
    ended.restarts = j->restarts;
    ended.step_id = step_id;
    ended.exit_status = status;
    event.step_ended = &ended;
    tell(s, index, &event);
}

void sim_node_connect(struct sim *s, unsigned index)
{
    struct sim_node *n = &s->nodes.data[index];
    if (!n->up || n->session)
        return;
    if (!s->control) {
        sim_push(s, rng_between(&s->rng, 50, 2000),
                 (struct sim_event){.kind = SIM_CONNECT, .index = index});
        return;
    }
    n->session = ++n->last_session;
    Pb__NodeRegister r = PB__NODE_REGISTER__INIT;
    char incarnation[32];
    snprintf(incarnation, sizeof incarnation, "boot%u:spool", n->incarnation);
    r.name = n->name;
    r.version = (char *)"sim";
    r.incarnation = incarnation;
    r.has_cpus = r.has_real_memory_mib = true;
    r.cpus = s->options.cpus;
    r.real_memory_mib = 8000;
    Pb__Presence *present = mem_new_array(Pb__Presence, n->jobs.len + 1);
    Pb__Presence **list = mem_new_array(Pb__Presence *, n->jobs.len + 1);
    for (size_t i = 0; i < n->jobs.len; i++) {
        struct sim_node_job *j = &n->jobs.data[i];
        present[i] = (Pb__Presence)PB__PRESENCE__INIT;
        present[i].job_id = j->job_id;
        present[i].restarts = j->restarts;
        present[i].step_ids = j->steps.data;
        present[i].n_step_ids = j->steps.len;
        present[i].has_ended = true;
        present[i].ended = j->ended;
        list[i] = &present[i];
    }
    r.present = list;
    r.n_present = n->jobs.len;
    to_control(s, index, SIM_REGISTER, &r.base);
    sim_push(s, BEAT_MS,
             (struct sim_event){.kind = SIM_BEAT, .index = index, .generation = n->session});
    if (n->unacked.len)
        report(s, index, 0);
    free(list);
    free(present);
}

void sim_node_beat(struct sim *s, struct sim_event *e)
{
    static const Pb__NodeReport alive = PB__NODE_REPORT__INIT;
    struct sim_node *n = &s->nodes.data[e->index];
    if (!n->session || e->generation != n->session)
        return;
    to_control(s, e->index, SIM_REPORT, &alive.base);
    sim_push(s, BEAT_MS,
             (struct sim_event){.kind = SIM_BEAT, .index = e->index, .generation = n->session});
}

static void start_job(struct sim *s, unsigned index, const Pb__LaunchBatch *order)
{
    struct sim_node *n = &s->nodes.data[index];
    vec_foreach (&s->ledger, at)
        if (at->job_id == order->job_id && at->restarts == order->restarts)
            sim_break(s, "job %u restart %u started twice, on %s and %s", at->job_id, at->restarts,
                      s->nodes.data[at->node].name, n->name);
    vec_push(&s->ledger, ((struct sim_start){order->job_id, order->restarts, index}));
    s->result->attempts++;
    _cleanup_hostlist_ struct hostlist *nodes = NULL;
    bool single = hostlist_parse(order->nodes ? order->nodes : n->name, &nodes, NULL) == 0 &&
                  hostlist_count(nodes) == 1;
    struct sim_node_job job = {
        .job_id = order->job_id, .restarts = order->restarts, .single = single, .batch = true};
    vec_push(&n->jobs, job);
    tell_launched(s, index, order->job_id, order->restarts, 0);
    sim_push(s, rng_between(&s->rng, 1, 30000),
             (struct sim_event){.kind = SIM_NODE_WORK,
                                .index = index,
                                .value = order->job_id,
                                .generation = order->restarts,
                                .code = WORK_END});
}

static void launch(struct sim *s, unsigned index, const Pb__LaunchBatch *order)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_node_job *known = find_job(n, order->job_id, order->restarts);
    if (known) {
        if (!known->ended)
            tell_launched(s, index, order->job_id, order->restarts, 0);
    } else if (rng_chance(&s->rng, 5)) {
        struct sim_node_job job = {
            .job_id = order->job_id, .restarts = order->restarts, .batch = true, .ended = true};
        vec_push(&n->jobs, job);
        tell_launched(s, index, order->job_id, order->restarts, ERR_CHDIR);
    } else {
        start_job(s, index, order);
    }
}

static void terminate(struct sim *s, unsigned index, const Pb__Terminate *order)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_node_job *j = find_job(n, order->job_id, order->restarts);
    if (order->has_step_id)
        return;
    if (!j || j->ended) {
        if (!j) { /* a launch that comes late must not start it */
            struct sim_node_job job = {
                .job_id = order->job_id, .restarts = order->restarts, .ended = true};
            vec_push(&n->jobs, job);
        }
        tell_gone(s, index, order->job_id, order->restarts);
    } else if (!j->ending) {
        j->ending = true;
        int64_t most_ms = order->has_grace_sec ? order->grace_sec * 1000 : 1000;
        sim_push(s, rng_between(&s->rng, 0, most_ms + 10),
                 (struct sim_event){.kind = SIM_NODE_WORK,
                                    .index = index,
                                    .value = order->job_id,
                                    .generation = order->restarts,
                                    .code = WORK_KILLED});
    }
}

static void acknowledged(struct sim_node *n, uint64_t seq)
{
    while (n->unacked.len && n->unacked.data[0].value <= seq) {
        sim_event_done(&n->unacked.data[0]);
        vec_remove(&n->unacked, 0);
    }
    for (size_t i = n->jobs.len; n->unacked.len == 0 && i-- > 0;)
        if (n->jobs.data[i].ended) {
            vec_done(&n->jobs.data[i].steps);
            vec_remove(&n->jobs, i);
        }
}

static void obey(struct sim *s, unsigned index, const Pb__NodeOrders *orders)
{
    for (size_t i = 0; i < orders->n_orders; i++) {
        const Pb__NodeOrder *o = orders->orders[i];
        if (o->launch)
            launch(s, index, o->launch);
        if (o->terminate)
            terminate(s, index, o->terminate);
    }
}

void sim_node_receive(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    if (!n->up || !n->session || e->generation != n->session)
        return;
    if (e->message == SIM_ACK)
        acknowledged(n, e->value);
    if (e->message != SIM_ORDERS)
        return;
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__NodeOrders *orders =
        arena_unpack(&arena, &pb__node_orders__descriptor, e->body.data, e->body.len);
    if (!orders) {
        sim_break(s, "orders to %s do not decode", n->name);
        return;
    }
    obey(s, e->index, orders);
    if (!s->quiet && rng_chance(&s->rng, 50)) /* the same orders, once more */
        obey(s, e->index, orders);
}

static void end_steps(struct sim *s, unsigned index, struct sim_node_job *j, int status)
{
    for (size_t i = 0; i < j->steps.len; i++)
        tell_step_ended(s, index, j, j->steps.data[i], status);
    vec_clear(&j->steps);
}

void sim_node_work(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    struct sim_node_job *j = find_job(n, (uint32_t)e->value, (uint32_t)e->generation);
    if (!j || j->ended)
        return;
    if (e->code == WORK_STEP) {
        end_steps(s, e->index, j, 0);
    } else if (e->code == WORK_KILLED) {
        end_steps(s, e->index, j, KILLED_STATUS);
        j->ended = true;
        if (j->batch)
            tell_batch_ended(s, e->index, j, KILLED_STATUS, false);
        tell_gone(s, e->index, j->job_id, j->restarts);
    } else if (!j->ending) {
        j->ended = true;
        tell_batch_ended(s, e->index, j, rng_chance(&s->rng, 100) ? 1 << 8 : 0, j->single);
    }
}

/* srun launches a step here; without a daemon it can not, and gives up. */
void sim_node_step(struct sim *s, unsigned index, uint32_t job_id, uint32_t step_id, int64_t run_ms)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_node_job *j = find_job(n, job_id, 0);
    if (!n->up || (j && (j->ended || j->ending)))
        return;
    if (!j) {
        struct sim_node_job job = {.job_id = job_id};
        vec_push(&n->jobs, job);
        j = &vec_last(&n->jobs);
    }
    vec_push(&j->steps, step_id);
    sim_push(s, run_ms,
             (struct sim_event){
                 .kind = SIM_NODE_WORK, .index = index, .value = job_id, .code = WORK_STEP});
}

void sim_node_hangup(struct sim *s, unsigned index, bool tell_control)
{
    struct sim_node *n = &s->nodes.data[index];
    if (!n->session)
        return;
    n->session = 0;
    if (tell_control && s->control) {
        control_node_lost(s->control, n->name);
        sim_turn(s);
    }
    sim_push(s, rng_between(&s->rng, 50, 2000),
             (struct sim_event){.kind = SIM_CONNECT, .index = index});
}

static void forget_everything(struct sim_node *n)
{
    vec_foreach (&n->jobs, j)
        vec_done(&j->steps);
    vec_clear(&n->jobs);
    vec_foreach (&n->unacked, e)
        sim_event_done(e);
    vec_clear(&n->unacked);
}

void sim_node_crash(struct sim *s, unsigned index, bool reboot)
{
    struct sim_node *n = &s->nodes.data[index];
    s->result->node_crashes++;
    if (reboot) {
        forget_everything(n);
        n->incarnation++;
        n->next_seq = 0;
    }
    n->up = false;
    sim_node_hangup(s, index, true);
    sim_push(s, rng_between(&s->rng, 100, 90000),
             (struct sim_event){.kind = SIM_CONNECT, .index = index, .value = 1});
}

void sim_node_done(struct sim_node *n)
{
    forget_everything(n);
    vec_done(&n->jobs);
    vec_done(&n->unacked);
}
