/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Orderly shutdown: the last changes become durable, the output that waited for them leaves, node
 * daemons receive what is queued for them, the controllers in standby get the leader's request, and
 * the loop stops. Running jobs are not affected.
 */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>
#include <utlist.h>

#include "base/mem.h"
#include "base/str.h"
#include "rpc/keyed.h"
#include "rpc/reply.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/node/nodes.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/node/summon.h"

#define PATIENCE_MS 1000 /* a controller that hangs must not delay the shutdown of the others */

struct peer_request {
    struct peers *peers;
    struct rpc_keyed *call;
};

struct peers {
    struct ctld *c;
    const struct rpc_info *rpc;
    size_t open;
    void (*done)(struct ctld *c);
    struct peers *prev, *next;
    size_t count;
    struct peer_request requests[];
};

static void end_peers(struct peers *p)
{
    for (size_t i = 0; i < p->count; i++)
        rpc_keyed_drop(p->requests[i].call);
    DL_DELETE(p->c->peers, p);
    free(p);
}

void stop_drop_peers(struct ctld *c)
{
    while (c->peers)
        end_peers(c->peers);
}

static void on_told(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct peer_request *t = ctx;
    struct peers *p = t->peers;
    struct ctld *c = p->c;
    t->call = NULL;
    if (code < 0 && code != -ERR_CONNECT)
        log_error("%s: %s", p->rpc->name, err->text);
    if (--p->open)
        return;
    void (*done)(struct ctld *) = p->done;
    end_peers(p);
    if (done)
        done(c);
}

void stop_tell_peers(struct ctld *c, enum rpc_number rpc, const ProtobufCMessage *request,
                     void (*done)(struct ctld *c))
{
    const struct conf *conf = ctld_conf(c);
    const struct conf_host *me = ctld_me(c);
    struct peers *p = mem_alloc(sizeof(*p) + conf->controllers.len * sizeof(p->requests[0]));
    p->c = c;
    p->rpc = rpc_find(rpc);
    p->done = done;
    DL_APPEND(c->peers, p);
    vec_foreach (&conf->controllers, h) {
        if (str_case_eq(h->name, c->name) || (me && str_case_eq(h->own_addr, me->own_addr)))
            continue;
        struct rpc_keyed_request ask = {
            .key = &c->key,
            .addr = h->own_addr,
            .port = conf->slurmctld_port,
            .audience = "slurmctld",
            .rpc = rpc,
            .request = request,
            .timeout_ms = PATIENCE_MS,
        };
        struct peer_request *t = &p->requests[p->count++];
        t->peers = p;
        t->call = rpc_keyed_call(c->loop, &ask, on_told, t);
        p->open++;
    }
    if (p->open)
        return;
    end_peers(p);
    if (done)
        done(c);
}

#define GATHER_MS 3000 /* time for nodes to register before all daemons are told to stop */
#define GATHER_RECENT_MS                                                                           \
    60000 /* after this time as leader, all reachable nodes have registered                        \
           */
#define GATHER_LOOK_MS 20
#define FLUSH_MS 20           /* time for the last replies to reach their sockets */
#define LAST_REQUESTS_MS 1000 /* time for the first requests of connected callers */

/* A caller that has completed the handshake sends its request next. If the connection ended
 * between the two, the caller would not know whether the request was received, and a change is not
 * repeated. */
static void on_node_stop(void *ctx)
{
    struct ctld *c = ctx;
    int64_t now_ms = loop_mono_ms();
    if (!c->stop_latest_ms) {
        c->stop_latest_ms = now_ms + LAST_REQUESTS_MS;
        if (c->server)
            rpc_server_stop_accepting(c->server);
    }
    bool waits = c->server && rpc_server_count(c->server).strangers;
    if ((waits || c->stop_waited) && now_ms < c->stop_latest_ms)
        /* Once more, for the replies to the last requests. */
        loop_timer_set(c->stop_timer, FLUSH_MS);
    else
        loop_stop(c->loop);
    c->stop_waited = waits;
}

static void stop_within(struct ctld *c, int64_t ms)
{
    if (!c->stop_timer)
        c->stop_timer = loop_timer_new(c->loop, on_node_stop, c);
    loop_timer_set(c->stop_timer, ms);
}

static void begin_stop(struct ctld *c)
{
    if (c->stopping)
        return;
    c->stopping = true;
    if (!c->control) { /* in standby: no caller waits for durable changes */
        stop_within(c, FLUSH_MS);
        return;
    }
    if (c->server && !c->successor) /* otherwise callers are redirected to the successor */
        rpc_server_unlisten(c->server);
    control_stop(c->control, false);
    outbox_add(c->outbox, outbox_item_new(OUTBOX_STOP, NULL, 0));
    /* A full disk must not prevent the shutdown; changes that are not durable were not
       acknowledged. */
    stop_within(c, CTLD_STOP_COMMIT_MS);
}

void stop_begin(struct ctld *c)
{
    c->begin_anew = false;
    begin_stop(c);
}

/* --- all daemons ------------------------------------------------------------------------------ */

static void tell_daemons(struct ctld *c)
{
    Pb__ShutdownRequest same = PB__SHUTDOWN_REQUEST__INIT;
    if (c->stop_all)
        control_shutdown_nodes(c->control);
    same.has_passed_on = same.passed_on = true;
    stop_tell_peers(c, RPC_SHUTDOWN, &same.base,
                    stop_begin); /* otherwise a backup would take over */
}

static bool misses_nodes(const struct ctld *c)
{
    const struct conf *conf = ctld_conf(c);
    vec_foreach (&conf->nodes, n)
        if (!nodes_session((struct ctld *)c, n->name) && control_awaits_node(c->control, n->name))
            return true;
    return false;
}

static void on_gather(void *ctx)
{
    struct ctld *c = ctx;
    if (misses_nodes(c) && loop_mono_ms() < c->gather_until_ms) {
        loop_timer_set(c->gather, GATHER_LOOK_MS);
        return;
    }
    loop_timer_free(take_ptr(c->gather));
    tell_daemons(c);
}

/* A controller that has just taken the lead has no session yet with some running nodes, which
 * would miss the order. They are called and get some time to register. */
void stop_daemons(struct ctld *c, bool nodes_too)
{
    int64_t now_ms = loop_mono_ms();
    c->stop_all = c->stop_all || nodes_too;
    if (c->gather)
        return; /* an earlier order waits for them */
    if (!nodes_too || now_ms - c->leads_since_ms > GATHER_RECENT_MS || !misses_nodes(c)) {
        tell_daemons(c);
        return;
    }
    log_info("waiting %d s for nodes that have not registered since the start", GATHER_MS / 1000);
    c->gather_until_ms = now_ms + GATHER_MS;
    c->gather = loop_timer_new(c->loop, on_gather, c);
    loop_timer_set(c->gather, GATHER_LOOK_MS);
    summon_nodes(c);
}

void stop_to_begin_anew(struct ctld *c, bool waits)
{
    if (c->stopping)
        return;
    c->begin_anew = true;
    c->waits = waits;
    begin_stop(c);
}

/* The nodes have their orders, so the announcement is complete. A controller that is killed before
 * this is on disk will be told to stop again. */
static bool forget_announced(struct ctld *c)
{
    if (!c->stop_all || !control_is_announced(c->control))
        return false;
    c->stop_all = false;
    control_stop(c->control, true);
    outbox_add(c->outbox, outbox_item_new(OUTBOX_STOP, NULL, 0));
    outbox_turn(c->outbox);
    return true;
}

void stop_now(struct ctld *c)
{
    if (forget_announced(c))
        return;
    c->stop_left = true;
    stop_within(c, CTLD_STOP_WAIT_MS);
    if (c->successor)
        rpc_server_fail_calls(c->server, -ERR_STANDBY, err_text(ERR_STANDBY));
    nodes_finish(c);
    stop_session_closed(c);
}

void stop_session_closed(struct ctld *c)
{
    if (c->stop_left && !c->sessions_by_name)
        stop_within(c, FLUSH_MS);
}
