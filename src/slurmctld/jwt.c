/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/timefmt.h"
#include "rpc/reply.h"
#include "slurmctld/core/names.h"
#include "slurmctld/jwt.h"

static int read_claims(void *ctx, const void *signed_part, size_t len, int64_t now_ms,
                       struct auth_jwt_claims *out, struct err *err)
{
    const struct ctld *c = ctx;
    return auth_jwt_read(signed_part, len, ctld_conf(c)->auth_alt.user_claim, now_ms, out, err);
}

static int find_token_user(void *ctx, const char *name, uid_t *uid, gid_t *gid)
{
    struct ctld *c = ctx;
    if (!names_has_ids(c->names, name))
        return -EAGAIN;
    return names_ids(c->names, name, uid, gid) ? 0 : -ENOENT;
}

void jwt_accept(struct ctld *c)
{
    const struct rpc_jwt_rules rules = {
        .key = &c->jwt_key, .read = read_claims, .find_user = find_token_user, .ctx = c};
    if (c->has_jwt_key)
        rpc_server_accept_jwt(c->server, &rules);
}

/* Determines the user of the token, if the caller may have it. */
static int choose_user(const struct ctld *c, const struct rpc_request *r, const struct caller *who,
                       const char **user, struct err *err)
{
    const Pb__TokenRequest *ask = (const Pb__TokenRequest *)r->body;
    const struct conf_auth_alt *alt = &control_conf(c->control)->auth_alt;
    uint32_t uid, gid;
    if (!c->has_jwt_key)
        return err_set(err, -ERR_CONFIG,
                       "no tokens are created: set AuthAltTypes=auth/jwt in slurm.conf and restart "
                       "slurmctld");
    if (r->by_jwt) /* the new token would outlive the caller's token */
        return err_set(err, -ERR_ACCESS,
                       "a JSON Web Token cannot create another token: unset SLURM_JWT");
    if (!r->is_secret) /* a token readable on the wire could be used by others */
        return err_set(
            err, -ERR_ACCESS,
            "the token would be sent in clear: run scontrol on the controller's host, or "
            "remove TLSType=none from slurm.conf and restart the daemons");
    if (alt->disable_token_creation && !who->is_admin)
        return err_set(err, -ERR_ACCESS,
                       "AuthAltParameters=disable_token_creation: only root and SlurmUser create "
                       "tokens");
    *user = ask->user ? ask->user : who->user_name;
    if (!*user)
        return err_set(err, -ERR_ACCESS, "uid %u has no user name on the controller's host",
                       who->uid);
    if (str_eq(*user, who->user_name)) /* names_ids() would block for a lookup */
        return 0;
    if (!who->is_admin)
        return err_set(err, -ERR_ACCESS,
                       "only root and SlurmUser create tokens for other users: omit username=");
    if (!names_ids(c->names, *user, &uid, &gid))
        return err_set(err, -ERR_RANGE, "user '%s' does not exist on the controller's host", *user);
    return 0;
}

static int choose_expiry(const struct ctld *c, const struct rpc_request *r,
                         const struct caller *who, int64_t now_sec, int64_t *expires_at,
                         struct err *err)
{
    const Pb__TokenRequest *ask = (const Pb__TokenRequest *)r->body;
    int64_t max = who->is_admin ? 0 : control_conf(c->control)->auth_alt.max_token_lifespan_sec;
    uint64_t lifespan = ask->lifespan_sec;
    if (!ask->has_lifespan_sec)
        lifespan = max && max < AUTH_JWT_LIFESPAN_SEC ? (uint64_t)max : AUTH_JWT_LIFESPAN_SEC;
    if (lifespan == 0)
        return err_set(err, -ERR_RANGE, "a lifespan is 1 second or more");
    if (max && (ask->infinite || lifespan > (uint64_t)max))
        return err_set(err, -ERR_RANGE,
                       "the lifespan of a token is at most %lld seconds "
                       "(AuthAltParameters=max_token_lifespan)",
                       (long long)max);
    *expires_at = AUTH_JWT_FOREVER;
    if (!ask->infinite && lifespan < (uint64_t)(AUTH_JWT_FOREVER - now_sec))
        *expires_at = now_sec + (int64_t)lifespan;
    return 0;
}

static void refuse_token(struct ctld *c, const struct rpc_request *r, const struct caller *who,
                         const struct err *err)
{
    static struct log_limits limits = {.burst = 60};
    if (log_allow_source(&limits, log_source(r->peer)))
        log_error("refused: %s: uid %u: TOKEN: %s", r->peer, who->uid, err->text);
    rpc_reply_error(c->server, r->call, err->code, err->text);
}

void jwt_answer(struct ctld *c, const struct rpc_request *r, const struct caller *who)
{
    int64_t now_sec = loop_wall_ms() / 1000, expires_at = 0;
    const char *user = NULL;
    struct err err = {0};
    _cleanup_str_ struct str token = STR_INIT;
    int rc = choose_user(c, r, who, &user, &err);
    if (rc == 0)
        rc = choose_expiry(c, r, who, now_sec, &expires_at, &err);
    if (rc == 0)
        rc = auth_jwt_make(&c->jwt_key, control_conf(c->control)->auth_alt.user_claim, user,
                           now_sec, expires_at, &token, &err);
    if (rc) {
        refuse_token(c, r, who, &err);
        return;
    }
    log_info("a token for user %s that is valid for %lld seconds goes to uid %u (%s)", user,
             (long long)(expires_at - now_sec), who->uid, r->peer);
    Pb__TextReply reply = PB__TEXT_REPLY__INIT;
    reply.text = (char *)str_cstr(&token);
    rpc_reply(c->server, r->call, &reply.base);
    mem_wipe(token.data, token.len);
}
