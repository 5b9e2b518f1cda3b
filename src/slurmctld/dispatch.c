/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Dispatches each RPC to its handler. rpc/ has checked permissions by the table; control/ checks
 * permissions by record.
 *
 * Listings are sent in slices, so that a long one neither blocks the loop nor fills memory: the
 * next slice is made when the bytes of the last one have been sent.
 */
#define LOG_ROOM "slurmctld"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/service.h"
#include "base/str.h"
#include "rpc/reply.h"
#include "slurmctld/core/answers.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/diag.h"
#include "slurmctld/core/files.h"
#include "slurmctld/core/names.h"
#include "slurmctld/dispatch.h"
#include "slurmctld/jwt.h"
#include "slurmctld/lead/backup.h"
#include "slurmctld/lead/lead.h"
#include "slurmctld/node/node_dynamic.h"
#include "slurmctld/node/stop.h"
#include "slurmctld/reload.h"
#include "slurmctld/submit/submit_wait.h"
#include "slurmctld/unnamed.h"

#define ANNOUNCE_SEC_MAX (INT64_C(365) * 86400)
#define ABORT_MS 50 /* time for the reply to leave */

typedef bool listing_fn(struct control *c, const struct caller *who, const ProtobufCMessage *filter,
                        uint64_t *cursor, size_t budget, struct str *out);

struct listing {
    uint64_t call;
    listing_fn *list;
    struct arena arena; /* memory of filter and names */
    const ProtobufCMessage *filter;
    struct caller who;
    uint64_t cursor;
    UT_hash_handle hh;
};

static bool send_slice(struct ctld *c, uint64_t call, listing_fn *list, const struct caller *who,
                       const ProtobufCMessage *filter, uint64_t *cursor)
{
    _cleanup_str_ struct str out = STR_INIT;
    bool more = list(c->control, who, filter, cursor, CTLD_SLICE, &out);
    answers_give(c->answers, call, &out, more);
    return more;
}

static void start_listing(struct ctld *c, const struct rpc_request *request,
                          const struct caller *who, listing_fn *list)
{
    uint64_t cursor = 0;
    if (!send_slice(c, request->call, list, who, request->body, &cursor))
        return;
    struct listing *l = mem_new(struct listing);
    l->call = request->call;
    l->list = list;
    l->filter = request->body;
    l->cursor = cursor;
    rpc_request_take(request, &l->arena);
    l->who = *who;
    l->who.user_name = arena_strdup(&l->arena, who->user_name);
    l->who.group_name = arena_strdup(&l->arena, who->group_name);
    l->who.host = arena_strdup(&l->arena, who->host);
    HASH_ADD(hh, c->listings, call, sizeof(l->call), l);
}

static void listing_end(struct ctld *c, struct listing *l)
{
    HASH_DEL(c->listings, l);
    arena_done(&l->arena);
    free(l);
}

static struct listing *listing_find(struct ctld *c, uint64_t call)
{
    struct listing *l;
    HASH_FIND(hh, c->listings, &call, sizeof(call), l);
    return l;
}

void dispatch_continue_listing(void *ctx, uint64_t call)
{
    struct ctld *c = ctx;
    struct listing *l = listing_find(c, call);
    if (l && !send_slice(c, call, l->list, &l->who, l->filter, &l->cursor))
        listing_end(c, l);
}

void dispatch_drop_listing(struct ctld *c, uint64_t call)
{
    struct listing *l = listing_find(c, call);
    if (l)
        listing_end(c, l);
}

void dispatch_drop_listings(struct ctld *c)
{
    while (c->listings)
        listing_end(c, c->listings);
}

typedef void handler_fn(struct ctld *c, const struct rpc_request *r, const struct caller *who);

#define REQUEST(rpc, name, type)                                                                   \
    static void on_##name(struct ctld *c, const struct rpc_request *r, const struct caller *who)   \
    {                                                                                              \
        control_##name(c->control, r->call, who, (const type *)r->body);                           \
    }
#include "control/request.def"

static void on_node_update(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__NodeUpdate *m = (const Pb__NodeUpdate *)r->body;
    if (m->create || (m->has_remove && m->remove))
        node_dynamic_request(c, r->call, who, m);
    else
        control_node_update(c->control, r->call, who, m);
}

/* For a request of that many bytes; changes that wait for the next commit need space, too. */
static void tell_low(struct ctld *c, size_t payload)
{
    bool low = store_low(c->store, store_batch_bytes(c->batch) + payload);
    if (low != c->low)
        control_set_store_low(c->control, low);
    control_set_store_free(c->control, store_free(c->store));
    c->low = low;
}

static void on_submit(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__SubmitRequest *m = (const Pb__SubmitRequest *)r->body;
    tell_low(c, m->payload ? pb__job_payload__get_packed_size(m->payload) : 0);
    control_submit(c->control, r->call, who, m);
}

static void on_alloc(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    tell_low(c, 0);
    control_alloc(c->control, r->call, who, (const Pb__AllocRequest *)r->body);
}

/* Listings. */

#define TO_LISTING(name, type)                                                                     \
    static bool list_##name(struct control *c, const struct caller *who,                           \
                            const ProtobufCMessage *filter, uint64_t *cursor, size_t budget,       \
                            struct str *out)                                                       \
    {                                                                                              \
        return control_list_##name(c, who, (const type *)filter, cursor, budget, out);             \
    }                                                                                              \
    static void on_list_##name(struct ctld *c, const struct rpc_request *r,                        \
                               const struct caller *who)                                           \
    {                                                                                              \
        start_listing(c, r, who, list_##name);                                                     \
    }
TO_LISTING(jobs, Pb__JobFilter)
TO_LISTING(steps, Pb__StepFilter)
TO_LISTING(nodes, Pb__NodeFilter)
TO_LISTING(parts, Pb__PartFilter)
TO_LISTING(prio, Pb__PrioFilter)
TO_LISTING(resvs, Pb__ResvFilter)
TO_LISTING(triggers, Pb__TriggerFilter)

/* Replies briefly if the data has not changed since the caller's last request. */
static bool is_unchanged(struct ctld *c, const struct rpc_request *r, bool asks, int64_t since)
{
    bool same = asks && control_unchanged_since(c->control, since);
    if (same && c->watch)
        ctld_reply_error(c, r->call, -ERR_NO_CHANGE, err_text(ERR_NO_CHANGE));
    else if (same) /* the caller has all data already */
        rpc_reply_error(c->server, r->call, -ERR_NO_CHANGE, err_text(ERR_NO_CHANGE));
    return same;
}

static void on_job_list(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__JobFilter *f = (const Pb__JobFilter *)r->body;
    if (!is_unchanged(c, r, f->has_changed_since, f->changed_since))
        on_list_jobs(c, r, who);
}

/* PrivateData: whether the caller may see none of the data. */
static bool is_hidden(struct ctld *c, const struct rpc_request *r, const struct caller *who,
                      const char *what)
{
    bool hidden = control_hides(c->control, who, what);
    if (hidden)
        rpc_reply_error(c->server, r->call, -ERR_ACCESS, err_text(ERR_ACCESS));
    return hidden;
}

static void on_part_list(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    if (!is_hidden(c, r, who, "partitions"))
        on_list_parts(c, r, who);
}

static void on_node_list(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__NodeFilter *f = (const Pb__NodeFilter *)r->body;
    if (!is_hidden(c, r, who, "nodes") &&
        !is_unchanged(c, r, f->has_changed_since, f->changed_since))
        on_list_nodes(c, r, who);
}

/* Requests about the process itself. */

static void on_ping(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    lead_answer_ping(c, r, true, c->name);
}

static void on_yield(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    lead_yield(c, r);
}

static void on_beat(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    Pb__Empty reply = PB__EMPTY__INIT;
    control_backup_heard(c->control, ((const Pb__CtldBeat *)r->body)->name);
    rpc_reply(c->server, r->call, &reply.base); /* no caller acts on the reply */
}

static void on_takeover(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__CtldTakeover *ask = (const Pb__CtldTakeover *)r->body;
    Pb__Empty reply = PB__EMPTY__INIT;
    if (str_case_eq(ask->successor, c->name)) {
        ctld_reply(c, r->call, &reply.base); /* it already leads */
        return;
    }
    _cleanup_free_ char *text =
        mem_printf("this is controller %s, not %s", c->name, ask->successor);
    ctld_reply_error(c, r->call, -ERR_CONFIG, text);
}

static void on_config_show(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__ConfigRequest *ask = (const Pb__ConfigRequest *)r->body;
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = {0};
    struct conf shown = *control_conf(c->control); /* borrows all it points to */
    shown.next_job_id = control_next_job_id(c->control);
    shown.boot_at = c->boot_at_sec;
    if (c->debug_given)
        shown.slurmctld_debug = c->debug;
    shown.slurm_sched_log_level = control_get_sched_log(c->control);
    /* the network in force: topology.yaml may differ from slurm.conf */
    const struct conf_topo_words *words = conf_topo_words(conf_default_network(&shown)->kind);
    shown.topology_plugin = words ? words->plugin : "topology/flat";
    _cleanup_str_ struct str flags = STR_INIT;
    conf_debug_format(control_get_debug(c->control), &flags);
    shown.debug_flags = flags.len ? str_cstr(&flags) : NULL;
    bool topology = ask->has_topology && ask->topology;
    int rc = 0;
    if (topology && ask->has_yaml && ask->yaml)
        conf_topo_format_yaml(&shown, &text);
    else
        rc = topology ? conf_topo_format(&shown, ask->topology_name, ask->key, &text, &err)
                      : conf_format(&shown, ask->key, &text, &err);
    if (rc) {
        ctld_reply_error(c, r->call, rc, err.text);
        return;
    }
    Pb__TextReply reply = PB__TEXT_REPLY__INIT;
    reply.text = (char *)str_cstr(&text);
    answers_give_message(c->answers, r->call, &reply.base);
}

static void on_stats(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    diag_fill_stats(c, &stats);
    answers_give_message(c->answers, r->call, &stats.base);
}

static void on_diag(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    diag_answer(c, r);
}

static void on_diag_reset(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    Pb__Empty reply = PB__EMPTY__INIT;
    log_info("the counters of sdiag are reset by uid %u (%s)", who->uid, r->peer);
    control_diag_reset(c->control);
    diag_reset(c->diag);
    ctld_reply(c, r->call, &reply.base);
}

static void on_job_script(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__JobIdRequest *ask = (const Pb__JobIdRequest *)r->body;
    uint32_t payload, bytes;
    struct err err = {0};
    int rc = control_may_read_script(c->control, who, ask, &payload, &bytes, &err);
    if (!rc && !rpc_server_may_answer(c->server, r, bytes))
        rc = err_set(&err, -ERR_BACKOFF, "%s", err_text(ERR_BACKOFF));
    if (rc) {
        ctld_reply_error(c, r->call, rc, err.text);
        return;
    }
    struct outbox_item *item = outbox_item_new(OUTBOX_SCRIPT, NULL, 0);
    item->call = r->call;
    item->number = payload;
    outbox_add(c->outbox, item);
}

static void on_part_key(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__PartKeyRequest *ask = (const Pb__PartKeyRequest *)r->body;
    char key[CONTROL_PART_KEY_SIZE];
    struct err err = {0};
    int rc = control_part_key(c->control, ask->partition, key, &err);
    if (rc) {
        ctld_reply_error(c, r->call, rc, err.text);
        return;
    }
    log_info("the key of partition %s goes to uid %u (%s)", ask->partition, who->uid, r->peer);
    Pb__TextReply reply = PB__TEXT_REPLY__INIT;
    reply.text = key;
    ctld_reply(c, r->call, &reply.base);
}

/* An order that a leader passes on is for controllers in standby. If it arrives at a leader,
 * SlurmctldHost has two names for the same controller. Executing it would pass it on again. */
static void ignore_passed_on(struct ctld *c, const struct rpc_request *r,
                             const ProtobufCMessage *reply)
{
    static struct log_limit limit = {.burst = 1};
    if (log_allow(&limit))
        log_error("%s: the controller at %s passed an order on to this controller, which leads: "
                  "two SlurmctldHost lines name one controller; run 'slurmctld --check'",
                  r->rpc->name, r->peer);
    rpc_reply(c->server, r->call, reply);
}

static void on_reconfigure(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__ReconfigureRequest *ask = (const Pb__ReconfigureRequest *)r->body;
    bool preview = ask->has_dry_run && ask->dry_run;
    Pb__ReconfigureReply nothing = PB__RECONFIGURE_REPLY__INIT;
    nothing.changes = (char *)"";
    if (ask->passed_on) {
        ignore_passed_on(c, r, &nothing.base);
        return;
    }
    if (!preview)
        log_info("reconfigure asked for by uid %u (%s)", who->uid, r->peer);
    reload_start(c, r->call, preview);
}

static void on_set_debug(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__DebugRequest *ask = (const Pb__DebugRequest *)r->body;
    Pb__Empty reply = PB__EMPTY__INIT;
    if (ask->level > LOG_LVL_DEBUG3) {
        rpc_reply_error(c->server, r->call, -ERR_RANGE, "The level of the log is 0 to 7");
        return;
    }
    c->debug_given = true;
    c->debug = ask->level;
    log_info("detail of the log set to %u by uid %u (%s)", c->debug, who->uid, r->peer);
    files_open_log(c, control_conf(c->control), false);
    rpc_reply(c->server, r->call, &reply.base); /* it changes no stored state */
}

static void on_set_debug_flags(struct ctld *c, const struct rpc_request *r,
                               const struct caller *who)
{
    const Pb__DebugFlagsRequest *ask = (const Pb__DebugFlagsRequest *)r->body;
    Pb__Empty reply = PB__EMPTY__INIT;
    uint64_t flags = control_get_debug(c->control);
    struct err err = {0};
    if (conf_debug_change(ask->change, ask->n_change, &flags, &err) != 0) {
        rpc_reply_error(c->server, r->call, err.code, err.text);
        return;
    }
    control_set_debug(c->control, flags);
    _cleanup_str_ struct str text = STR_INIT;
    conf_debug_format(flags, &text);
    log_info("debug flags set to '%s' by uid %u (%s)", str_cstr(&text), who->uid, r->peer);
    rpc_reply(c->server, r->call, &reply.base); /* it changes no stored state */
}

static void on_set_sched_log(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__DebugRequest *ask = (const Pb__DebugRequest *)r->body;
    Pb__Empty reply = PB__EMPTY__INIT;
    if (ask->level > 1) {
        rpc_reply_error(c->server, r->call, -ERR_RANGE, "the level of scheduler logging is 0 or 1");
        return;
    }
    if (!control_conf(c->control)->slurm_sched_log_file) {
        rpc_reply_error(c->server, r->call, -ERR_CONFIG,
                        "slurm.conf has no SlurmSchedLogFile: set it and run 'scontrol "
                        "reconfigure', or use 'scontrol setdebugflags +Backfill'");
        return;
    }
    if (ask->level && !log_has_sched()) {
        rpc_reply_error(c->server, r->call, -ERR_CONFIG,
                        "SlurmSchedLogFile could not be opened, as slurmctld's log says: mend that "
                        "and run 'scontrol reconfigure'");
        return;
    }
    control_set_sched_log(c->control, ask->level);
    log_info("scheduler logging set to %u by uid %u (%s)", ask->level, who->uid, r->peer);
    rpc_reply(c->server, r->call, &reply.base); /* it changes no stored state */
}

void dispatch_announced(struct ctld *c)
{
    if (c->stop_told || c->stopping || c->successor || !control_may_shut_down(c->control))
        return;
    c->stop_told = true;
    log_info("the announced shutdown begins");
    stop_daemons(c, true);
}

static void on_announce(struct ctld *c, const struct rpc_request *r, const Pb__ShutdownRequest *ask)
{
    Pb__Empty reply = PB__EMPTY__INIT;
    if (ask->retract && (!control_is_announced(c->control) || c->stop_told))
        rpc_reply_error(c->server, r->call, -ERR_RANGE, "no shutdown is announced");
    else if (!ask->retract && (ask->announce_sec < 0 || ask->announce_sec > ANNOUNCE_SEC_MAX))
        rpc_reply_error(c->server, r->call, -ERR_RANGE,
                        "a shutdown is announced for a year at most");
    else {
        control_announce(c->control, ask->retract ? -1 : ask->announce_sec);
        ctld_reply(c, r->call, &reply.base);
    }
}

static void abort_controller(void *ctx)
{
    dump_abort();
}

/* Nothing is saved first: acknowledged changes are on disk already. */
static void on_abort(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    Pb__Empty reply = PB__EMPTY__INIT;

    log_error("abort asked for by uid %u (%s)", who->uid, r->peer);
    rpc_reply(c->server, r->call, &reply.base);
    loop_timer_set(loop_timer_new(c->loop, abort_controller, c), ABORT_MS);
}

static void on_shutdown(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const Pb__ShutdownRequest *ask = (const Pb__ShutdownRequest *)r->body;
    Pb__Empty reply = PB__EMPTY__INIT;
    bool announce = ask->has_announce_sec || ask->retract;
    if (ask->passed_on) {
        ignore_passed_on(c, r, &reply.base);
        return;
    }
    if (ask->abort) {
        on_abort(c, r, who);
        return;
    }
    log_info("shutdown%s%s asked for by uid %u (%s)",
             ask->controller_only ? " of the controller" : "",
             !announce      ? ""
             : ask->retract ? ", called off,"
                            : ", announced,",
             who->uid, r->peer);
    if (announce) {
        on_announce(c, r, ask);
        return;
    }
    ctld_reply(c, r->call, &reply.base);
    stop_daemons(c, !ask->controller_only);
}

static void on_mint(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    const char *info = control_conf(c->control)->auth_info;
    _cleanup_free_ char *ttl = info ? conf_list_value(info, "ttl") : NULL;
    long long sec = 0;
    if (!ttl || str_parse_i64(ttl, 1, 3600, &sec))
        sec = AUTH_TTL_MS / 1000;
    rpc_answer_mint(c->server, r, sec * 1000);
}

static handler_fn *const handlers[] = {
#define REQUEST(rpc, name, type) [RPC_##rpc] = on_##name,
#include "control/request.def"
    [RPC_PING] = on_ping,
    [RPC_SUBMIT] = on_submit,
    [RPC_ALLOC] = on_alloc,
    [RPC_JOB_LIST] = on_job_list,
    [RPC_STEP_LIST] = on_list_steps,
    [RPC_NODE_LIST] = on_node_list,
    [RPC_PART_LIST] = on_part_list,
    [RPC_PRIO_LIST] = on_list_prio,
    [RPC_CONFIG_SHOW] = on_config_show,
    [RPC_NODE_UPDATE] = on_node_update,
    [RPC_RESV_LIST] = on_list_resvs,
    [RPC_TRIGGER_LIST] = on_list_triggers,
    [RPC_RECONFIGURE] = on_reconfigure,
    [RPC_SHUTDOWN] = on_shutdown,
    [RPC_JOB_SCRIPT] = on_job_script,
    [RPC_PART_KEY] = on_part_key,
    [RPC_STATS] = on_stats,
    [RPC_DIAG] = on_diag,
    [RPC_DIAG_RESET] = on_diag_reset,
    [RPC_SET_DEBUG] = on_set_debug,
    [RPC_SET_DEBUG_FLAGS] = on_set_debug_flags,
    [RPC_SET_SCHED_LOG] = on_set_sched_log,
    [RPC_CTLD_YIELD] = on_yield,
    [RPC_CTLD_TAKEOVER] = on_takeover,
    [RPC_CTLD_BEAT] = on_beat,
    [RPC_MINT] = on_mint,
    [RPC_TOKEN] = jwt_answer,
};

/* Whether the request cannot be served while commits fail: its reply would wait for a commit
 * without limit. */
static bool needs_store(unsigned number)
{
    switch (number) {
    case RPC_PING:
    case RPC_MINT:
    case RPC_TOKEN:
    case RPC_RECONFIGURE:
    case RPC_SET_DEBUG:
    case RPC_SET_DEBUG_FLAGS:
    case RPC_SET_SCHED_LOG:
    case RPC_SHUTDOWN:
    case RPC_CTLD_YIELD:
    case RPC_CTLD_BEAT:
        return false;
    default:
        return true;
    }
}

static void refuse_stuck(struct ctld *c, const struct rpc_request *r)
{
    struct err err = {0};
    bool full = store_low(c->store, 0);
    err_set(&err, full ? -ERR_STORE_FULL : -ERR_STORE,
            "%s: the controller cannot save its state to %s now and answers when it can; nothing "
            "was changed by this request",
            err_text(full ? ERR_STORE_FULL : ERR_STORE), store_name(c->store));
    rpc_reply_error(c->server, r->call, err.code, err.text);
}

/* Returns the name of the field that is too long, or of the message if it is too long as a whole;
   NULL: none. */
static const char *find_oversized(const ProtobufCMessage *m)
{
    const ProtobufCFieldDescriptor *field =
        pb_find_oversized(m, CTLD_FILTER_ITEMS, CTLD_FILTER_TEXT);
    if (field)
        return field->name;
    return protobuf_c_message_get_packed_size(m) > CTLD_REQUEST_MAX ? "the whole" : NULL;
}

/* The same for each component of a job set. */
static const char *find_oversized_component(Pb__JobSpec *const *components, size_t count)
{
    const char *found = NULL;
    for (size_t i = 0; i < count && !found; i++)
        found = find_oversized(&components[i]->base);
    return found;
}

static const char *find_oversized_in(const struct rpc_request *r)
{
    const char *found = NULL;
    if (r->rpc->number == RPC_SUBMIT) {
        const Pb__SubmitRequest *ask = (const Pb__SubmitRequest *)r->body;
        found = ask->spec ? find_oversized(&ask->spec->base) : NULL;
        return found ? found : find_oversized_component(ask->components, ask->n_components);
    }
    if (r->rpc->number == RPC_ALLOC) {
        const Pb__AllocRequest *ask = (const Pb__AllocRequest *)r->body;
        found = ask->spec ? find_oversized(&ask->spec->base) : NULL;
        found = found || !ask->step ? found : find_oversized(&ask->step->base);
        return found ? found : find_oversized_component(ask->components, ask->n_components);
    }
    return find_oversized(r->body);
}

/* The cost of a query is its length for each record, so its length is limited; so are the job's
 * fields, which are kept in memory. The payload has separate limits. */
static bool refuse_oversized(struct ctld *c, const struct rpc_request *r)
{
    if (r->rpc->number == RPC_MINT || !r->body)
        return false;
    const char *found = find_oversized_in(r);
    if (!found)
        return false;
    char why[200];
    snprintf(why, sizeof why, "%s: %s of %s (at most %zu items, %zu bytes of text, %zu in all)",
             err_text(ERR_TOO_BIG), found, r->rpc->name, (size_t)CTLD_FILTER_ITEMS,
             (size_t)CTLD_FILTER_TEXT, (size_t)CTLD_REQUEST_MAX);
    rpc_reply_error(c->server, r->call, -ERR_TOO_BIG, why);
    return true;
}

void dispatch_request(void *ctx, const struct rpc_request *r)
{
    struct ctld *c = ctx;
    unsigned number = r->rpc->number;
    handler_fn *handler = number < sizeof(handlers) / sizeof(handlers[0]) ? handlers[number] : NULL;
    if (!c->control) {
        backup_request(c, r);
        return;
    }
    if (c->successor && number != RPC_PING && number != RPC_MINT) {
        rpc_reply_error(c->server, r->call, -ERR_STANDBY, err_text(ERR_STANDBY));
        return;
    }
    if (c->stopping && !c->successor) {
        ctld_reply_error(c, r->call, -ERR_SHUTDOWN, err_text(ERR_SHUTDOWN));
        return;
    }
    if (ctld_debugs(c, CONF_DEBUG_audit_rpcs))
        log_info("AuditRPCs: %s of uid %u from %s", r->rpc->name, r->who.uid, r->peer);
    if (ctld_debugs(c, CONF_DEBUG_network) || ctld_debugs(c, CONF_DEBUG_protocol))
        log_info("Network: call %llu, %s, from %s", (unsigned long long)r->call, r->rpc->name,
                 r->peer);
    if (refuse_oversized(c, r))
        return;
    if (store_is_stuck(c->store) && needs_store(number)) {
        refuse_stuck(c, r);
        return;
    }
    if (!handler) {
        char text[96];
        snprintf(text, sizeof(text), "slurmctld does not serve %s", r->rpc->name);
        ctld_reply_error(c, r->call, -ERR_NOT_SUPPORTED, text);
        return;
    }
    if (unnamed_keep(c, r))
        return;
    bool named = unnamed_needs(c, r);
    struct caller who = {
        .uid = r->who.uid,
        .gid = r->who.gid,
        .is_operator = r->roles & (RPC_WHO_OPERATOR | RPC_WHO_ADMIN),
        .is_admin = r->roles & RPC_WHO_ADMIN,
        .user_name = named ? names_user(c->names, r->who.uid) : NULL,
        .group_name = named ? names_group(c->names, r->who.gid) : NULL,
        .host = r->who.host,
    };
    if (number == RPC_JOB_WHY && !rpc_server_may_answer(c->server, r, 0)) {
        ctld_reply_error(c, r->call, -ERR_BACKOFF, err_text(ERR_BACKOFF));
        return;
    }
    int64_t begun_usec = diag_clock(c);
    c->serving = r;
    handler(c, r, &who);
    c->serving = NULL;
    diag_count(c->diag, r->rpc, who.uid, begun_usec);
    rpc_server_charge(c->server, r, diag_clock(c) - begun_usec);
    submit_wait_keep(c, r);
}
