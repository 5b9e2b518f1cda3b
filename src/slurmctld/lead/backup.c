/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Standby: executes the decisions of standby.c with real pings, stores and requests. The process
 * listens, answers who leads, and refuses other requests so that callers try another controller.
 */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "control/lead/standby.h"
#include "rpc/keyed.h"
#include "rpc/reply.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/lead/backup.h"
#include "slurmctld/lead/check.h"
#include "slurmctld/lead/lead.h"
#include "slurmctld/lead/shared.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/node/summon.h"
#include "slurmctld/script/scripts.h"

#define YIELD_PATIENCE_MS 2000
#define ORDER_PATIENCE_MS 15000 /* time for a leader's orderly end, and a second for loading */
/* The lead has been unavailable for this time: it will not be available soon. */
#define ORDER_FAILING_MS 3000
#define TELL_EVERY_MS 60000 /* pause between messages why it does not take over */
#define LOOK_MS 20          /* pause until the state is found to be the leader's */
/* Time that the starting process waits for the report that this one runs. */
#define SETTLE_MS 5000

struct other {
    struct backup *b;
    size_t rank;
    struct rpc_keyed *ping, *yield, *beat;
    bool waits;      /* its last reply: it does not lead */
    int64_t beat_ms; /* time of our last heartbeat to it */
};

struct backup {
    struct ctld *c;
    struct standby *logic;
    struct shared *shared;
    struct other *others; /* by rank, including this process */
    size_t count;
    struct loop_timer *timer;
    uint64_t order; /* the unanswered call of CTLD_TAKEOVER */
    int64_t order_until_ms;
    long leader; /* the leader last reported */
    int64_t told_ms;
    char *why;      /* the reason why it could not take over */
    int64_t why_ms; /* since this time */
    int64_t opened_ms;
    bool settled;
};

static void look_at_peers(struct backup *b);

static void on_backup_timer(void *ctx)
{
    look_at_peers(ctx);
}

void backup_open(struct ctld *c)
{
    const struct conf_host *me = ctld_me(c);
    struct backup *b = mem_new(struct backup);
    struct standby_options o = {
        .me = me->rank,
        .count = c->conf->controllers.len,
        .timeout_ms = c->conf->slurmctld_timeout_sec * 1000,
        .claims = me->rank == 0 && !c->options->waits,
        .deposed = c->options->yielded,
    };
    b->c = c;
    b->opened_ms = loop_mono_ms();
    b->logic = standby_new(&o, b->opened_ms);
    b->shared = shared_open(c);
    b->count = o.count;
    b->others = mem_new_array(struct other, o.count);
    for (size_t i = 0; i < o.count; i++)
        b->others[i] = (struct other){.b = b, .rank = i, .beat_ms = INT64_MIN};
    b->leader = -1;
    b->told_ms = INT64_MIN;
    b->timer = loop_timer_new(c->loop, on_backup_timer, b);
    loop_timer_set(b->timer, 0);
    c->backup = b;
    rpc_server_refuse_sessions(c->server, -ERR_STANDBY, err_text(ERR_STANDBY));
    log_info("controller %s (number %u) begins in standby", c->name, me->rank);
}

void backup_close(struct ctld *c)
{
    struct backup *b = take_ptr(c->backup);
    if (!b)
        return;
    for (size_t i = 0; i < b->count; i++) {
        rpc_keyed_drop(b->others[i].ping);
        rpc_keyed_drop(b->others[i].yield);
        rpc_keyed_drop(b->others[i].beat);
    }
    loop_timer_free(b->timer);
    standby_free(b->logic);
    shared_close(b->shared);
    free(b->others);
    free(b->why);
    free(b);
}

static const struct conf_host *host_of(const struct backup *b, size_t rank)
{
    return &b->c->conf->controllers.data[rank];
}

static void settle_backup(struct backup *b)
{
    if (b->settled)
        return;
    b->settled = true;
    b->c->on_settled(b->c);
}

/* The other controllers. */

static struct rpc_keyed *call_other(struct other *o, enum rpc_number rpc,
                                    const ProtobufCMessage *request, int64_t timeout_ms,
                                    rpc_done_fn *done)
{
    struct ctld *c = o->b->c;
    struct rpc_keyed_request ask = {
        .key = &c->key,
        .addr = host_of(o->b, o->rank)->own_addr,
        .port = c->conf->slurmctld_port,
        .audience = "slurmctld",
        .rpc = rpc,
        .request = request,
        .timeout_ms = timeout_ms,
    };
    return rpc_keyed_call(c->loop, &ask, done, o);
}

/* Whether the reply is from another controller; otherwise SlurmctldHost has a wrong address. */
static bool is_other(const struct other *o, const Pb__PingReply *reply)
{
    static struct log_limit limit = {.burst = 1};
    const struct conf_host *h = host_of(o->b, o->rank);
    if (!reply->name || str_case_eq(reply->name, h->name))
        return true;
    if (log_allow(&limit))
        log_error("at %s:%u controller %s answers, where SlurmctldHost says %s: every controller "
                  "needs an address of its own",
                  h->own_addr, o->b->c->conf->slurmctld_port, reply->name, h->name);
    return false;
}

/* The leader's triggers may wait for this backup's end. */
static void on_backup_beat(void *ctx, int code, const ProtobufCMessage *reply,
                           const struct err *err)
{
    struct other *o = ctx;
    o->beat = NULL;
    if (code)
        log_debug("CTLD_BEAT: %s", err->text);
}

static void send_beat(struct other *o)
{
    int64_t now_ms = loop_mono_ms(), every_ms = o->b->c->conf->slurmctld_timeout_sec * 1000 / 4;
    Pb__CtldBeat m = PB__CTLD_BEAT__INIT;
    if (o->beat || (o->beat_ms != INT64_MIN && now_ms - o->beat_ms < every_ms))
        return;
    o->beat_ms = now_ms;
    m.name = o->b->c->name;
    o->beat = call_other(o, RPC_CTLD_BEAT, &m.base, YIELD_PATIENCE_MS, on_backup_beat);
}

static void on_ping(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct other *o = ctx;
    struct backup *b = o->b;
    const Pb__PingReply *r = (const Pb__PingReply *)reply;
    o->ping = NULL;
    o->waits = code == 0 && is_other(o, r) && !r->primary;
    if (code == 0 && is_other(o, r)) {
        standby_heard(b->logic, o->rank, r->primary, loop_mono_ms());
        if (r->primary) {
            shared_look(b->shared, host_of(b, o->rank)->name);
            send_beat(o);
        }
    } else {
        standby_silent(b->logic, o->rank, code == -ERR_CONNECT || code == -ERR_CLOSED,
                       loop_mono_ms());
    }
    if (code)
        log_debug("PING: %s", err->text);
    look_at_peers(b);
}

static void on_yield(void *ctx, int code, const ProtobufCMessage *reply, const struct err *err)
{
    struct other *o = ctx;
    o->yield = NULL;
    if (code == 0)
        standby_accepted(o->b->logic, o->rank, loop_mono_ms());
    if (code && code != -ERR_STANDBY)
        log_error("%s does not yield: %s", host_of(o->b, o->rank)->name, err->text);
}

static void ask_to_yield(struct backup *b, size_t rank)
{
    struct other *o = &b->others[rank];
    Pb__CtldYield m = PB__CTLD_YIELD__INIT;
    if (o->yield)
        return;
    m.leader = (char *)host_of(b, rank)->name;
    m.successor = b->c->name;
    log_info("%s leads; asking it to yield", m.leader);
    o->yield = call_other(o, RPC_CTLD_YIELD, &m.base, YIELD_PATIENCE_MS, on_yield);
}

/* Taking the lead. */

static void tell_backup_failure(struct backup *b, const struct err *err)
{
    int64_t now_ms = loop_mono_ms();
    if (!b->why)
        b->why_ms = now_ms;
    free(b->why);
    b->why = mem_strdup(err->text);
    if (b->told_ms != INT64_MIN && now_ms - b->told_ms < TELL_EVERY_MS)
        return;
    b->told_ms = now_ms;
    log_error("cannot take over: %s", err->text);
}

static void end_order(struct backup *b, int code, const char *text)
{
    uint64_t order = b->order;
    Pb__Empty done = PB__EMPTY__INIT;
    b->order = 0;
    if (!order)
        return;
    if (code)
        rpc_reply_error(b->c->server, order, code, text);
    else
        ctld_reply(b->c, order, &done.base); /* when its lead is durable */
}

/* Whether every other controller has answered that it does not lead, so that its programs have
   ended. */
static bool all_others_wait(const struct backup *b)
{
    const struct conf_host *me = ctld_me(b->c);
    for (size_t i = 0; me && i < b->count; i++)
        if (i != me->rank && !b->others[i].waits)
            return false;
    return me;
}

/* The process leads: the backup's part ends. */
static void begin_lead(struct backup *b, int64_t begin_ms)
{
    struct ctld *c = b->c;
    int64_t silent_ms = standby_silence(b->logic, begin_ms);
    log_info("controller %s leads: took over in %lld ms after the other controllers had been "
             "silent for %lld.%lld s",
             c->name, (long long)(loop_mono_ms() - begin_ms), (long long)(silent_ms / 1000),
             (long long)(silent_ms % 1000 / 100));
    rpc_server_distrust_tokens(c->server);
    rpc_server_refuse_sessions(c->server, 0, NULL);
    if (all_others_wait(b) || !c->scripts)
        store_lead_settle(c->store);
    if (!store_lead_is_settled(c->store))
        scripts_hold(c->scripts);
    end_order(b, 0, NULL);
    settle_backup(b);
    backup_close(c);
    summon_nodes(c);
    lead_run_program(c, true);
}

static bool take_lead(struct backup *b)
{
    struct ctld *c = b->c;
    struct err err = {0};
    bool taken = false;
    int64_t begin_ms = loop_mono_ms();
    if (shared_fault(b->shared)) {
        err_set(&err, -ERR_LEAD, "%s", shared_fault(b->shared));
        tell_backup_failure(b, &err);
        return false;
    }
    if (lead_take(c, &taken, &err) == 0) {
        begin_lead(b, begin_ms);
        return true;
    }
    standby_could_not_take(b->logic, loop_mono_ms());
    /* The process ends if only a part of the state could be read, and at its first start if the
     * store is unavailable, except if another controller holds the lead. */
    if (taken || (!b->settled && err.code != -ERR_LEAD)) {
        log_write(LOG_LVL_FATAL, LOG_ROOM, "%s", err.text);
        c->failed = true;
        loop_stop(c->loop);
        return true;
    }
    tell_backup_failure(b, &err);
    return false;
}

static void tell_leader(struct backup *b)
{
    long leader = standby_leader(b->logic);
    if (leader == b->leader)
        return;
    b->leader = leader;
    if (leader < 0) {
        log_info("no controller leads that answers");
        return;
    }
    log_info("controller %s leads", host_of(b, (size_t)leader)->name);
    b->told_ms = INT64_MIN;
    free(take_ptr(b->why));
}

static void send_pings(struct backup *b)
{
    Pb__Empty nothing = PB__EMPTY__INIT;
    for (size_t i = 0; i < b->count; i++)
        if (standby_ping(b->logic, i, loop_mono_ms()))
            b->others[i].ping = call_other(&b->others[i], RPC_PING, &nothing.base,
                                           standby_ping_limit(b->logic), on_ping);
}

static void check_order(struct backup *b)
{
    _cleanup_free_ char *text = NULL;
    int64_t now_ms = loop_mono_ms();
    bool failing = shared_fault(b->shared) || (b->why && now_ms - b->why_ms >= ORDER_FAILING_MS);
    if (!b->order || (!failing && now_ms < b->order_until_ms))
        return;
    const char *why = shared_fault(b->shared) ? shared_fault(b->shared) : b->why;
    text = why ? mem_printf("%s cannot take over: %s", b->c->name, why)
               : mem_printf("%s cannot take over: %s has not yielded", b->c->name,
                            b->leader < 0 ? "the leader" : host_of(b, (size_t)b->leader)->name);
    standby_order(b->logic, false);
    end_order(b, -ERR_BUSY, text);
}

/* No controller is asked to yield before this one knows that it can use the state. */
static enum standby_will decide_will(struct backup *b, size_t *peer, int64_t *again_ms)
{
    *again_ms = LOOK_MS;
    if (standby_claims(b->logic) && b->leader >= 0 && !shared_is_good(b->shared))
        return STANDBY_WAIT;
    return standby_next(b->logic, loop_mono_ms(), peer, again_ms);
}

static void look_for_signs(struct backup *b)
{
    if (!standby_wants_signs(b->logic))
        return;
    enum shared_sign seen = shared_sign(b->shared, b->c->conf->slurmctld_timeout_sec * 1000 / 4);
    if (seen != SHARED_UNSEEN)
        standby_looked(b->logic, seen == SHARED_CHANGED, loop_mono_ms());
}

static void look_at_peers(struct backup *b)
{
    size_t peer = 0;
    int64_t again_ms;
    if (b->c->stopping)
        return;
    send_pings(b);
    tell_leader(b);
    look_for_signs(b);
    enum standby_will will = decide_will(b, &peer, &again_ms);
    if (will == STANDBY_ASK)
        ask_to_yield(b, peer);
    else if (will == STANDBY_TAKE && take_lead(b))
        return;
    if (will == STANDBY_TAKE || !standby_claims(b->logic) ||
        loop_mono_ms() - b->opened_ms > SETTLE_MS)
        settle_backup(b);
    check_order(b);
    loop_timer_set(b->timer, again_ms);
}

/* Requests. */

static void on_takeover(struct backup *b, const struct rpc_request *r)
{
    struct ctld *c = b->c;
    const Pb__CtldTakeover *ask = (const Pb__CtldTakeover *)r->body;
    if (!str_case_eq(ask->successor, c->name)) {
        _cleanup_free_ char *text =
            mem_printf("this is controller %s, not %s", c->name, ask->successor);
        rpc_reply_error(c->server, r->call, -ERR_CONFIG, text);
        return;
    }
    log_info("takeover ordered by uid %u (%s)", r->who.uid, r->peer);
    end_order(b, -ERR_BUSY, "another takeover was ordered");
    free(take_ptr(b->why));
    b->told_ms = INT64_MIN;
    b->order = r->call;
    b->order_until_ms = loop_mono_ms() + ORDER_PATIENCE_MS;
    standby_order(b->logic, true);
    loop_timer_set(b->timer, 0);
}

int backup_reload(struct ctld *c, struct err *err)
{
    struct conf *fresh = NULL;
    struct conf_report report = {0};
    size_t me;
    if (c->stopping && !c->begin_anew)
        return err_set(err, -ERR_SHUTDOWN, "%s", err_text(ERR_SHUTDOWN));
    int rc = conf_load(c->conf_path, CONF_FULL, NULL, &fresh, &report, err);
    conf_report_done(&report);
    if (rc == 0)
        rc = check_host(fresh, c->options->as, &me, err);
    conf_free(fresh);
    if (rc) {
        log_error("the configuration stays as it was: %s", err->text);
        return rc;
    }
    log_info("restarting with the current configuration");
    stop_to_begin_anew(c, !c->backup || !standby_claims(c->backup->logic));
    return 0;
}

static void on_reconfigure(struct ctld *c, const struct rpc_request *r)
{
    Pb__ReconfigureReply reply = PB__RECONFIGURE_REPLY__INIT;
    struct err err = {0};
    reply.changes = (char *)"";
    if (backup_reload(c, &err))
        rpc_reply_error(c->server, r->call, err.code, err.text);
    else
        rpc_reply(c->server, r->call, &reply.base);
}

static void on_shutdown(struct ctld *c, const struct rpc_request *r)
{
    Pb__Empty reply = PB__EMPTY__INIT;
    log_info("shutdown passed on by %s", r->peer);
    rpc_reply(c->server, r->call, &reply.base);
    stop_begin(c);
}

/* Whether the leader has sent the request; other callers are to ask the leader. */
static bool is_passed_on(const struct rpc_request *r)
{
    if (r->rpc->number == RPC_RECONFIGURE)
        return ((const Pb__ReconfigureRequest *)r->body)->passed_on;
    return r->rpc->number == RPC_SHUTDOWN && ((const Pb__ShutdownRequest *)r->body)->passed_on;
}

void backup_request(struct ctld *c, const struct rpc_request *r)
{
    struct backup *b = c->backup;
    long leader = b ? standby_heard_leader(b->logic, loop_mono_ms()) : -1;
    if (r->rpc->number == RPC_PING)
        lead_answer_ping(c, r, false, leader < 0 ? NULL : host_of(b, (size_t)leader)->name);
    else if (r->rpc->number == RPC_MINT) /* minting a token does not depend on the lead */
        rpc_answer_mint(c->server, r, AUTH_TTL_MS);
    else if (r->rpc->number == RPC_CTLD_TAKEOVER && b)
        on_takeover(b, r);
    else if (is_passed_on(r))
        r->rpc->number == RPC_SHUTDOWN ? on_shutdown(c, r) : on_reconfigure(c, r);
    else
        rpc_reply_error(c->server, r->call, -ERR_STANDBY, err_text(ERR_STANDBY));
}

void backup_call_gone(struct ctld *c, uint64_t number)
{
    struct backup *b = c->backup;
    if (b && b->order == number)
        b->order = 0; /* the call stays open */
}
