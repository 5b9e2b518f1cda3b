/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sends output whose changes are durable, so that stored payloads can be read back. */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "rpc/reply.h"
#include "slurmctld/core/answers.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/job_comp.h"
#include "slurmctld/node/nodes.h"
#include "slurmctld/node/payload.h"
#include "slurmctld/node/send.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/script/scripts.h"

/* Returns 0: *data is borrowed until the next payload_cache call. Positive: it must be read.
 * Negative: it is unavailable; err has the reason. */
static int find_payload(struct ctld *c, const struct send_reads *reads, uint64_t number,
                        const void **data, size_t *len, struct err *err)
{
    *data = payload_cache_get(c->payloads, number, len);
    if (*data)
        return 0;
    for (size_t i = 0; reads && i < reads->count; i++) {
        const struct store_read *r = &reads->reads[i];
        if (!r->was_read || r->number != number)
            continue;
        *data = r->data;
        *len = r->len;
        return r->rc ? err_set(err, r->rc, "%s", r->err.text) : 0;
    }
    return 1;
}

/* Like find_payload(), unpacked in the arena. */
static int unpack_payload(struct ctld *c, const struct send_reads *reads, uint64_t number,
                          struct arena *a, Pb__JobPayload **payload, struct err *err)
{
    const void *data = NULL;
    size_t len = 0;
    int rc = find_payload(c, reads, number, &data, &len, err);
    if (rc)
        return rc;
    *payload = arena_unpack(a, &pb__job_payload__descriptor, data, len);
    if (!*payload)
        return err_set(err, -ERR_STORE_DAMAGED, "the stored script of job %llu cannot be decoded",
                       (unsigned long long)number);
    return 0;
}

uint64_t send_payload_number(const Pb__LaunchBatch *launch)
{
    return launch->has_payload_job_id ? launch->payload_job_id : launch->job_id;
}

/* Adds the variables of its burst buffer, one per line. */
static void add_burst_env(Pb__LaunchBatch *launch, struct arena *a)
{
    Pb__JobPayload *p = launch->payload;
    char *text = arena_strdup(a, launch->burst_env), *save = NULL;
    size_t lines = 1;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    char **env = arena_alloc(a, sizeof(*env) * (p->n_env + lines));
    if (p->n_env)
        memcpy(env, p->env, sizeof(*env) * p->n_env);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        if (strchr(line, '=') && *line != '=')
            env[p->n_env++] = line;
    p->env = env;
}

/* Returns 0: *bytes is roughly what the payload adds to the message. Positive: it must be read.
 * Negative: the launch is dropped. */
static int add_payload(struct ctld *c, const struct send_reads *reads, Pb__LaunchBatch *launch,
                       struct arena *a, size_t *bytes)
{
    struct err err = {0};
    uint64_t number = send_payload_number(launch);
    int rc = unpack_payload(c, reads, number, a, &launch->payload, &err);
    if (rc > 0)
        return rc;
    if (rc == -ERR_STORE) {
        log_error("job %u is launched when its script can be read: %s", launch->job_id, err.text);
        return rc;
    }
    /* A repeated launch is rare and can read the store; the elements of an array share a payload,
       which therefore stays. */
    if (!launch->has_payload_job_id)
        payload_cache_drop(c->payloads, number);
    if (rc == 0 && launch->burst_env)
        add_burst_env(launch, a);
    launch->burst_env = NULL;
    if (rc < 0)
        log_error("job %u is launched without its script: %s", launch->job_id, err.text);
    else
        *bytes += protobuf_c_message_get_packed_size(&launch->payload->base);
    return 0;
}

static size_t components_bytes(const Pb__LaunchBatch *launch)
{
    size_t bytes = 0;
    for (size_t i = 0; i < launch->n_components; i++)
        bytes += protobuf_c_message_get_packed_size(&launch->components[i]->base);
    return bytes;
}

/* A launch whose payload is unreadable now is dropped, and repeated while it is unconfirmed.
   Orders before one that must be read are sent, because the orders of a message are
   independent. */
static int send_orders(struct ctld *c, struct rpc_session *to, const struct outbox_item *item,
                       const struct send_reads *reads, size_t *sent)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    Pb__NodeOrders *all = arena_unpack(&a, &pb__node_orders__descriptor, item->data, item->len);
    if (!all)
        return 0;
    if (ctld_debugs(c, CONF_DEBUG_agent) && *sent == 0)
        log_info("Agent: %zu orders for node %s", all->n_orders, nodes_name(c, item->session));
    Pb__NodeOrders part = PB__NODE_ORDERS__INIT;
    part.orders = all->orders + *sent;
    size_t bytes = 0;
    int rc = 0;
    while (*sent < all->n_orders) {
        Pb__NodeOrder *order = all->orders[*sent];
        rc = order->launch ? add_payload(c, reads, order->launch, &a, &bytes) : 0;
        bytes += rc == 0 && order->launch ? components_bytes(order->launch) : 0;
        if (rc > 0)
            break;
        ++*sent;
        if (rc == 0)
            part.orders[part.n_orders++] = order;
        if (bytes >= CTLD_ORDERS_MESSAGE) { /* the size of a message is limited */
            rpc_session_send(to, RPC_NODE_ORDERS, &part.base);
            part.orders += part.n_orders;
            part.n_orders = 0;
            bytes = 0;
        }
    }
    if (part.n_orders)
        rpc_session_send(to, RPC_NODE_ORDERS, &part.base);
    return rc > 0;
}

/* Returns the location of the node in a network; NULL: the network is flat. */
static Pb__TopologyAddress *make_address(const struct conf *conf, const struct conf_network *net,
                                         long node, struct arena *a)
{
    _cleanup_str_ struct str address = STR_INIT, pattern = STR_INIT;
    if (net->kind == CONF_TOPO_FLAT || node < 0)
        return NULL;
    conf_topo_address(conf, net, (uint32_t)node, &address, &pattern);
    Pb__TopologyAddress *m = arena_alloc(a, sizeof(*m));
    pb__topology_address__init(m);
    m->topology = (char *)net->name;
    m->address = arena_strdup(a, str_cstr(&address));
    m->pattern = arena_strdup(a, str_cstr(&pattern));
    return m;
}

/* Adds the addresses for the environment of the node's tasks. */
static void put_addresses(const struct conf *conf, const char *name, Pb__NodeWelcome *welcome,
                          struct arena *a)
{
    long node = name ? conf_find_node(conf, name) : -1;
    welcome->topologies = arena_alloc(a, conf->networks.len * sizeof(*welcome->topologies));
    vec_foreach (&conf->networks, net) {
        Pb__TopologyAddress *m = make_address(conf, net, node, a);
        if (m && net == conf_default_network(conf)) {
            welcome->topology_addr = m->address;
            welcome->topology_pattern = m->pattern;
        } else if (m) {
            welcome->topologies[welcome->n_topologies++] = m;
        }
    }
}

static void send_welcome(struct ctld *c, struct rpc_session *to, uint64_t session, uint64_t epoch)
{
    _cleanup_arena_ struct arena a;
    const struct conf *conf = control_conf(c->control);
    arena_init(&a, 0);
    Pb__NodeWelcome welcome = PB__NODE_WELCOME__INIT;
    welcome.cred_public_key.data = c->cred_public_key;
    welcome.cred_public_key.len = sizeof(c->cred_public_key);
    welcome.epoch = epoch;
    welcome.cluster = (char *)conf->cluster_name;
    welcome.has_conf_hash = welcome.has_timeout_sec = true;
    welcome.conf_hash = conf->hash;
    welcome.timeout_sec = conf->slurmd_timeout_sec;
    put_addresses(conf, nodes_name(c, session), &welcome, &a);
    rpc_session_send(to, RPC_NODE_WELCOME, &welcome.base);
}

static void send_ack(struct rpc_session *to, uint64_t seq)
{
    Pb__NodeAck ack = PB__NODE_ACK__INIT;
    ack.seq = seq;
    rpc_session_send(to, RPC_NODE_ACK, &ack.base);
}

static int send_to_node(struct ctld *c, const struct outbox_item *item,
                        const struct send_reads *reads, size_t *sent)
{
    struct rpc_session *to = nodes_find(c, item->session);
    if (!to)
        return 0;
    if (item->kind == OUTBOX_ORDERS)
        return send_orders(c, to, item, reads, sent);
    if (item->kind == OUTBOX_ACK)
        send_ack(to, item->number);
    else
        send_welcome(c, to, item->session, item->number);
    return 0;
}

static int send_script(struct ctld *c, const struct send_reads *reads, uint64_t call,
                       uint64_t job_id)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    struct err err = {0};
    Pb__JobPayload *payload = NULL;
    Pb__JobScript reply = PB__JOB_SCRIPT__INIT;
    if (!rpc_call_is_open(c->server, call))
        return 0;
    int rc = unpack_payload(c, reads, job_id, &a, &payload, &err);
    if (rc > 0)
        return rc;
    if (rc == -ENOENT || (rc == 0 && !payload->has_script))
        rc = err_set(&err, -ERR_NO_JOB, "Job %llu has no batch script", (unsigned long long)job_id);
    if (rc) {
        rpc_reply_error(c->server, call, rc, err.text);
        return 0;
    }
    reply.has_script = true;
    reply.script = payload->script;
    rpc_reply(c->server, call, &reply.base);
    return 0;
}

/* Adds the stored script of its job to a burst buffer function. The function runs without it, too,
 * because the buffer has to be torn down in any case. Positive: it must be read. */
static int add_script(struct ctld *c, const struct send_reads *reads, Pb__ScriptRun *m,
                      struct arena *a)
{
    struct err err = {0};
    Pb__JobPayload *payload = NULL;
    int rc = unpack_payload(c, reads, m->payload_job_id, a, &payload, &err);
    if (rc > 0)
        return rc;
    if (rc < 0)
        log_error("job %u: %s runs without its script: %s", m->job_id, m->function, err.text);
    else if (payload->has_script) {
        m->has_script = true;
        m->script = payload->script;
    }
    return 0;
}

static int send_to_helper(struct ctld *c, const struct outbox_item *item,
                          const struct send_reads *reads)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    Pb__ScriptRun *m = arena_unpack(&a, &pb__script_run__descriptor, item->data, item->len);
    if (!m || !c->scripts)
        return 0;
    if (item->kind == OUTBOX_RUN_END) {
        scripts_stop(c->scripts, m);
        return 0;
    }
    if (m->has_payload_job_id && add_script(c, reads, m, &a) > 0)
        return 1;
    const struct conf *conf = control_conf(c->control);
    uint32_t owners[] = {conf->slurm_uid, conf->slurmd_uid};
    m->owner = owners;
    m->n_owner = 2;
    scripts_run(c->scripts, m);
    return 0;
}

int send_try(struct ctld *c, const struct outbox_item *item, const struct send_reads *reads,
             size_t *sent)
{
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
        return send_script(c, reads, item->call, item->number);
    case OUTBOX_UNKNOWN:
        nodes_close_unknown(c, control_conf(c->control));
        break;
    case OUTBOX_RUN:
    case OUTBOX_RUN_END:
        return send_to_helper(c, item, reads);
    case OUTBOX_JOB_ENDED:
        job_comp_write(c, item->data, item->len);
        break;
    case OUTBOX_STOP:
        stop_now(c);
        break;
    case OUTBOX_ORDERS:
    case OUTBOX_ACK:
    case OUTBOX_WELCOME:
        return send_to_node(c, item, reads, sent);
    }
    return 0;
}

void send_item(void *ctx, const struct outbox_item *item)
{
    struct ctld *c = ctx;
    size_t sent = 0;
    if (send_queue_holds(c, item) || send_try(c, item, NULL, &sent))
        send_queue_add(c, item, sent);
}
