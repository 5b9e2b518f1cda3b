/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/mint.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/vec.h"
#include "proto/node.pb-c.h"
#include "rpc/client.h"
#include "rpc/rpc.h"

void rpc_trusted_uids(const struct conf *conf, uid_t uids[RPC_TRUSTED_COUNT])
{
    uids[0] = conf->slurm_uid;
    uids[1] = conf->slurmd_uid;
}

int rpc_open_here(const struct conf *conf, const char *name, struct rpc_wire *w,
                  int64_t deadline_ms, struct err *err)
{
    uid_t trusted[RPC_TRUSTED_COUNT];
    struct err first = {0};

    rpc_trusted_uids(conf, trusted);
    for (size_t i = 0; i < conf->socket_dir_count; i++) {
        _cleanup_free_ char *path = conf_socket_path(conf, i, name);
        struct err why = {0};
        int rc = rpc_wire_open_local(w, path, trusted, RPC_TRUSTED_COUNT, deadline_ms, &why);
        if (rc == 0)
            return 0;
        if (i == 0 || first.code == -ENOENT)
            first = why;
    }
    return err_set(err, first.code, "%s", first.text);
}

/* Takes the channel key, which is common to all tokens in the reply. */
static int take_channel(const Pb__MintReply *reply, struct auth_noise_key *out, struct err *err)
{
    memset(out, 0, sizeof(*out));
    if (reply->channel_id.len == sizeof(out->id) && reply->channel_key.len == sizeof(out->psk)) {
        memcpy(out->id, reply->channel_id.data, sizeof(out->id));
        memcpy(out->psk, reply->channel_key.data, sizeof(out->psk));
        return 0;
    }
    if (!rpc_encryption() && !reply->has_channel_id && !reply->has_channel_key)
        return 0;
    return err_set(err, -ERR_VERSION,
                   "the daemon there gives no key for encrypted connections; update it");
}

static int mint_batch(struct rpc_wire *w, const uint8_t hash[AUTH_HASH_SIZE],
                      const char *const *audiences, size_t count, int64_t deadline_ms,
                      struct rpc_minted *made, struct err *err)
{
    Pb__MintRequest ask = PB__MINT_REQUEST__INIT;
    const uint8_t *bytes;
    size_t len;
    struct arena arena;
    struct auth_noise_key channel;
    Pb__MintReply *reply;
    int rc;

    ask.body_hash = (ProtobufCBinaryData){AUTH_HASH_SIZE, (uint8_t *)hash};
    ask.audience = (char **)audiences;
    ask.n_audience = count;
    rc = rpc_wire_exchange(w, RPC_MINT, &ask.base, &bytes, &len, deadline_ms, err);
    if (rc != 0)
        return rc;
    arena_init(&arena, len * RPC_ARENA_FACTOR + RPC_ARENA_EXTRA);
    reply = arena_unpack(&arena, &pb__mint_reply__descriptor, bytes, len);
    if (!reply || reply->n_token != count || reply->n_answer_key != count)
        rc = err_set(err, -ERR_PROTOCOL, "a malformed answer to a request for tokens");
    if (rc == 0)
        rc = take_channel(reply, &channel, err);
    for (size_t i = 0; rc == 0 && i < count; i++) {
        const ProtobufCBinaryData *token = &reply->token[i], *key = &reply->answer_key[i];
        if (token->len == AUTH_TOKEN_SIZE && key->len == sizeof(made[i].answers.mac_key)) {
            memcpy(made[i].token, token->data, token->len);
            memcpy(made[i].answers.mac_key, key->data, key->len);
            made[i].channel = channel;
        } else {
            rc = err_set(err, -ERR_PROTOCOL, "a malformed answer to a request for tokens");
        }
    }
    arena_done(&arena);
    return rc;
}

static int mint_all(struct rpc_wire *w, const uint8_t hash[AUTH_HASH_SIZE],
                    const char *const *audiences, size_t count, int64_t deadline_ms,
                    struct rpc_minted *made, struct err *err)
{
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < count; i += RPC_MINT_MAX) {
        size_t n = count - i < RPC_MINT_MAX ? count - i : RPC_MINT_MAX;
        rc = mint_batch(w, hash, audiences + i, n, deadline_ms, made + i, err);
    }
    return rc;
}

static int mint_at(const struct conf *conf, const char *path, const uint8_t hash[AUTH_HASH_SIZE],
                   const char *const *audiences, size_t count, int64_t deadline_ms,
                   struct rpc_minted *made, struct err *err)
{
    struct rpc_wire w = {.fd = -1};
    uid_t trusted[RPC_TRUSTED_COUNT];
    int rc;

    rpc_trusted_uids(conf, trusted);
    rc = rpc_wire_open_local(&w, path, trusted, RPC_TRUSTED_COUNT, deadline_ms, err);
    if (rc == 0)
        rc = mint_all(&w, hash, audiences, count, deadline_ms, made, err);
    rpc_wire_close(&w);
    return rc;
}

/* Adds every DIR/slurmd-NODE to 'nodes', and DIR/slurmctld and the sockets of backup controllers
 * to 'controllers'. Returns -errno of opening the directory. */
static int find_sockets(const char *dir, struct str *nodes, struct str *controllers, size_t *count)
{
    struct dirent *e;
    DIR *d = opendir(dir);

    if (!d)
        return -errno;
    str_printf(controllers, "%s/slurmctld", dir);
    str_putc(controllers, '\0');
    ++*count;
    while ((e = readdir(d))) {
        struct str *to = str_starts(e->d_name, "slurmd-")      ? nodes
                         : str_starts(e->d_name, "slurmctld-") ? controllers
                                                               : NULL;
        if (!to)
            continue;
        str_printf(to, "%s/%s", dir, e->d_name);
        str_putc(to, '\0');
        ++*count;
    }
    closedir(d);
    return 0;
}

/* Sockets of node daemons come first: a caller may need a token because the local controller
 * hangs. If there is no socket, returns -errno of the first directory. */
static int find_all_sockets(const struct conf *conf, struct str *paths, size_t *count)
{
    _cleanup_str_ struct str controllers = STR_INIT;
    int first = 0;

    for (size_t i = 0; i < conf->socket_dir_count; i++) {
        int rc = find_sockets(conf->socket_dirs[i], paths, &controllers, count);
        first = i ? first : rc;
    }
    str_append(paths, controllers.data, controllers.len);
    return paths->len ? 0 : first;
}

/* Limits the time for one daemon, so that a hung daemon leaves time for the others. */
static int64_t share_of(int64_t deadline_ms, size_t left)
{
    int64_t now_ms = rpc_wire_now_ms();

    assert(left > 0);
    return deadline_ms > now_ms ? now_ms + (deadline_ms - now_ms) / (int64_t)left : now_ms;
}

int rpc_mint(const struct conf *conf, const uint8_t hash[AUTH_HASH_SIZE],
             const char *const *audiences, size_t count, int64_t deadline_ms,
             struct rpc_minted **out, struct err *err)
{
    _cleanup_str_ struct str paths = STR_INIT, tried = STR_INIT;
    struct rpc_minted *made = mem_new_array(struct rpc_minted, count);
    size_t left = 0;
    int rc = find_all_sockets(conf, &paths, &left);

    rpc_set_encryption(conf_encrypts(conf)); /* set for the requests that use the tokens */
    if (rc < 0)
        str_printf(&tried, "%s: %s", conf->socket_dirs[0], strerror(-rc));
    for (size_t at = 0; at < paths.len; at += strlen(paths.data + at) + 1) {
        const char *path = paths.data + at;
        struct err why = {0};
        if (mint_at(conf, path, hash, audiences, count, share_of(deadline_ms, left--), made,
                    &why) == 0) {
            *out = made;
            return 0;
        }
        str_printf(&tried, "%s%s: %s", tried.len ? "; " : "", path, why.text);
    }
    rpc_minted_free(made, count);
    return err_set(err, -ERR_AUTH,
                   "no daemon on this host can vouch for you; start slurmd here (tried %s)",
                   str_cstr(&tried));
}

const char *rpc_jwt(void)
{
    return getenv("SLURM_JWT");
}

static int use_jwt(const char *token, struct rpc_minted **made, struct err *err)
{
    _cleanup_free_ struct rpc_minted *m = mem_new(struct rpc_minted);
    struct auth_key secret;
    struct err why = {0};
    int rc = auth_jwt_split(token, &m->jwt, &why);

    if (rc < 0)
        return err_set(err, rc, "SLURM_JWT: %s; unset it, or set it by 'export $(scontrol token)'",
                       why.text);
    auth_jwt_secret(m->jwt.signature, &secret);
    auth_noise_key_make(&secret, &m->channel);
    auth_key_done(&secret);
    *made = take_ptr(m);
    return 0;
}

int rpc_vouch(const struct conf *conf, bool is_local, struct rpc_header *h, const void *body,
              int64_t deadline_ms, struct rpc_minted **made, struct err *err)
{
    const char *audience = "slurmctld";
    uint8_t hash[AUTH_HASH_SIZE];

    *made = NULL;
    h->token_len = is_local || rpc_jwt() ? 0 : AUTH_TOKEN_SIZE;
    if (is_local)
        return 0;
    if (rpc_jwt())
        return use_jwt(rpc_jwt(), made, err);
    rpc_frame_hash(h, body, hash);
    return rpc_mint(conf, hash, &audience, 1, deadline_ms, made, err);
}

/* NULL: the daemon is not on this host, or did not answer in half of the time. */
static struct rpc_minted *secret_of(const struct conf *conf, const char *node,
                                    const uint8_t hash[AUTH_HASH_SIZE], int64_t deadline_ms,
                                    int *fd)
{
    _cleanup_free_ char *name = conf_socket_node(node);
    struct rpc_minted *made = mem_new(struct rpc_minted);
    const char *audience = RPC_SECRET_AUDIENCE;
    struct rpc_wire w = {.fd = -1};
    int64_t until_ms = share_of(deadline_ms, 2);
    struct err err = {0};
    int rc = rpc_open_here(conf, name, &w, until_ms, &err);

    if (rc == 0)
        rc = mint_all(&w, hash, &audience, 1, until_ms, made, &err);
    if (rc)
        rpc_minted_free(take_ptr(made), 1);
    else if (fd)
        *fd = take_fd(&w.fd);
    rpc_wire_close(&w);
    return made;
}

int rpc_secret_new(const struct conf *conf, const char *node, uint8_t token[AUTH_TOKEN_SIZE],
                   struct auth_key *secret, int *fd, struct err *err)
{
    static const uint8_t of_nothing[AUTH_HASH_SIZE];
    const char *audience = RPC_SECRET_AUDIENCE;
    int64_t deadline_ms = rpc_wire_now_ms() + conf->message_timeout_sec * 1000;
    struct rpc_minted *minted;
    int rc = 0;

    if (fd)
        *fd = -1;
    rpc_set_encryption(conf_encrypts(conf));
    minted = node ? secret_of(conf, node, of_nothing, deadline_ms, fd) : NULL;
    if (!minted)
        rc = rpc_mint(conf, of_nothing, &audience, 1, deadline_ms, &minted, err);
    if (rc == 0) {
        memcpy(token, minted->token, AUTH_TOKEN_SIZE);
        *secret = minted->answers;
    }
    rpc_minted_free(minted, 1);
    return rc;
}
