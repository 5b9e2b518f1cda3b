/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nodes, and what external schedulers need: queue order, holds, placement.
 */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "api/record.h"
#include "base/mem.h"
#include "proto/common.pb-c.h"
#include "proto/ctl.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/prio.pb-c.h"

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

#define AT_A_TIME 1000 /* items per request */

static int update_job(struct sluice *s, const Pb__JobUpdate *request, struct sluice_error *e)
{
    Pb__Empty *reply = NULL;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    return api_fail(e, rpc_call(s->client, RPC_JOB_UPDATE, &request->base, 0, &arena, &reply, &err),
                    &err);
}

/* elements NULL: all elements. */
static int set_hold(struct sluice *s, uint32_t job_id, const char *elements, bool hold,
                    struct sluice_error *e)
{
    Pb__JobUpdate request = PB__JOB_UPDATE__INIT;

    request.job_id = job_id;
    request.array_tasks = (char *)elements;
    request.has_hold = true;
    request.hold = hold;
    return update_job(s, &request, e);
}

API int sluice_hold(struct sluice *s, uint32_t job_id, struct sluice_error *e)
{
    return set_hold(s, job_id, NULL, true, e);
}

API int sluice_release(struct sluice *s, uint32_t job_id, struct sluice_error *e)
{
    return set_hold(s, job_id, NULL, false, e);
}

API int sluice_hold_elements(struct sluice *s, uint32_t array_job_id, const char *elements,
                             struct sluice_error *e)
{
    int rc = api_check_elements(elements, e);

    return rc ? rc : set_hold(s, array_job_id, elements, true, e);
}

API int sluice_release_elements(struct sluice *s, uint32_t array_job_id, const char *elements,
                                struct sluice_error *e)
{
    int rc = api_check_elements(elements, e);

    return rc ? rc : set_hold(s, array_job_id, elements, false, e);
}

static int order_some(struct sluice *s, const struct sluice_place *list, size_t count,
                      sluice_refused_fn *refused, void *ctx, struct err *err)
{
    _cleanup_free_ Pb__JobPriority *jobs = mem_new_array(Pb__JobPriority, count + 1);
    _cleanup_free_ Pb__JobPriority **pointers = mem_new_array(Pb__JobPriority *, count + 1);
    Pb__QueueOrder request = PB__QUEUE_ORDER__INIT;
    Pb__QueueReply *reply = NULL;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    for (size_t i = 0; i < count; i++) {
        pb__job_priority__init(&jobs[i]);
        jobs[i].job_id = list[i].job_id;
        jobs[i].priority = list[i].priority;
        jobs[i].array_tasks = (char *)list[i].elements;
        pointers[i] = &jobs[i];
    }
    request.jobs = pointers;
    request.n_jobs = count;
    int rc = rpc_call(s->client, RPC_QUEUE_ORDER, &request.base, 0, &arena, &reply, err);
    for (size_t i = 0; rc == 0 && refused && i < reply->n_refused; i++)
        refused(ctx, reply->refused[i]->job_id, reply->refused[i]->code, reply->refused[i]->text);
    return rc;
}

API int sluice_order(struct sluice *s, const struct sluice_place *list, size_t count,
                     sluice_refused_fn *refused, void *ctx, struct sluice_error *e)
{
    struct err err = {0};
    int rc = 0;

    for (size_t at = 0; at < count && rc == 0; at += AT_A_TIME)
        rc = order_some(s, list + at, count - at < AT_A_TIME ? count - at : AT_A_TIME, refused, ctx,
                        &err);
    return api_fail(e, rc, &err);
}

API int sluice_start(struct sluice *s, uint32_t job_id, const char *nodes, struct sluice_error *e)
{
    Pb__JobPlace request = PB__JOB_PLACE__INIT;
    Pb__Empty *reply = NULL;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    if (!nodes || !*nodes)
        return api_fail(e, err_set(&err, -ERR_RANGE, "nodes are needed"), &err);
    request.job_id = job_id;
    request.nodes = (char *)nodes;
    return api_fail(e, rpc_call(s->client, RPC_JOB_PLACE, &request.base, 0, &arena, &reply, &err),
                    &err);
}

API int sluice_partition_key(struct sluice *s, const char *partition, char key[SLUICE_KEY_SIZE],
                             struct sluice_error *e)
{
    Pb__PartKeyRequest request = PB__PART_KEY_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    _cleanup_arena_ struct arena arena;
    struct err err = {0};

    arena_init(&arena, 0);
    if (!partition)
        return api_fail(e, err_set(&err, -ERR_RANGE, "a partition is needed"), &err);
    request.partition = (char *)partition;
    int rc = rpc_call(s->client, RPC_PART_KEY, &request.base, 0, &arena, &reply, &err);
    if (rc == 0)
        snprintf(key, SLUICE_KEY_SIZE, "%s", reply->text);
    return api_fail(e, rc, &err);
}
