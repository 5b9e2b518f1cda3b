/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dynamic nodes: scontrol create and delete node, and node daemons that register themselves
 * (slurmd -Z). A worker reads the configuration with the lines of these nodes; requests that
 * arrive meanwhile are handled together afterwards. */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/pb.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/node/node_dynamic.h"
#include "slurmctld/node/nodes.h"

#define LANE 2 /* the same lane as in reload.c */
#define REGISTRANTS_MAX 1024

struct node_dynamic_change {
    struct node_dynamic_change *next;
    uint64_t call; /* 0: requested by the node itself */
    uint32_t uid;
    Pb__NodeUpdate *update;
};

struct node_dynamic_run {
    struct ctld *c;
    struct node_dynamic_change *changes;
    struct node_dynamic_plan *plan;
    uint64_t seen; /* value of c->conf_changes */
    char *path;
    struct str base, lines;
    struct conf *conf;
    struct err err;
};

/* A session of an unconfigured node: its registration decides. */
struct registrant {
    struct ctld *c;
    struct rpc_session *s;
    struct registrant *prev, *next;
    bool asked;
    char name[AUTH_NAME_MAX + 1];
};

static void start_run(struct ctld *c);

/* --- answers ---------------------------------------------------------------------------------- */

static struct registrant *find_registrant(struct ctld *c, const char *name)
{
    struct registrant *registrant;
    DL_FOREACH(c->registrants, registrant)
    if (registrant->asked && str_eq(registrant->name, name))
        return registrant;
    return NULL;
}

static void free_registrant(struct registrant *registrant)
{
    DL_DELETE(registrant->c->registrants, registrant);
    registrant->c->registrant_count--;
    free(registrant);
}

/* Closes the session, so that a created node connects again and is known; otherwise sends the
   reason. */
static void answer_registrant(struct ctld *c, const char *name, const struct err *err)
{
    struct registrant *registrant = find_registrant(c, name);
    Pb__NodeConfig m = PB__NODE_CONFIG__INIT;
    static struct log_limit limit = {.burst = 60};
    if (err->code && log_allow(&limit))
        log_error("node %s registers itself, and is refused: %s", name, err->text);
    if (!registrant)
        return;
    struct rpc_session *s = registrant->s;
    free_registrant(registrant);
    if (err->code) {
        m.has_code = true;
        m.code = err->code;
        m.error = (char *)err->text;
        rpc_session_send(s, RPC_NODE_CONFIG, &m.base);
    }
    rpc_session_set_events(s, &(struct rpc_session_events){0});
    rpc_session_finish(s);
}

static void answer_change(struct ctld *c, const struct node_dynamic_change *change,
                          const struct err *err)
{
    const Pb__NodeUpdate *r = change->update;
    Pb__Empty done = PB__EMPTY__INIT;
    if (!err->code)
        log_info("node %s %s by %s %u", r->nodes, r->create ? "created" : "deleted",
                 change->call ? "uid" : "its registration, uid", change->uid);
    if (!change->call)
        answer_registrant(c, r->nodes, err);
    else if (err->code)
        ctld_reply_error(c, change->call, err->code, err->text);
    else
        ctld_reply(c, change->call, &done.base);
}

static void free_change(struct node_dynamic_change *change)
{
    pb__node_update__free_unpacked(change->update, NULL);
    free(change);
}

static void free_run(struct node_dynamic_run *run)
{
    struct node_dynamic_change *change, *next;
    LL_FOREACH_SAFE(run->changes, change, next)
    free_change(change);
    control_node_dynamic_free(run->plan);
    conf_free(run->conf);
    str_done(&run->base);
    str_done(&run->lines);
    free(run->path);
    free(run);
}

/* --- a run ------------------------------------------------------------------------------------ */

static void on_worker(void *arg)
{
    struct node_dynamic_run *run = arg;
    conf_load_again(run->base.data, run->base.len, run->path, str_cstr(&run->lines), CONF_FULL,
                    NULL, &run->conf, &run->err);
}

/* The configuration has changed meanwhile, so the plan is outdated: starts again. */
static void requeue_changes(struct node_dynamic_run *run)
{
    struct ctld *c = run->c;
    struct node_dynamic_change *waiting = c->node_dynamic_changes;
    c->node_dynamic_changes = take_ptr(run->changes);
    LL_CONCAT(c->node_dynamic_changes, waiting);
}

static void on_worker_done(void *arg)
{
    struct node_dynamic_run *run = arg;
    struct ctld *c = run->c;
    struct node_dynamic_change *change;
    c->node_dynamic_running = false;
    if (c->closed) { /* node_dynamic_done() was called before */
        free_run(run);
        return;
    }
    if (c->stopping || run->seen != c->conf_changes) {
        requeue_changes(run);
    } else {
        struct err *err = &run->err;
        if (run->conf &&
            control_node_dynamic_apply(c->control, run->plan, take_ptr(run->conf), err) == 0) {
            c->conf_changes++;
            outbox_add(c->outbox, outbox_item_new(OUTBOX_UNKNOWN, NULL, 0));
        }
        LL_FOREACH(run->changes, change)
        answer_change(c, change, err);
    }
    free_run(run);
    start_run(c);
}

/* Moves the changes that can be planned to the run, and answers the others. */
static void plan_changes(struct ctld *c, struct node_dynamic_run *run)
{
    struct node_dynamic_change *change, *next, *all = take_ptr(c->node_dynamic_changes);
    LL_FOREACH_SAFE(all, change, next)
    {
        struct err err = {0};
        change->next = NULL;
        if (control_node_dynamic_add(c->control, run->plan, change->update, !change->call, &err) ==
            0) {
            LL_APPEND(run->changes, change);
            continue;
        }
        answer_change(c, change, &err);
        free_change(change);
    }
}

static void start_run(struct ctld *c)
{
    if (c->node_dynamic_running || c->stopping || !c->node_dynamic_changes)
        return;
    const struct conf *conf = control_conf(c->control);
    struct node_dynamic_run *run = mem_new(struct node_dynamic_run);
    size_t len = 0;
    run->c = c;
    run->plan = control_node_dynamic_begin(c->control);
    plan_changes(c, run);
    if (!run->changes) {
        free_run(run);
        return;
    }
    const char *text = conf_flat_text(conf, &len);
    str_append(&run->base, text, len);
    control_node_dynamic_lines(run->plan, &run->lines);
    run->path = mem_strdup(conf->path);
    run->seen = c->conf_changes;
    c->node_dynamic_running = true;
    loop_work_post(c->loop, LANE, on_worker, on_worker_done, run);
}

static void add_change(struct ctld *c, uint64_t call, uint32_t uid, const Pb__NodeUpdate *r)
{
    struct node_dynamic_change *change = mem_new(struct node_dynamic_change);
    _cleanup_str_ struct str bytes = STR_INIT;
    pb_pack(&r->base, &bytes);
    change->call = call;
    change->uid = uid;
    change->update = pb_unpack(&pb__node_update__descriptor, bytes.data, bytes.len);
    LL_APPEND(c->node_dynamic_changes, change);
    start_run(c);
}

void node_dynamic_request(struct ctld *c, uint64_t call, const struct caller *who,
                          const Pb__NodeUpdate *r)
{
    add_change(c, call, who->uid, r);
}

void node_dynamic_done(struct ctld *c)
{
    struct node_dynamic_change *change, *next;
    LL_FOREACH_SAFE(c->node_dynamic_changes, change, next)
    free_change(change);
    c->node_dynamic_changes = NULL;
    while (c->registrants)
        free_registrant(c->registrants);
}

/* --- self-registering nodes ------------------------------------------------------------------- */

/* The node's address is the peer address: "name (10.0.0.1:4711)". */
static void add_address(const struct registrant *registrant, const Pb__NodeRegister *r,
                        struct str *keys)
{
    const char *peer = strchr(rpc_session_peer(registrant->s), '(');
    const char *end = peer ? strrchr(peer, ':') : NULL;
    if (end && peer[1] == '[' && end[-1] == ']') {
        peer++;
        end--;
    }
    if (r->hostname && !strcasestr(r->dynamic, "NodeHostname="))
        str_printf(keys, " NodeHostname=%s", r->hostname);
    if (end && !strcasestr(r->dynamic, "NodeAddr="))
        str_printf(keys, " NodeAddr=%.*s", (int)(end - peer - 1), peer + 1);
}

/* Sends the reason, and orders the node to end its remaining jobs. */
static void refuse_registrant(struct registrant *registrant, const Pb__NodeRegister *r)
{
    static struct log_limit limit = {.burst = 60};
    struct ctld *c = registrant->c;
    struct rpc_session *s = registrant->s;
    Pb__NodeConfig m = PB__NODE_CONFIG__INIT;
    struct err err = {0};
    char name[AUTH_NAME_MAX + 1];
    memcpy(name, registrant->name, sizeof(name));
    free_registrant(registrant);
    err_set(&err, -ERR_NO_NODE, "no node of this name is in %s", c->conf_path);
    if (log_allow(&limit))
        log_error("refused: %s: %s", rpc_session_peer(s), err.text);
    m.has_code = true;
    m.code = err.code;
    m.error = err.text;
    rpc_session_send(s, RPC_NODE_CONFIG, &m.base);
    nodes_dismiss(c, s, name, r);
}

static void on_message(void *ctx, struct rpc_session *s, const struct rpc_info *rpc,
                       const ProtobufCMessage *body)
{
    struct registrant *registrant = ctx;
    struct ctld *c = registrant->c;
    const Pb__NodeRegister *r = (const Pb__NodeRegister *)body;
    Pb__NodeUpdate update = PB__NODE_UPDATE__INIT;
    _cleanup_str_ struct str keys = STR_INIT;
    if (c->stopping || registrant->asked)
        return;
    if (rpc->number != RPC_NODE_REGISTER)
        return;
    registrant->asked = true;
    /* Configured meanwhile. */
    if (conf_find_node(control_conf(c->control), registrant->name) >= 0) {
        free_registrant(registrant);
        rpc_session_set_events(s, &(struct rpc_session_events){0});
        rpc_session_finish(s); /* it connects again */
        return;
    }
    if (!r->dynamic || find_registrant(c, registrant->name) != registrant) {
        refuse_registrant(registrant, r);
        return;
    }
    str_puts(&keys, r->dynamic);
    add_address(registrant, r, &keys);
    update.nodes = registrant->name;
    update.create = (char *)str_cstr(&keys);
    add_change(c, 0, control_conf(c->control)->slurmd_uid, &update);
}

static void on_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    free_registrant(ctx);
}

bool node_dynamic_accept(struct ctld *c, struct rpc_session *s, const char *name)
{
    if (c->registrant_count >= REGISTRANTS_MAX)
        return false;
    struct registrant *registrant = mem_new(struct registrant);
    registrant->c = c;
    registrant->s = s;
    strncpy(registrant->name, name, sizeof(registrant->name) - 1);
    DL_APPEND(c->registrants, registrant);
    c->registrant_count++;
    rpc_session_set_events(s, &(struct rpc_session_events){.on_message = on_message,
                                                           .on_close = on_close,
                                                           .ctx = registrant});
    return true;
}

/* --- at the start ----------------------------------------------------------------------------- */

int node_dynamic_load(struct ctld *c, struct conf **conf, struct err *err)
{
    _cleanup_free_ void *data = NULL;
    _cleanup_str_ struct str lines = STR_INIT;
    struct conf *with = NULL;
    struct err why = {0};
    size_t len = 0;
    int rc = store_get(c->store, RECORD_MADE, 0, &data, &len, &why);
    if (rc == -ENOENT)
        return 0;
    if (rc == -ERR_STORE_DAMAGED)
        err_prefix(&why, "put a copy back, or start slurmctld -i to go on without them");
    if (rc == 0)
        rc = control_node_dynamic_stored(data, len, &lines, &why);
    if (rc == 0)
        rc = conf_load_with((*conf)->path, str_cstr(&lines), CONF_FULL, NULL, &with, NULL, &why);
    if (rc) {
        if (err)
            *err = why;
        return err_prefix(err, "with the nodes that scontrol and their registrations have created");
    }
    with->boot_at = (*conf)->boot_at;
    conf_free(*conf);
    *conf = with;
    return 0;
}
