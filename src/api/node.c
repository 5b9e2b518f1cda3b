/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "api/api.h"
#include "proto/common.pb-c.h"
#include "proto/node.pb-c.h"

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static const char *base_name(enum _Pb__NodeBase base)
{
    static const char *const names[] = {"UNKNOWN", "DOWN",   "IDLE", "ALLOCATED",
                                        "MIXED",   "FUTURE", "ERROR"};

    return (size_t)base < sizeof(names) / sizeof(names[0]) ? names[base] : "UNKNOWN";
}

struct each_node {
    sluice_node_fn *fn;
    void *ctx;
    struct api_stamp stamp;
};

static int on_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    struct each_node *each = ctx;

    api_stamp_take(&each->stamp, part->has_stamp, part->stamp);
    for (size_t i = 0; i < part->n_nodes; i++) {
        const Pb__NodeRecord *r = part->nodes[i];
        struct sluice_node node = {
            .name = r->name,
            .state = base_name(r->state),
            .flags = (r->drain ? SLUICE_DRAIN : 0u) | (r->fail ? SLUICE_FAIL : 0u) |
                     (r->completing ? SLUICE_COMPLETING : 0u) |
                     (r->no_respond ? SLUICE_SILENT : 0u),
            .reason = or_empty(r->reason),
            .features = or_empty(r->active_features),
            .partitions = or_empty(r->partitions),
            .cpus = r->cpus,
            .cpus_in_use = r->alloc_cpus,
            .weight = r->weight,
            .memory_mib = r->real_memory_mib - r->mem_spec_mib,
            .memory_in_use_mib = r->alloc_mem_mib,
            .tmp_disk_mib = r->tmp_disk_mib,
            .real_cpus = r->real_cpus,
            .real_memory_mib = r->real_mem_registered_mib,
            .real_tmp_disk_mib = r->real_tmp_mib,
        };
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
    int rc = rpc_call_stream(s->client, RPC_NODE_LIST, &filter.base, on_nodes, &each, &err);
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
