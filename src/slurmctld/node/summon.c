/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A controller that has taken over calls its nodes (CORE-165): a node may be connected to a
 * controller that hangs, and not notice, or be in the pause before its next attempt. Nodes without
 * a session here are called, some at a time, in a few rounds; a node that is down costs one
 * refused connection.
 */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>

#include "base/mem.h"
#include "rpc/keyed.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/node/nodes.h"
#include "slurmctld/node/summon.h"

#define PARALLEL 128
#define PATIENCE_MS 3000
#define ROUNDS 6
#define ROUND_MS 10000

struct summoned {
    struct summons *summons;
    struct rpc_keyed *call; /* NULL: free for the next node */
};

struct summons {
    struct ctld *c;
    size_t next; /* index of the next node in this round */
    unsigned rounds, called, failed;
    struct loop_timer *timer;
    struct summoned slots[PARALLEL];
};

void summon_end(struct ctld *c)
{
    struct summons *s = take_ptr(c->summons);
    if (!s)
        return;
    for (size_t i = 0; i < PARALLEL; i++)
        rpc_keyed_drop(s->slots[i].call);
    loop_timer_free(s->timer);
    free(s);
}

static void fill_slot(struct summons *s, struct summoned *slot);

static void on_answer(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct summoned *slot = ctx;
    struct summons *s = slot->summons;
    slot->call = NULL;
    if (code < 0) {
        s->failed++;
        log_debug("NODE_CALL: %s", err->text);
    }
    fill_slot(s, slot);
}

/* Calls the next node without a session. */
static void fill_slot(struct summons *s, struct summoned *slot)
{
    struct ctld *c = s->c;
    const struct conf *conf = control_conf(c->control);
    Pb__NodeCall call = PB__NODE_CALL__INIT;
    call.controller = c->name;
    call.epoch = control_epoch(c->control);
    while (!slot->call && s->next < conf->nodes.len) {
        const struct conf_node *n = &conf->nodes.data[s->next++];
        if (nodes_session(c, n->name))
            continue;
        struct rpc_keyed_request ask = {
            .key = &c->key,
            .addr = control_node_addr(c->control, n->name),
            .port = n->port,
            .audience = n->name,
            .rpc = RPC_NODE_CALL,
            .request = &call.base,
            .timeout_ms = PATIENCE_MS,
        };
        slot->call = rpc_keyed_call(c->loop, &ask, on_answer, slot);
        s->called++;
    }
}

static void on_round(void *ctx)
{
    struct summons *s = ctx;
    struct ctld *c = s->c;
    bool all = s->rounds == 0 || s->next >= control_conf(c->control)->nodes.len;
    if (all && s->rounds > 0 && s->called)
        log_verbose("%u nodes were called, %u of them did not take it", s->called, s->failed);
    if (c->stopping || (all && s->rounds == ROUNDS)) {
        summon_end(c);
        return;
    }
    if (all) {
        s->rounds++;
        s->next = 0;
        s->called = s->failed = 0;
    }
    for (size_t i = 0; i < PARALLEL; i++)
        fill_slot(s, &s->slots[i]);
    loop_timer_set(s->timer, ROUND_MS);
}

void summon_nodes(struct ctld *c)
{
    struct summons *s = mem_new(struct summons);
    summon_end(c);
    c->summons = s;
    s->c = c;
    for (size_t i = 0; i < PARALLEL; i++)
        s->slots[i].summons = s;
    s->timer = loop_timer_new(c->loop, on_round, s);
    loop_timer_set(s->timer, 0);
}
