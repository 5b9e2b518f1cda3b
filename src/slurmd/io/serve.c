/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/io/serve.h"

#include <unistd.h>

#include "base/mem.h"
#include "proto/ctl.pb-c.h"
#include "rpc/port.h"
#include "rpc/reply.h"
#include "slurmd/io/tree.h"
#include "slurmd/io/uplink.h"
#include "slurmd/job/adopt.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/prepare.h"
#include "slurmd/job/receive.h"
#include "slurmd/node/logfile.h"
#include "slurmd/step/attach.h"
#include "slurmd/usage/pids.h"
#include "slurmd/usage/usage.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

static bool is_privileged(const struct rpc_request *r)
{
    return r->roles & (RPC_WHO_ADMIN | RPC_WHO_OPERATOR);
}

/* Keeps only the jobs that the caller may see. */
static void hide_jobs(struct slurmd *d, const struct rpc_request *r, Pb__NodeStatus *m)
{
    size_t shown = 0;

    if (is_privileged(r) || !conf_is_private(d->conf, "jobs"))
        return;
    for (size_t i = 0; i < m->n_present; i++) {
        const struct attempt *a = attempt_find(d, m->present[i]->job_id, m->present[i]->restarts);
        if (a && a->note.about && (uid_t)a->note.about->uid == r->who.uid)
            m->present[shown++] = m->present[i];
    }
    m->n_present = shown;
}

static void reply_status(struct slurmd *d, const struct rpc_request *r)
{
    Pb__NodeStatus m = PB__NODE_STATUS__INIT;
    Pb__NodeRegister found = PB__NODE_REGISTER__INIT;
    _cleanup_arena_ struct arena arena;

    arena_init(&arena, 0);
    if (!is_privileged(r) && conf_is_private(d->conf, "nodes")) {
        rpc_reply_error(d->server, r->call, ERR_ACCESS, NULL);
        return;
    }
    m.name = d->name;
    m.has_connected = m.has_started_at = true;
    m.connected = d->welcome;
    if (d->controller)
        m.controller = (char *)rpc_session_peer(d->controller);
    m.started_at = d->started_at;
    m.n_present = uplink_presence(d, &arena, &m.present);
    hide_jobs(d, r, &m);
    found.name = d->name;
    found.hostname = d->host;
    found.version = SLURM_VERSION;
    uplink_fill_hardware(d, &found);
    m.found = &found;
    m.has_pid = m.has_debug = true;
    m.pid = (uint32_t)getpid();
    m.debug = logfile_level(d);
    m.log_file = d->log_file;
    rpc_reply(d->server, r->call, &m.base);
}

static void set_debug(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__DebugRequest *ask = (const Pb__DebugRequest *)r->body;
    Pb__Empty done = PB__EMPTY__INIT;
    struct err err = {0};

    if (ask->level > LOG_LVL_DEBUG3) {
        rpc_reply_error(d->server, r->call, -ERR_RANGE, "The level of the log is 0 to 7");
        return;
    }
    d->debug_given = true;
    d->debug = ask->level;
    log_info("detail of the log set to %u by uid %u (%s)", d->debug, r->who.uid, r->peer);
    if (logfile_open(d, &err) < 0)
        rpc_reply_error(d->server, r->call, err.code, err.text);
    else
        rpc_reply(d->server, r->call, &done.base);
}

static void reply_call(struct slurmd *d, const struct rpc_request *r)
{
    Pb__Empty done = PB__EMPTY__INIT;
    struct err err = {0};

    if (uplink_called(d, (const Pb__NodeCall *)r->body, &err))
        rpc_reply_error(d->server, r->call, err.code, err.text);
    else
        rpc_reply(d->server, r->call, &done.base);
}

static void on_request(void *ctx, const struct rpc_request *r)
{
    struct slurmd *d = ctx;

    slurmd_debug(d, audit_rpcs, "%s of uid %u from %s", r->rpc->name, r->who.uid, r->peer);
    switch (r->rpc->number) {
    case RPC_LAUNCH_TASKS:
        launch_tasks(d, r);
        break;
    case RPC_TREE:
        tree_take(d, r);
        break;
    case RPC_ADOPT:
        adopt_request(d, r);
        break;
    case RPC_ORIGIN:
        pids_answer_origin(d, r);
        break;
    case RPC_STEP_ATTACH:
        attach_step(d, r);
        break;
    case RPC_CAST_RECEIVE:
        receive_request(d, r);
        break;
    case RPC_MINT:
        rpc_answer_mint(d->server, r, AUTH_TTL_MS);
        break;
    case RPC_NODE_CALL:
        reply_call(d, r);
        break;
    case RPC_NODE_STATUS:
        reply_status(d, r);
        break;
    case RPC_SET_DEBUG:
        set_debug(d, r);
        break;
    case RPC_SET_DEBUG_FLAGS:
        logfile_set_flags(d, r);
        break;
    case RPC_STEP_USAGE:
        usage_answer_step(d, r);
        break;
    case RPC_NODE_PIDS:
        usage_answer_pids(d, r);
        break;
    case RPC_NODE_USAGE:
        usage_answer_node(d, r);
        break;
    default:
        rpc_reply_error(d->server, r->call, ERR_NOT_SUPPORTED,
                        "a node daemon does not answer this request");
        break;
    }
}

static void on_more(void *ctx, const struct rpc_more *more)
{
    tree_more(ctx, more);
}

static void on_gone(void *ctx, uint64_t call)
{
    tree_gone(ctx, call);
    prepare_gone(ctx, call);
    adopt_gone(ctx, call);
}

static void on_serve_refused(void *ctx, const char *peer, const char *why)
{
    static struct log_limits limits = {.burst = 60};

    if (log_allow_source(&limits, log_source(peer)))
        log_error("refused %s: %s", peer, why);
}

static void report_port_in_use(const char *why)
{
    log_error("%s", why);
}

static void answer_http(void *ctx, const struct rpc_http *request, struct rpc_http_answer *a)
{
    const struct slurmd *d = ctx;
    struct rpc_http_probes probes = {
        .daemon = "slurmd",
        .is_ready = d->welcome,
        .check = "registration",
        .why = "it is not registered with a controller",
    };

    rpc_http_answer_probe(request, &probes, a);
}

int serve_open(struct slurmd *d, struct err *err)
{
    struct rpc_server_options options = {.loop = d->loop,
                                         .key = &d->key,
                                         .audience = d->name,
                                         .admin_uid = d->conf->slurm_uid,
                                         .node_uid = d->conf->slurmd_uid};
    struct rpc_server_events events = {
        .on_request = on_request,
        .on_more = on_more,
        .on_gone = on_gone,
        .on_refused = on_serve_refused,
        .on_http = conf_offers_http(d->conf) ? answer_http : NULL,
        .ctx = d,
    };
    _cleanup_free_ char *name = conf_socket_node(d->name);
    int rc;

    rpc_set_encryption(conf_encrypts(d->conf));
    rpc_set_connect_timeout(d->conf->tcp_timeout_sec * 1000);
    d->server = rpc_server_new(&options, &events);
    rc = rpc_port_listen(d->server, NULL, d->node->port, report_port_in_use, err);
    if (rc < 0)
        return err_prefix(err, "the port of node %s", d->name);
    rc = rpc_server_listen_here(d->server, d->conf, name, err);
    if (rc > 0)
        log_info("the local socket is in %s: this user cannot write to %s",
                 d->conf->socket_dirs[rc], d->conf->socket_dirs[0]);
    return rc < 0 ? rc : 0;
}

void serve_close(struct slurmd *d)
{
    tree_free_all(d);
    rpc_server_free(take_ptr(d->server));
}
