/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Callers whose connections are authenticated by JSON Web Tokens: the claims of the token, and the
 * ids of its user. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/mem.h"
#include "rpc/server_priv.h"

void rpc_server_accept_jwt(struct rpc_server *s, const struct rpc_jwt_rules *rules)
{
    s->jwt = *rules;
    s->keys.jwt = rules->key;
}

/* Sets the host to the address alone, because no daemon of that host vouches for its name. */
static void set_host(struct rpc_caller *c)
{
    size_t len = strlen(c->text);
    const char *colon = strrchr(c->text, ':');

    if (colon)
        len = (size_t)(colon - c->text);
    if (len > AUTH_NAME_MAX)
        len = AUTH_NAME_MAX;
    memcpy(c->who.host, c->text, len);
}

/* Looks up the caller's user. Fills err if the user is not valid now; -EAGAIN: the lookup has not
   finished. */
static int find_bearer_user(struct rpc_caller *c, struct err *err)
{
    const struct rpc_jwt_rules *rules = &c->server->jwt;
    const char *name = c->bearer->claims.user;
    uid_t uid = (uid_t)-1;
    gid_t gid = (gid_t)-1;
    int rc = rules->find_user(rules->ctx, name, &uid, &gid);

    if (rc == -EAGAIN)
        return rc;
    if (rc < 0)
        return err_set(err, -ERR_AUTH,
                       "user '%s' of the JSON Web Token does not exist on the controller's host",
                       name);
    if (c->user && c->who.uid != uid)
        return err_set(err, -ERR_AUTH,
                       "user '%s' of the JSON Web Token has another uid than when this connection "
                       "began, %u instead of %u",
                       name, (unsigned)uid, (unsigned)c->who.uid);
    c->who.uid = uid;
    c->who.gid = gid;
    return 0;
}

static void set_waits(struct rpc_caller *c, bool waits)
{
    if (waits && !c->bearer->waits)
        DL_APPEND2(c->server->unknown, c, unknown_prev, unknown_next);
    else if (!waits && c->bearer->waits)
        DL_DELETE2(c->server->unknown, c, unknown_prev, unknown_next);
    c->bearer->waits = waits;
}

/* Resumes reading as that user, at once or when the lookup has finished. */
static int look_up_user(struct rpc_caller *c, struct err *err)
{
    int rc = find_bearer_user(c, err);

    set_waits(c, rc == -EAGAIN);
    if (rc < 0)
        return c->bearer->waits ? 0 : rc;
    set_host(c);
    rpc_quota_payer(c, c->who.uid);
    return 0;
}

static int check_token(const struct rpc_caller *c, struct err *err)
{
    return auth_jwt_check_time(&c->bearer->claims, loop_wall_ms(), err);
}

/* Known ids stay valid while they are looked up again. */
static int check_user(struct rpc_caller *c, struct err *err)
{
    int rc = find_bearer_user(c, err);

    return rc == -EAGAIN ? 0 : rc;
}

int rpc_bearer_begin(struct rpc_caller *c, const void *signed_part, size_t len, struct err *err)
{
    struct rpc_server *s = c->server;
    struct auth_jwt_claims claims;
    int rc = s->jwt.read(s->jwt.ctx, signed_part, len, loop_wall_ms(), &claims, err);

    if (rc < 0)
        return rc;
    c->bearer = mem_new(struct rpc_bearer);
    c->bearer->claims = claims;
    rc = look_up_user(c, err);
    if (rc == 0 && c->bearer->waits) {
        rpc_conn_pause(c->conn, true);
        rpc_conn_expire(c->conn, RPC_IDLE_TIMEOUT_MS); /* the caller has proved its token */
    }
    return rc;
}

void rpc_server_users_known(struct rpc_server *s)
{
    struct rpc_caller *c, *next;

    for (c = s->unknown; c; c = next) {
        struct err err = {0};
        next = c->unknown_next;
        if (look_up_user(c, &err) < 0) {
            rpc_caller_refuse(c, NULL, &err);
        } else if (!c->bearer->waits) {
            rpc_conn_pause(c->conn, false);
            rpc_conn_expire(c->conn, RPC_STRANGER_TIMEOUT_MS);
        }
    }
}

int rpc_bearer_check(struct rpc_caller *c, const struct rpc_header *h, struct err *err)
{
    if (c->bearer->waits) /* nothing is read meanwhile */
        return err_set(err, -ERR_AUTH, "a request before its user is known");
    if (h->flags & RPC_FLAG_SESSION || (h->token_len && !(h->flags & RPC_FLAG_MORE)))
        return err_set(err, -ERR_AUTH,
                       "with a JSON Web Token a connection carries requests of its user only");
    int rc = check_token(c, err);
    return rc < 0 ? rc : check_user(c, err);
}

static struct rpc_call *find_held(const struct rpc_caller *c, bool only_followers)
{
    struct rpc_call *call;

    DL_FOREACH(c->calls, call)
    {
        if (!only_followers || call->rpc->lane == RPC_LANE_FOLLOW)
            return call;
    }
    return NULL;
}

/* The connection closes with its last call. */
static void refuse_held(struct rpc_caller *c, bool only_followers, const struct err *err)
{
    struct rpc_call *call = find_held(c, only_followers);

    if (!call)
        return;
    rpc_server_refused(c->server, c->text, err->text);
    for (; call; call = find_held(c, only_followers)) {
        const struct rpc_header h = {.rpc = (uint16_t)call->rpc->number, .id = call->request_id};
        rpc_caller_answer_error(c, &h, err->code, err->text);
        rpc_call_drop(c->server, call);
    }
    if (c->open == 0)
        rpc_conn_finish(c->conn);
}

static void set_timer(struct rpc_caller *c)
{
    const struct rpc_bearer *b = c->bearer;
    int64_t left = b->claims.expires_at - loop_wall_ms() / 1000;

    /* The user may be removed, or the clock set, before the token expires. */
    if (b->has_expired || left > RPC_BEARER_CHECK_SEC)
        left = RPC_BEARER_CHECK_SEC;
    loop_timer_set(b->timer, left > 0 ? left * 1000 : 0);
}

/* A request with a valid token is answered, however late. If srun did not get its answer, its job
 * would start with no srun attached. */
static void on_jwt_timer(void *ctx)
{
    struct rpc_caller *c = ctx;
    struct err err = {0};

    if (c->open > 0 && check_user(c, &err) < 0)
        refuse_held(c, false, &err);
    c->bearer->has_expired = check_token(c, &err) < 0;
    if (c->bearer->has_expired)
        refuse_held(c, true, &err);
    if (c->open == 0)
        loop_timer_free(take_ptr(c->bearer->timer));
    else
        set_timer(c);
}

void rpc_bearer_watch(struct rpc_caller *c)
{
    if (c->bearer->timer)
        return;
    c->bearer->timer = loop_timer_new(rpc_io_loop(c->server->io), on_jwt_timer, c);
    set_timer(c);
}

void rpc_bearer_free(struct rpc_caller *c)
{
    if (!c->bearer)
        return;
    set_waits(c, false);
    loop_timer_free(c->bearer->timer);
    free(take_ptr(c->bearer));
}
