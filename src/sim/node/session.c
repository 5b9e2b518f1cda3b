/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sessions of a virtual node daemon with controllers: it connects, handles the messages of the
 * controller, and reconnects when a session ends.
 */
#include <string.h>

#include "sim/node/node.h"

#define BEATS_PER_TIMEOUT 3

static int64_t beat_ms(const struct sim *s, const struct sim_node *n)
{
    const struct control *control = s->ctls[n->ctl].control;
    int64_t timeout = control ? control_conf(control)->slurmd_timeout_sec : 0;
    timeout = timeout ? timeout : 180;
    return timeout * 1000 / BEATS_PER_TIMEOUT;
}

static void push_beat(struct sim *s, unsigned index)
{
    sim_push(s, beat_ms(s, &s->nodes.data[index]),
             (struct sim_event){
                 .kind = SIM_BEAT, .index = index, .generation = s->nodes.data[index].session});
}

static void connect_later(struct sim *s, unsigned index)
{
    sim_push(s, rng_between(&s->nodes.data[index].rng, 50, 2000),
             (struct sim_event){.kind = SIM_CONNECT, .index = index});
}

static bool has_work(const struct sim_node *n)
{
    vec_foreach (&n->jobs, j)
        if (sim_node_runs(j))
            return true;
    return false;
}

void sim_node_connect(struct sim *s, unsigned index)
{
    struct sim_node *n = &s->nodes.data[index];
    if (!n->up || n->session)
        return;
    bool wanted = n->configured || n->dynamic || has_work(n);
    if (s->count > 1 && !sim_lead_serves_node(s, &s->ctls[n->ctl])) {
        n->ctl = (n->ctl + 1) % s->count;
        sim_push(s, rng_between(&n->rng, 50, 1500),
                 (struct sim_event){.kind = SIM_CONNECT, .index = index});
        return;
    }
    if (s->ctls[n->ctl].control && !wanted && s->quiet)
        return;
    if (!s->ctls[n->ctl].control || sim_is_stopped(s, n)) {
        sim_push(s, rng_between(&n->rng, 500, 4000),
                 (struct sim_event){.kind = SIM_CONNECT, .index = index});
        return;
    }
    n->session = ++n->last_session;
    n->welcome = false;
    n->sent = 0;
    n->to_node_at_ms = n->to_control_at_ms = s->now_ms;
    sim_node_send(s, index, SIM_OPEN, NULL);
    sim_node_register(s, index);
    sim_node_flush(s, index);
    push_beat(s, index);
}

void sim_node_beat(struct sim *s, struct sim_event *e)
{
    static const Pb__NodeReport alive = PB__NODE_REPORT__INIT;
    struct sim_node *n = &s->nodes.data[e->index];
    if (!n->up || !n->session || e->generation != n->session)
        return;
    if (!sim_is_stopped(s, n))
        sim_node_send(s, e->index, SIM_REPORT, &alive.base);
    push_beat(s, e->index);
}

void sim_node_hangup(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    if (!e->generation || e->generation != n->session)
        return;
    if (sim_is_stopped(s, n)) {
        struct sim_event again = *e;
        n->shut = e->generation;
        sim_push(s, n->stopped_until_ms - s->now_ms, again);
        return;
    }
    n->session = 0;
    n->welcome = false;
    if (n->up)
        connect_later(s, e->index);
}

/* A controller, 'code', announces that it leads now, in epoch 'value'. */
void sim_node_summoned(struct sim *s, const struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    unsigned ctl = (unsigned)e->code;
    bool with_it = n->session && n->ctl == ctl;
    if (!n->up || sim_is_stopped(s, n) || e->value < n->epoch || with_it ||
        (n->welcome && e->value == n->epoch))
        return;
    if (n->session)
        sim_push(
            s, rng_between(&n->rng, 0, 5),
            (struct sim_event){
                .kind = SIM_LOST, .index = e->index, .ctl = n->ctl + 1, .generation = n->session});
    n->session = 0;
    n->welcome = false;
    n->ctl = ctl;
    sim_push(s, 0, (struct sim_event){.kind = SIM_CONNECT, .index = e->index});
}

/* The controller closes the session. */
void sim_node_end(struct sim *s, unsigned index, uint64_t session)
{
    struct sim_node *n = &s->nodes.data[index];
    struct sim_event event = {
        .kind = SIM_TO_NODE, .message = SIM_CLOSE, .index = index, .generation = session};
    int64_t at_ms = s->now_ms + rng_between(&n->rng, 0, 3);
    n->to_node_at_ms = at_ms = at_ms > n->to_node_at_ms ? at_ms : n->to_node_at_ms;
    sim_push(s, at_ms - s->now_ms, event);
}

void sim_node_start(struct sim *s, unsigned index)
{
    struct sim_node *n = &s->nodes.data[index];
    if (n->up)
        return;
    n->up = true;
    sim_node_connect(s, index);
}

/* --- messages of controllers --------------------------------------------------------------------
 */

static void remember_over(struct sim *s, unsigned index, const struct sim_event *kept)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeEvent *e =
        arena_unpack(&arena, &pb__node_event__descriptor, kept->body.data, kept->body.len);
    if (e && e->batch_ended && e->batch_ended->gone)
        sim_order_forget(s, index,
                         (struct sim_key){e->batch_ended->job_id, e->batch_ended->restarts});
    if (e && e->job_gone)
        sim_order_forget(s, index, (struct sim_key){e->job_gone->job_id, e->job_gone->restarts});
}

static void acknowledge_events(struct sim *s, unsigned index, uint64_t seq)
{
    struct sim_node *n = &s->nodes.data[index];
    size_t count = 0;
    while (count < n->unacked.len && n->unacked.data[count].value <= seq) {
        remember_over(s, index, &n->unacked.data[count]);
        sim_event_done(&n->unacked.data[count++]);
    }
    if (count == 0)
        return;
    memmove(n->unacked.data, n->unacked.data + count,
            (n->unacked.len - count) * sizeof *n->unacked.data);
    n->unacked.len -= count;
    n->sent = n->sent > count ? n->sent - count : 0;
}

static void take_orders(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    Pb__NodeOrders *orders =
        arena_unpack(&arena, &pb__node_orders__descriptor, e->body.data, e->body.len);
    if (!orders) {
        sim_break(s, "orders that do not decode", "%s", n->name);
        return;
    }
    sim_order_take(s, e->index, orders, e->generation == n->shut);
    if (n->repeat_until_ms > s->now_ms && !e->value) {
        struct sim_event again = *e;
        again.value = 1;
        e->body = STR_INIT;
        sim_push(s, rng_between(&n->rng, 0, 9000), again);
    }
}

void sim_node_receive(struct sim *s, struct sim_event *e)
{
    struct sim_node *n = &s->nodes.data[e->index];
    if (!n->up || !n->session || e->generation != n->session || e->generation == n->broken)
        return;
    if (sim_is_stopped(s, n)) {
        struct sim_event later = *e;
        if (e->message == SIM_CLOSE)
            n->shut = e->generation;
        e->body = STR_INIT;
        sim_push(s, n->stopped_until_ms - s->now_ms, later);
        return;
    }
    switch (e->message) {
    case SIM_WELCOME:
        n->welcome = e->value >= n->epoch;
        n->epoch = n->welcome ? e->value : n->epoch;
        break;
    case SIM_CLOSE:
        n->session = 0;
        n->welcome = false;
        connect_later(s, e->index);
        break;
    case SIM_ACK:
        if (n->welcome)
            acknowledge_events(s, e->index, e->value);
        break;
    case SIM_ORDERS:
        if (n->welcome)
            take_orders(s, e);
        break;
    case SIM_OPEN:
    case SIM_REGISTER:
    case SIM_REPORT:
        break;
    }
}
