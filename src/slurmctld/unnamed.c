/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Requests whose callers' names are being looked up. They are kept as received and dispatched when
 * all names are known; a hung name service delays these requests only. */
#include <utlist.h>

#include "base/mem.h"
#include "proto/ctl.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/step.pb-c.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/core/names.h"
#include "slurmctld/unnamed.h"

/* Per user; further requests are answered with ERR_BACKOFF, and the command repeats them. */
#define UNNAMED_MAX 64
#define UNNAMED_BYTES_MAX (32u << 20)

struct unnamed {
    struct rpc_request request;
    struct arena arena; /* memory of the request's body */
    char *peer;
    struct unnamed *prev, *next;
};

/* Returns the job request, if root submits it for another user (--uid and --gid). */
static const Pb__JobSpec *spec_of(const struct rpc_request *r)
{
    switch (r->rpc->number) {
    case RPC_SUBMIT:
        return ((const Pb__SubmitRequest *)r->body)->spec;
    case RPC_ALLOC:
        return ((const Pb__AllocRequest *)r->body)->spec;
    default:
        return NULL;
    }
}

/* Returns the user whose token is requested, if it may be created at all. An arbitrary name is not
 * looked up for a request that will be refused. */
static const char *token_user_of(const struct ctld *c, const struct rpc_request *r)
{
    if (r->rpc->number != RPC_TOKEN || !c->has_jwt_key || r->by_jwt || !(r->roles & RPC_WHO_ADMIN))
        return NULL;
    return ((const Pb__TokenRequest *)r->body)->user;
}

struct look {
    struct names *names;
    bool all;
};

static void on_group(void *ctx, const char *group)
{
    struct look *look = ctx;
    look->all = names_has_members(look->names, group) && look->all;
}

/* Starts all lookups at once instead of one after another. */
static bool is_named(struct ctld *c, const struct rpc_request *r)
{
    struct look look = {c->names, true};
    const Pb__JobSpec *spec = spec_of(r);
    control_allowed_groups(c->control, on_group, &look);
    look.all = names_has_user(c->names, r->who.uid) && look.all;
    look.all = names_has_group(c->names, r->who.gid) && look.all;
    const char *token_user = token_user_of(c, r);
    if (token_user)
        look.all = names_has_ids(c->names, token_user) && look.all;
    if (spec && spec->has_uid && r->roles & RPC_WHO_ADMIN)
        look.all = names_has_user(c->names, spec->uid) && look.all;
    if (spec && spec->has_gid && r->roles & RPC_WHO_ADMIN)
        look.all = names_has_group(c->names, spec->gid) && look.all;
    return look.all;
}

static void on_any_group(void *ctx, const char *group)
{
    *(bool *)ctx = true;
}

/* AllowGroups decides which partitions a listing without --all shows; operators see all of them. */
static bool depends_on_groups(const struct ctld *c, const struct rpc_request *r, bool visible)
{
    bool any = false;
    if (visible && !(r->roles & (RPC_WHO_OPERATOR | RPC_WHO_ADMIN)))
        control_allowed_groups(c->control, on_any_group, &any);
    return any;
}

/* Reservations list users by name, which decides who may see or delete them. */
bool unnamed_needs(const struct ctld *c, const struct rpc_request *r)
{
    switch (r->rpc->number) {
    case RPC_SUBMIT:
    case RPC_ALLOC:
    case RPC_JOB_UPDATE:
    case RPC_RESV_DELETE:
    case RPC_TOKEN:
        return true;
    case RPC_RESV_LIST:
        return conf_is_private(control_conf(c->control), "reservations");
    case RPC_JOB_LIST:
        return depends_on_groups(c, r, ((const Pb__JobFilter *)r->body)->visible);
    case RPC_STEP_LIST:
        return depends_on_groups(c, r, ((const Pb__StepFilter *)r->body)->visible);
    case RPC_PART_LIST:
        return depends_on_groups(c, r, ((const Pb__PartFilter *)r->body)->visible);
    default:
        return false;
    }
}

static size_t count_bytes(const struct arena *a)
{
    return a->used + a->apart_used;
}

/* Whether the user may have another waiting request. */
static bool has_lookup_room(const struct ctld *c, const struct rpc_request *r, struct err *err)
{
    size_t count = 0, bytes = count_bytes(r->arena);
    const struct unnamed *u;
    DL_FOREACH(c->unnamed, u)
    {
        if (u->request.who.uid != r->who.uid)
            continue;
        count++;
        bytes += count_bytes(&u->arena);
    }
    if (count < UNNAMED_MAX && (!count || bytes <= UNNAMED_BYTES_MAX))
        return true;
    err_set(err, -ERR_BACKOFF,
            "%zu requests of uid %u wait for the name service of the controller's host, which "
            "does not answer",
            count, r->who.uid);
    return false;
}

bool unnamed_keep(struct ctld *c, const struct rpc_request *r)
{
    struct unnamed *u;
    struct err err = {0};
    if (!unnamed_needs(c, r) || is_named(c, r))
        return false;
    if (!has_lookup_room(c, r, &err)) {
        ctld_reply_error(c, r->call, err.code, err.text);
        return true;
    }
    u = mem_new(struct unnamed);
    u->request = *r;
    rpc_request_take(r, &u->arena);
    u->request.arena = &u->arena;
    u->request.peer = u->peer = mem_strdup(r->peer);
    DL_APPEND(c->unnamed, u);
    return true;
}

static void drop_unnamed(struct ctld *c, struct unnamed *u)
{
    DL_DELETE(c->unnamed, u);
    arena_done(&u->arena);
    free(u->peer);
    free(u);
}

void unnamed_continue(void *ctx)
{
    struct ctld *c = ctx;
    struct unnamed *u, *next;
    DL_FOREACH_SAFE(c->unnamed, u, next)
    {
        if (c->control && !is_named(c, &u->request))
            continue;
        c->dispatch(c, &u->request);
        drop_unnamed(c, u);
    }
}

void unnamed_drop(struct ctld *c, uint64_t call)
{
    struct unnamed *u, *next;
    DL_FOREACH_SAFE(c->unnamed, u, next)
    if (u->request.call == call)
        drop_unnamed(c, u);
}

void unnamed_drop_all(struct ctld *c)
{
    struct unnamed *u, *next;
    DL_FOREACH_SAFE(c->unnamed, u, next)
    drop_unnamed(c, u);
}
