/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What may leave now: its changes are durable, so that stored bytes can be read back here. */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "slurmctld/ctld.h"

/* A job's payload out of the cache or the store, unpacked in the arena. NULL: err says why. */
static Pb__JobPayload *payload_get(struct ctld *c, uint64_t job_id, struct arena *a,
                                   struct err *err)
{
    size_t len = 0;
    _cleanup_free_ void *read = NULL;
    const void *data = payload_cache_get(c->payloads, job_id, &len);
    if (!data) {
        if (store_get(c->store, RECORD_PAYLOAD, job_id, &read, &len, err))
            return NULL;
        data = read;
    }
    Pb__JobPayload *payload = arena_unpack(a, &pb__job_payload__descriptor, data, len);
    if (!payload)
        err_set(err, -ERR_STORE_DAMAGED, "the stored script of job %llu cannot be decoded",
                (unsigned long long)job_id);
    return payload;
}

/* About how many bytes the payload adds to a message. -ERR_STORE: it cannot be read now. */
static long payload_add(struct ctld *c, Pb__LaunchBatch *launch, struct arena *a)
{
    struct err err = {0};
    uint32_t number = launch->has_payload_job_id ? launch->payload_job_id : launch->job_id;
    launch->payload = payload_get(c, number, a, &err);
    if (!launch->payload && err.code == -ERR_STORE) {
        log_error("job %u is launched when its script can be read: %s", launch->job_id, err.text);
        return err.code;
    }
    if (!launch->has_payload_job_id) /* a repeat is rare and can be read; other elements are not */
        payload_cache_drop(c->payloads, number);
    if (!launch->payload) {
        log_error("job %u is launched without its script: %s", launch->job_id, err.text);
        return 0;
    }
    return (long)protobuf_c_message_get_packed_size(&launch->payload->base);
}

/* A launch whose payload cannot be read now is left out: it is repeated while it is unconfirmed. */
static void send_orders(struct ctld *c, struct rpc_session *to, const struct outbox_item *item)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    Pb__NodeOrders *all = arena_unpack(&a, &pb__node_orders__descriptor, item->data, item->len);
    if (!all)
        return;
    if (ctld_debugs(c, CONF_DEBUG_agent))
        log_info("Agent: %zu orders for node %s", all->n_orders, nodes_name(c, item->session));
    Pb__NodeOrders part = PB__NODE_ORDERS__INIT;
    part.orders = all->orders;
    size_t bytes = 0;
    for (size_t i = 0; i < all->n_orders; i++) {
        long more = all->orders[i]->launch ? payload_add(c, all->orders[i]->launch, &a) : 0;
        if (more >= 0) {
            part.orders[part.n_orders++] = all->orders[i];
            bytes += (size_t)more;
        }
        /* A message has a limit; the orders of one do not depend on each other. */
        if (part.n_orders && (bytes >= CTLD_ORDERS_MESSAGE || i + 1 == all->n_orders)) {
            rpc_session_send(to, RPC_NODE_ORDERS, &part.base);
            part.orders += part.n_orders;
            part.n_orders = 0;
            bytes = 0;
        }
    }
}

/* Where the node is in the network, for the environment of its tasks. */
static void put_address(struct ctld *c, const char *name, struct str *address, struct str *pattern)
{
    const struct conf *conf = control_conf(c->control);
    long node = name ? conf_find_node(conf, name) : -1;
    if (node >= 0 && conf->network.kind != CONF_TOPO_FLAT)
        conf_topo_address(conf, (uint32_t)node, address, pattern);
}

static void send_welcome(struct ctld *c, struct rpc_session *to, uint64_t session, uint64_t epoch)
{
    _cleanup_str_ struct str address = STR_INIT, pattern = STR_INIT;
    const struct conf *conf = control_conf(c->control);
    Pb__NodeWelcome welcome = PB__NODE_WELCOME__INIT;
    welcome.cred_public_key.data = c->cred_public_key;
    welcome.cred_public_key.len = sizeof(c->cred_public_key);
    welcome.epoch = epoch;
    welcome.cluster = (char *)conf->cluster_name;
    welcome.has_conf_hash = welcome.has_timeout_sec = true;
    welcome.conf_hash = conf->hash;
    welcome.timeout_sec = conf->slurmd_timeout_sec;
    put_address(c, nodes_name(c, session), &address, &pattern);
    if (address.len) {
        welcome.topology_addr = (char *)str_cstr(&address);
        welcome.topology_pattern = (char *)str_cstr(&pattern);
    }
    rpc_session_send(to, RPC_NODE_WELCOME, &welcome.base);
}

static void send_ack(struct rpc_session *to, uint64_t seq)
{
    Pb__NodeAck ack = PB__NODE_ACK__INIT;
    ack.seq = seq;
    rpc_session_send(to, RPC_NODE_ACK, &ack.base);
}

static void send_to_node(struct ctld *c, const struct outbox_item *item)
{
    struct rpc_session *to = nodes_find(c, item->session);
    if (!to)
        return;
    if (item->kind == OUTBOX_ORDERS)
        send_orders(c, to, item);
    else if (item->kind == OUTBOX_ACK)
        send_ack(to, item->number);
    else
        send_welcome(c, to, item->session, item->number);
}

static void send_script(struct ctld *c, uint64_t call, uint64_t job_id)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    struct err err = {0};
    Pb__JobScript reply = PB__JOB_SCRIPT__INIT;
    if (!rpc_call_is_open(c->server, call))
        return;
    const Pb__JobPayload *payload = payload_get(c, job_id, &a, &err);
    if (!payload && err.code != -ENOENT) {
        rpc_reply_error(c->server, call, err.code, err.text);
        return;
    }
    if (!payload || !payload->has_script) {
        err_set(&err, -ERR_NO_JOB, "Job %llu has no batch script", (unsigned long long)job_id);
        rpc_reply_error(c->server, call, err.code, err.text);
        return;
    }
    reply.has_script = true;
    reply.script = payload->script;
    rpc_reply(c->server, call, &reply.base);
}

static void send_to_helper(struct ctld *c, const struct outbox_item *item)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    Pb__ScriptRun *m = arena_unpack(&a, &pb__script_run__descriptor, item->data, item->len);
    if (!m || !c->scripts)
        return;
    if (item->kind == OUTBOX_RUN_END) {
        scripts_stop(c->scripts, m);
        return;
    }
    const struct conf *conf = control_conf(c->control);
    uint32_t owners[] = {conf->slurm_uid, conf->slurmd_uid};
    m->owner = owners;
    m->n_owner = 2;
    scripts_run(c->scripts, m);
}

void send_item(void *ctx, const struct outbox_item *item)
{
    struct ctld *c = ctx;
    switch (item->kind) {
    case OUTBOX_REPLY:
        rpc_reply_bytes(c->server, item->call, item->data, item->len, item->more);
        break;
    case OUTBOX_ERROR:
        rpc_reply_error(c->server, item->call, item->code, item->data);
        break;
    case OUTBOX_ANSWER:
        answers_send(c->answers, item->number);
        break;
    case OUTBOX_SCRIPT:
        send_script(c, item->call, item->number);
        break;
    case OUTBOX_UNKNOWN:
        nodes_close_unknown(c, control_conf(c->control));
        break;
    case OUTBOX_RUN:
    case OUTBOX_RUN_END:
        send_to_helper(c, item);
        break;
    case OUTBOX_JOB_ENDED:
        job_comp_write(c, item->data, item->len);
        break;
    case OUTBOX_STOP:
        stop_now(c);
        break;
    case OUTBOX_ORDERS:
    case OUTBOX_ACK:
    case OUTBOX_WELCOME:
        send_to_node(c, item);
        break;
    }
}
