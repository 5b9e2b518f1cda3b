/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/api.h"
#include "api/record.h"
#include "proto/common.pb-c.h"
#include "proto/node.pb-c.h"

struct each_node {
    sluice_node_fn *fn;
    void *ctx;
    struct api_stamp stamp;
};

static int take_listed_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    struct each_node *each = ctx;

    api_stamp_take(&each->stamp, part->has_stamp, part->stamp);
    for (size_t i = 0; i < part->n_nodes; i++) {
        struct sluice_node node;

        api_fill_node(part->nodes[i], &node);
        each->fn(each->ctx, &node);
    }
    return 0;
}

API int sluice_nodes(struct sluice *s, const char *nodes, int64_t *stamp, sluice_node_fn *fn,
                     void *ctx, struct sluice_error *e)
{
    struct each_node each = {.fn = fn, .ctx = ctx};
    Pb__NodeFilter filter = PB__NODE_FILTER__INIT;
    struct err err = {0};

    filter.nodes = (char *)nodes;
    if (stamp && *stamp) {
        filter.has_changed_since = true;
        filter.changed_since = *stamp;
    }
    int rc =
        rpc_call_stream(s->client, RPC_NODE_LIST, &filter.base, take_listed_nodes, &each, &err);
    if (rc == 0 && stamp)
        *stamp = each.stamp.value;
    return api_fail(e, rc, &err);
}

API int sluice_node_state(struct sluice *s, const char *nodes, const char *state,
                          const char *reason, struct sluice_error *e)
{
    Pb__NodeUpdate request = PB__NODE_UPDATE__INIT;
    Pb__Empty *reply = NULL;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    if (!nodes || !state)
        return api_fail(e, err_set(&err, -ERR_RANGE, "nodes and state are needed"), &err);
    request.nodes = (char *)nodes;
    request.state = (char *)state;
    request.reason = (char *)reason;
    return api_fail(e, rpc_call(s->client, RPC_NODE_UPDATE, &request.base, 0, &arena, &reply, &err),
                    &err);
}
