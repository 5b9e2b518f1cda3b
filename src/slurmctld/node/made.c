/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Nodes that are in no file: scontrol create and delete node, and node daemons that register
 * themselves (slurmd -Z). A worker reads the configuration with their lines; all that was asked for
 * meanwhile is done in one go after it. */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/pb.h"
#include "slurmctld/ctld.h"

#define LANE 2 /* that of reload.c */
#define COMERS_MAX 1024

struct made_change {
    struct made_change *next;
    uint64_t call; /* 0: of the node itself */
    uint32_t uid;
    Pb__NodeUpdate *update;
};

struct made_run {
    struct ctld *c;
    struct made_change *changes;
    struct made_plan *plan;
    uint64_t seen; /* of c->conf_changes */
    char *path;
    struct str base, lines;
    struct conf *conf;
    struct err err;
};

/* A session of a node that is not configured: what it registers with decides. */
struct comer {
    struct ctld *c;
    struct rpc_session *s;
    struct comer *prev, *next;
    bool asked;
    char name[AUTH_NAME_MAX + 1];
};

static void run_start(struct ctld *c);

/* --- answers -----------------------------------------------------------------------------------
 */

static struct comer *find_comer(struct ctld *c, const char *name)
{
    struct comer *comer;
    DL_FOREACH(c->comers, comer)
    if (comer->asked && str_eq(comer->name, name))
        return comer;
    return NULL;
}

static void comer_free(struct comer *comer)
{
    DL_DELETE(comer->c->comers, comer);
    comer->c->comer_count--;
    free(comer);
}

/* It connects again, and is known then; or it is told why it is not. */
static void answer_comer(struct ctld *c, const char *name, const struct err *err)
{
    struct comer *comer = find_comer(c, name);
    Pb__NodeConfig m = PB__NODE_CONFIG__INIT;
    static struct log_limit limit = {.burst = 60};
    if (err->code && log_allow(&limit))
        log_error("node %s registers itself, and is refused: %s", name, err->text);
    if (!comer)
        return;
    struct rpc_session *s = comer->s;
    comer_free(comer);
    if (err->code) {
        m.has_code = true;
        m.code = err->code;
        m.error = (char *)err->text;
        rpc_session_send(s, RPC_NODE_CONFIG, &m.base);
    }
    rpc_session_set_events(s, &(struct rpc_session_events){0});
    rpc_session_finish(s);
}

static void answer(struct ctld *c, const struct made_change *change, const struct err *err)
{
    const Pb__NodeUpdate *r = change->update;
    Pb__Empty done = PB__EMPTY__INIT;
    if (!err->code)
        log_info("node %s %s by %s %u", r->nodes, r->create ? "created" : "deleted",
                 change->call ? "uid" : "its registration, uid", change->uid);
    if (!change->call)
        answer_comer(c, r->nodes, err);
    else if (err->code)
        ctld_reply_error(c, change->call, err->code, err->text);
    else
        ctld_reply(c, change->call, &done.base);
}

static void change_free(struct made_change *change)
{
    pb__node_update__free_unpacked(change->update, NULL);
    free(change);
}

static void run_free(struct made_run *run)
{
    struct made_change *change, *next;
    LL_FOREACH_SAFE(run->changes, change, next)
    change_free(change);
    control_made_free(run->plan);
    conf_free(run->conf);
    str_done(&run->base);
    str_done(&run->lines);
    free(run->path);
    free(run);
}

/* --- a run -------------------------------------------------------------------------------------
 */

static void on_run(void *arg)
{
    struct made_run *run = arg;
    conf_load_again(run->base.data, run->base.len, run->path, str_cstr(&run->lines), CONF_FULL,
                    NULL, &run->conf, &run->err);
}

/* Another configuration is in force by now, and so the plan is not that of now: once more. */
static void again(struct made_run *run)
{
    struct ctld *c = run->c;
    struct made_change *waiting = c->made_changes;
    c->made_changes = take_ptr(run->changes);
    LL_CONCAT(c->made_changes, waiting);
}

static void on_done(void *arg)
{
    struct made_run *run = arg;
    struct ctld *c = run->c;
    struct made_change *change;
    c->made_running = false;
    if (c->closed) { /* made_done() was before */
        run_free(run);
        return;
    }
    if (c->stopping || run->seen != c->conf_changes) {
        again(run);
    } else {
        struct err *err = &run->err;
        if (run->conf && control_made_apply(c->control, run->plan, take_ptr(run->conf), err) == 0) {
            c->conf_changes++;
            outbox_add(c->outbox, outbox_item_new(OUTBOX_UNKNOWN, NULL, 0));
        }
        LL_FOREACH(run->changes, change)
        answer(c, change, err);
    }
    run_free(run);
    run_start(c);
}

/* Moves to the run what can be planned, and answers the rest. */
static void plan_all(struct ctld *c, struct made_run *run)
{
    struct made_change *change, *next, *all = take_ptr(c->made_changes);
    LL_FOREACH_SAFE(all, change, next)
    {
        struct err err = {0};
        change->next = NULL;
        if (control_made_add(c->control, run->plan, change->update, !change->call, &err) == 0) {
            LL_APPEND(run->changes, change);
            continue;
        }
        answer(c, change, &err);
        change_free(change);
    }
}

static void run_start(struct ctld *c)
{
    if (c->made_running || c->stopping || !c->made_changes)
        return;
    const struct conf *conf = control_conf(c->control);
    struct made_run *run = mem_new(struct made_run);
    size_t len = 0;
    run->c = c;
    run->plan = control_made_begin(c->control);
    plan_all(c, run);
    if (!run->changes) {
        run_free(run);
        return;
    }
    const char *text = conf_flat_text(conf, &len);
    str_append(&run->base, text, len);
    control_made_lines(run->plan, &run->lines);
    run->path = mem_strdup(conf->path);
    run->seen = c->conf_changes;
    c->made_running = true;
    loop_work_post(c->loop, LANE, on_run, on_done, run);
}

static void add(struct ctld *c, uint64_t call, uint32_t uid, const Pb__NodeUpdate *r)
{
    struct made_change *change = mem_new(struct made_change);
    _cleanup_str_ struct str bytes = STR_INIT;
    pb_pack(&r->base, &bytes);
    change->call = call;
    change->uid = uid;
    change->update = pb_unpack(&pb__node_update__descriptor, bytes.data, bytes.len);
    LL_APPEND(c->made_changes, change);
    run_start(c);
}

void made_request(struct ctld *c, uint64_t call, const struct caller *who, const Pb__NodeUpdate *r)
{
    add(c, call, who->uid, r);
}

void made_done(struct ctld *c)
{
    struct made_change *change, *next;
    LL_FOREACH_SAFE(c->made_changes, change, next)
    change_free(change);
    c->made_changes = NULL;
    while (c->comers)
        comer_free(c->comers);
}

/* --- nodes that come by themselves -------------------------------------------------------------
 */

/* Its address is the one it comes from: "name (10.0.0.1:4711)". */
static void add_address(const struct comer *comer, const Pb__NodeRegister *r, struct str *keys)
{
    const char *peer = strchr(rpc_session_peer(comer->s), '(');
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

/* It is told why, and to end what it still has of jobs. */
static void turn_away(struct comer *comer, const Pb__NodeRegister *r)
{
    static struct log_limit limit = {.burst = 60};
    struct ctld *c = comer->c;
    struct rpc_session *s = comer->s;
    Pb__NodeConfig m = PB__NODE_CONFIG__INIT;
    struct err err = {0};
    char name[AUTH_NAME_MAX + 1];
    memcpy(name, comer->name, sizeof(name));
    comer_free(comer);
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
    struct comer *comer = ctx;
    struct ctld *c = comer->c;
    const Pb__NodeRegister *r = (const Pb__NodeRegister *)body;
    Pb__NodeUpdate update = PB__NODE_UPDATE__INIT;
    _cleanup_str_ struct str keys = STR_INIT;
    if (c->stopping || comer->asked)
        return;
    if (rpc->number != RPC_NODE_REGISTER)
        return;
    comer->asked = true;
    if (conf_find_node(control_conf(c->control), comer->name) >= 0) { /* meanwhile */
        comer_free(comer);
        rpc_session_set_events(s, &(struct rpc_session_events){0});
        rpc_session_finish(s); /* it connects again */
        return;
    }
    if (!r->dynamic || find_comer(c, comer->name) != comer) {
        turn_away(comer, r);
        return;
    }
    str_puts(&keys, r->dynamic);
    add_address(comer, r, &keys);
    update.nodes = comer->name;
    update.create = (char *)str_cstr(&keys);
    add(c, 0, control_conf(c->control)->slurmd_uid, &update);
}

static void on_close(void *ctx, struct rpc_session *s, const struct err *why)
{
    comer_free(ctx);
}

bool made_accept(struct ctld *c, struct rpc_session *s, const char *name)
{
    if (c->comer_count >= COMERS_MAX)
        return false;
    struct comer *comer = mem_new(struct comer);
    comer->c = c;
    comer->s = s;
    strncpy(comer->name, name, sizeof(comer->name) - 1);
    DL_APPEND(c->comers, comer);
    c->comer_count++;
    rpc_session_set_events(s, &(struct rpc_session_events){
                                  .on_message = on_message, .on_close = on_close, .ctx = comer});
    return true;
}

/* --- at the start ------------------------------------------------------------------------------
 */

int made_load(struct ctld *c, struct conf **conf, struct err *err)
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
        rc = control_made_stored(data, len, &lines, &why);
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
