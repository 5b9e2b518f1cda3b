/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice usage: resources used by all processes of the nodes, by user and by job, as counted by the
 * node daemons. */
#include "base/arena.h"
#include "cli/cmd.h"
#include "cmd/sluice/sluice.h"
#include "loop/loop.h"
#include "proto/node.pb-c.h"
#include "proto/usage.pb-c.h"
#include "rpc/client.h"
#include "show/show.h"

struct question {
    struct arena arena;
    struct loop *loop;
    VEC(struct rpc_node_target) targets;
    Pb__NodeUsage **answers; /* by node; NULL: no reply */
    size_t left, failed;
};

static int on_usage_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct question *q = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;

    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pb__NodeRecord *n = part->nodes[i];
        struct rpc_node_target t = {.node = arena_strdup(&q->arena, n->name),
                                    .addr = arena_strdup(&q->arena, n->addr ? n->addr : n->name),
                                    .port = (uint16_t)n->port};

        if (n->state == PB__NODE_BASE__NODE_FUTURE)
            continue;
        vec_push(&q->targets, t);
    }
    return 0;
}

static void on_usage_answer(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                            const struct err *err)
{
    struct question *q = ctx;
    _cleanup_str_ struct str bytes = STR_INIT;

    if (code) {
        q->failed++;
        cmd_error("%s", err->text);
    } else {
        pb_pack(reply, &bytes); /* the reply is freed after this callback */
        q->answers[index] =
            arena_unpack(&q->arena, &pb__node_usage__descriptor, bytes.data, bytes.len);
    }
    if (--q->left == 0)
        loop_stop(q->loop);
}

static void print_all(const struct question *q, bool period)
{
    show_node_usage_titles(cmd_out());
    for (size_t i = 0; i < q->targets.len; i++)
        if (q->answers[i])
            show_node_usage_text(q->answers[i], period, cmd_out());
}

static void on_forgotten(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                         const struct err *err)
{
    struct question *q = ctx;

    if (code) {
        q->failed++;
        cmd_error("%s: the same period will be printed again", err->text);
    }
    loop_stop(q->loop);
}

/* The usage was printed: the nodes may reset their counters. */
static void clear_usage(struct question *q)
{
    for (size_t i = 0; i < q->targets.len; i++) {
        Pb__NodeUsageRequest request = PB__NODE_USAGE_REQUEST__INIT;
        struct rpc_fanout *fanout;

        if (!q->answers[i])
            continue;
        request.has_have = true;
        request.have = q->answers[i]->period;
        fanout = rpc_fanout_start(q->loop, cmd_conf(), &q->targets.data[i], 1, RPC_NODE_USAGE,
                                  &request.base, 0, on_forgotten, q);
        loop_run(q->loop);
        rpc_fanout_free(fanout);
    }
}

static int ask_node_usage(struct question *q, const char *nodes, bool clear)
{
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    Pb__NodeUsageRequest request = PB__NODE_USAGE_REQUEST__INIT;
    struct rpc_fanout *fanout;
    struct err err = {0};

    request.has_collect = request.collect = clear;

    filter.nodes = (char *)nodes;
    if (rpc_call_stream(cmd_client(), RPC_NODE_LIST, &filter.base, on_usage_nodes, q, &err) < 0) {
        cmd_error("%s", err.text);
        return -1;
    }
    if (!q->targets.len) {
        cmd_error("no node is named so: %s", nodes ? nodes : "ALL");
        return -1;
    }
    q->answers = arena_alloc(&q->arena, q->targets.len * sizeof(*q->answers));
    q->left = q->targets.len;
    fanout = rpc_fanout_start(q->loop, cmd_conf(), q->targets.data, q->targets.len, RPC_NODE_USAGE,
                              &request.base, 0, on_usage_answer, q);
    loop_run(q->loop);
    rpc_fanout_free(fanout);
    return 0;
}

int sluice_usage(const struct sluice_options *o, const char *const *operand)
{
    const char *nodes = operand[0];
    struct question q = {0};
    int rc, status;

    sluice_choose(o);
    arena_init(&q.arena, 0);
    q.loop = loop_new(0);
    rc = ask_node_usage(&q, nodes, o->clear);
    if (rc == 0)
        print_all(&q, o->clear);
    status = cmd_flush();
    if (rc == 0 && status == 0 && o->clear)
        clear_usage(&q);
    loop_free(q.loop);
    vec_done(&q.targets);
    arena_done(&q.arena);
    return status || rc || q.failed ? 1 : 0;
}
