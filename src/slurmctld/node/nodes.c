/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sessions of node daemons: one per node, the newest. Nodes without their own slurm.conf fetch
 * the configuration over a session.
 */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/diag.h"
#include "slurmctld/node/node_dynamic.h"
#include "slurmctld/node/nodes.h"
#include "slurmctld/node/stop.h"

/* Serves this controller's configuration to nodes without a slurm.conf, over a session: both sides
 * know the cluster key, so that no third party can forge the configuration. */

#define CONFIG_TEXT_MAX (RPC_BODY_MAX - 65536u)
#define CONFIG_SECOND_MAX                                                                          \
    (64u << 20) /* bytes sent per second, since unsent bytes are in memory                         \
                 */

/* Whether this second's limit allows another len bytes. */
static bool may_send_config(struct ctld *c, size_t len)
{
    int64_t now = loop_mono_ms();

    if (now - c->conf_sent_at >= 1000) {
        c->conf_sent_at = now;
        c->conf_sent = 0;
    }
    if (c->conf_sent && c->conf_sent + len > CONFIG_SECOND_MAX)
        return false;
    c->conf_sent += len;
    return true;
}

static void answer_config_request(struct ctld *c, struct rpc_session *s)
{
    static struct log_limit limit = {.burst = 60};
    const struct conf *conf = control_conf(c->control);
    Pb__NodeConfig m = PB__NODE_CONFIG__INIT;
    struct err err = {0};
    size_t len = 0;
    const char *text = conf->enable_configless ? conf_flat_text(conf, &len) : NULL;

    if (!text)
        err_set(&err, -ERR_NOT_SUPPORTED,
                "this controller sends no configuration: %s has no "
                "SlurmctldParameters=enable_configless",
                conf->path);
    else if (len > CONFIG_TEXT_MAX)
        err_set(&err, -ERR_TOO_BIG,
                "%s and its Include files have %zu bytes, of which a configless node takes %u",
                conf->path, len, CONFIG_TEXT_MAX);
    if (err.code) {
        if (log_allow(&limit))
            log_error("refused %s: %s", rpc_session_peer(s), err.text);
        m.has_code = true;
        m.code = err.code;
        m.error = err.text;
    } else if (!may_send_config(c, len)) {
        m.has_retry_ms = true;
        m.retry_ms = 1000;
    } else {
        m.has_hash = m.has_text = true;
        m.hash = conf->hash;
        m.text = (ProtobufCBinaryData){len, (uint8_t *)text};
        log_debug("%s gets the configuration", rpc_session_peer(s));
    }
    rpc_session_send(s, RPC_NODE_CONFIG, &m.base);
}

static void on_configless_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                                  const ProtobufCMessage *body)
{
    struct ctld *c = ctx;

    if (!c->stopping && rpc->number == RPC_NODE_CONFIG_ASK)
        answer_config_request(c, s);
}

/* The session is only used to fetch the configuration. */
static void accept_configless(struct ctld *c, struct rpc_session *s)
{
    rpc_session_set_events(
        s, &(struct rpc_session_events){.on_message = on_configless_message, .ctx = c});
}

struct node_session {
    struct ctld *c;
    struct rpc_session *s;
    uint64_t id;
    bool dismissed; /* to be closed even if the node is configured meanwhile */
    UT_hash_handle hh, hh_id;
    char name[];
};

static struct node_session *by_name(struct ctld *c, const char *name)
{
    struct node_session *n;
    HASH_FIND(hh, c->sessions_by_name, name, strlen(name), n);
    return n;
}

static void forget_session(struct ctld *c, struct node_session *n)
{
    HASH_DELETE(hh, c->sessions_by_name, n);
    HASH_DELETE(hh_id, c->sessions_by_id, n);
    free(n);
}

static void on_nodes_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                             const ProtobufCMessage *body)
{
    struct node_session *n = ctx;
    struct ctld *c = n->c;
    if (c->stopping)
        return;
    int64_t begun_usec = diag_clock(c);
    if (rpc->number == RPC_NODE_REGISTER)
        control_node_register(c->control, n->name, (const Pb__NodeRegister *)body);
    else if (rpc->number == RPC_NODE_REPORT)
        control_node_report(c->control, n->name, (const Pb__NodeReport *)body);
    else if (rpc->number == RPC_NODE_CONFIG_ASK)
        answer_config_request(c, s);
    else
        log_error("%s sent %s, which is not for a controller", rpc_session_peer(s), rpc->name);
    diag_count(c->diag, rpc, control_conf(c->control)->slurmd_uid, begun_usec);
}

static void on_nodes_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    struct node_session *n = ctx;
    struct ctld *c = n->c;
    if (c->stopping) {
        forget_session(c, n);
        stop_session_closed(c);
        return;
    }
    log_verbose("the connection to node %s ended: %s", n->name,
                why && why->code ? why->text : "it hung up");
    control_node_lost(c->control, n->name);
    forget_session(c, n);
}

static struct node_session *adopt_session(struct ctld *c, struct rpc_session *s, const char *name)
{
    struct node_session *old = by_name(c, name);
    if (old) {
        /* The node was restarted, or its connection broke unnoticed. */
        rpc_session_free(old->s);
        forget_session(c, old);
    }
    size_t len = strlen(name);
    struct node_session *n = mem_alloc(sizeof(*n) + len + 1);
    n->c = c;
    n->s = s;
    n->id = ++c->last_session;
    memcpy(n->name, name, len + 1);
    HASH_ADD_KEYPTR(hh, c->sessions_by_name, n->name, len, n);
    HASH_ADD(hh_id, c->sessions_by_id, id, sizeof(n->id), n);
    rpc_session_set_events(s, &(struct rpc_session_events){.on_message = on_nodes_message,
                                                           .on_close = on_nodes_close,
                                                           .ctx = n});
    log_debug("session of %s", rpc_session_peer(s));
    return n;
}

void nodes_dismiss(struct ctld *c, struct rpc_session *s, const char *name,
                   const Pb__NodeRegister *r)
{
    adopt_session(c, s, name)->dismissed = true;
    control_node_register(c->control, name, r);
    outbox_add(c->outbox, outbox_item_new(OUTBOX_UNKNOWN, NULL, 0));
}

void nodes_accept(void *ctx, struct rpc_session *s, const char *name)
{
    static struct log_limit limit = {.burst = 60};
    struct ctld *c = ctx;
    if (!c->stopping && name[0] == '@') {
        accept_configless(c, s);
        return;
    }
    bool known = !c->stopping && conf_find_node(control_conf(c->control), name) >= 0;
    if (!c->stopping && !known && node_dynamic_accept(c, s, name))
        return;
    if (!known) {
        if (!c->stopping && log_allow(&limit))
            log_error("refused: %s: too many nodes that are not in %s", rpc_session_peer(s),
                      c->conf_path);
        rpc_session_free(s);
        return;
    }
    adopt_session(c, s, name);
}

uint64_t nodes_session(struct ctld *c, const char *node)
{
    const struct node_session *n = by_name(c, node);
    return n ? n->id : 0;
}

struct rpc_session *nodes_find(struct ctld *c, uint64_t session)
{
    struct node_session *n;
    HASH_FIND(hh_id, c->sessions_by_id, &session, sizeof(session), n);
    return n ? n->s : NULL;
}

const char *nodes_name(struct ctld *c, uint64_t session)
{
    struct node_session *n;
    HASH_FIND(hh_id, c->sessions_by_id, &session, sizeof(session), n);
    return n ? n->name : NULL;
}

void nodes_close(struct ctld *c, const char *node)
{
    struct node_session *n = by_name(c, node);
    if (!n || c->stopping) /* all sessions are being closed */
        return;
    log_verbose("the session of %s is closed", rpc_session_peer(n->s));
    rpc_session_free(n->s);
    forget_session(c, n);
}

void nodes_close_unknown(struct ctld *c, const struct conf *conf)
{
    struct node_session *n, *next;
    HASH_ITER (hh, c->sessions_by_name, n, next) {
        if (!n->dismissed && conf_find_node(conf, n->name) >= 0)
            continue;
        rpc_session_finish(n->s);
    }
}

void nodes_finish(struct ctld *c)
{
    struct node_session *n, *next;
    HASH_ITER (hh, c->sessions_by_name, n, next)
        rpc_session_finish(n->s);
}

void nodes_forget(struct ctld *c)
{
    while (c->sessions_by_name)
        forget_session(c, c->sessions_by_name);
}
