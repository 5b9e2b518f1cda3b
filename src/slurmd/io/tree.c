/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/io/tree.h"

#include <string.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/pb.h"
#include "base/str.h"
#include "rpc/frame.h"
#include "rpc/reply.h"
#include "slurmd/io/tree_part.h"
#include "slurmd/job/cred.h"
#include "slurmd/job/launch.h"
#include "slurmd/job/prepare.h"
#include "slurmd/node/logfile.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

/* Limits of this node: number of trees, and bytes of their requests and lists. A user may have a
   quarter. */
#define TREES_MAX 1024
#define TREE_BYTES_MAX (256u << 20)
#define USER_SHARE 4

#define PART_PATIENCE_MS 10000 /* time limit for the list after the request */
#define SILENCE_MIN_MS 100
#define SILENCE_MAX_MS 3600000
/* Within the time after which the parent would count this node as lost. */
#define BEATS 4
#define ANSWERS_MAX (1u << 20) /* bytes of answers that wait for the end of the turn */
#define CRED_ARENA (64u << 20)

static struct log_limits refusals = {.burst = 60}, losses = {.burst = 60};

struct tree {
    struct slurmd *d;
    uint64_t call;
    struct auth_identity who;
    unsigned roles;
    char *peer, *origin; /* the sender; the host of the original caller */
    struct rpc_header header;
    struct str frame; /* the request as received */
    size_t bytes;     /* bytes accounted to the limits */
    int64_t silence_ms;
    unsigned width;
    struct rpc_relay *relay;
    uint32_t *index; /* positions of the relay's targets in the answers */
    uint8_t seal[AUTH_MAC_SIZE];
    struct str answers; /* answers to be sent at the end of the turn */
    size_t count, left; /* number of waiting answers; number of answers still to come */
    uint64_t own;       /* call of this node's own part; 0: none is open */
    bool has_part, wants_commit, committed, own_answered;
    struct loop_timer *flush, *beat;
    UT_hash_handle hh;
};

static void tree_free(struct tree *t)
{
    HASH_DEL(t->d->trees, t);
    if (t->own)
        rpc_call_inner_drop(t->d->server, t->own);
    rpc_relay_free(t->relay);
    loop_timer_free(t->flush);
    loop_timer_free(t->beat);
    str_done(&t->frame);
    str_done(&t->answers);
    free(t->index);
    free(t->peer);
    free(t->origin);
    free(t);
}

static struct tree *find_tree(struct slurmd *d, uint64_t call)
{
    struct tree *t;

    HASH_FIND(hh, d->trees, &call, sizeof(call), t);
    return t;
}

void tree_gone(struct slurmd *d, uint64_t call)
{
    struct tree *t = find_tree(d, call);

    if (t)
        tree_free(t);
}

void tree_free_all(struct slurmd *d)
{
    struct tree *t, *next;

    HASH_ITER (hh, d->trees, t, next) {
        t->own = 0; /* the call is freed with the server and must not be used */
        tree_free(t);
    }
}

static void refuse_request(struct tree *t, const struct err *err)
{
    struct rpc_server *server = t->d->server;
    uint64_t call = t->call;

    if (log_allow_source(&refusals, t->who.uid))
        log_error("a request of user %u from %s is not passed on: %s", (unsigned)t->who.uid,
                  t->peer, err->text);
    tree_free(t); /* the own part ends before the call that contained it */
    rpc_reply_error(server, call, -err->code, err->text);
}

/* Answers to the parent. */

static void on_flush(void *ctx)
{
    struct tree *t = ctx;
    bool more = t->left > 0;

    rpc_reply_bytes(t->d->server, t->call, t->answers.data, t->answers.len, more);
    str_clear(&t->answers);
    if (!more)
        tree_free(t);
}

/* Tells the nodes above that this node is alive. */
static void on_tree_beat(void *ctx)
{
    struct tree *t = ctx;
    struct err err;

    if (t->has_part && t->left == 0)
        return; /* the last answers are sent in this turn */
    if (t->has_part) {
        on_flush(t);
        loop_timer_set(t->beat, t->silence_ms / BEATS);
        return;
    }
    err_set(&err, -ERR_TIMEOUT, "nobody has said who is to get it");
    refuse_request(t, &err);
}

static void add_answer(struct tree *t, const Pb__TreeAnswer *m)
{
    _cleanup_str_ struct str packed = STR_INIT;

    pb_pack(&m->base, &packed);
    pb_pack_field(1, packed.data, packed.len, &t->answers);
    if (!m->prepared)
        t->left--;
    loop_timer_set(t->flush, 0);
}

static void add_error(struct tree *t, uint32_t index, int code, const char *text)
{
    Pb__TreeAnswer m = PB__TREE_ANSWER__INIT;

    m.index = index;
    m.has_code = true;
    m.code = (uint32_t)(code < 0 ? -code : code);
    m.text = (char *)text;
    add_answer(t, &m);
}

/* The decision to commit. */

static void commit_tree(struct tree *t)
{
    t->committed = true;
    if (t->relay)
        rpc_relay_commit(t->relay);
    if (t->own)
        prepare_commit(t->d, t->own);
}

static void on_prepared(struct tree *t, uint32_t index)
{
    Pb__TreeAnswer m = PB__TREE_ANSWER__INIT;

    m.index = index;
    m.has_prepared = m.prepared = true;
    add_answer(t, &m);
}

static void refuse_one(void *ctx, uint32_t index, const struct err *err)
{
    add_error(ctx, index, err->code, err->text);
}

static void add_reply(struct tree *t, uint32_t index, const void *reply, size_t len)
{
    Pb__TreeAnswer m = PB__TREE_ANSWER__INIT;

    m.index = index;
    m.has_reply = true;
    m.reply = (ProtobufCBinaryData){len, (uint8_t *)reply};
    if (len + t->answers.len > ANSWERS_MAX)
        add_error(t, index, ERR_TOO_BIG, "the answer is larger than those of a tree may be");
    else
        add_answer(t, &m);
}

static void on_own_prepared(void *ctx)
{
    on_prepared(ctx, 0);
}

static void on_own_answer(void *ctx, int code, const void *answer, size_t len)
{
    struct tree *t = ctx;
    _cleanup_free_ char *text = code ? mem_strndup(answer, len) : NULL;

    t->own = 0;
    t->own_answered = true;
    if (code)
        add_error(t, 0, code, text);
    else
        add_reply(t, 0, answer, len);
}

static void on_tree_answer(void *ctx, const struct rpc_relay_answer *a)
{
    struct tree *t = ctx;
    uint32_t index = t->index[a->index];

    if (a->prepared)
        on_prepared(t, index);
    else if (a->code)
        add_error(t, index, a->code, a->text);
    else
        add_reply(t, index, a->reply, a->len);
}

/* Requests to the targets below. */

static void fill_minted(void *ctx, size_t index, struct rpc_minted *minted)
{
    rpc_minted_fill(minted, &((struct tree *)ctx)->d->key);
}

/* A caller on this host has an address that means a different host elsewhere: the next node gets
 * this node's address instead, as seen by that node. */
static const char *origin_for_others(const struct tree *t)
{
    bool here = str_starts(t->origin, "127.") || str_starts(t->origin, "[::1]") ||
                str_starts(t->origin, "[::ffff:127.");

    return here ? "" : t->origin;
}

static void put_origin(void *ctx, const uint8_t *token, Pb__TreePart *part)
{
    struct tree *t = ctx;
    const char *origin = origin_for_others(t);

    auth_origin_seal(&t->d->key, token, origin, t->seal);
    part->origin = (char *)origin;
    part->has_origin_seal = true;
    part->origin_seal = (ProtobufCBinaryData){sizeof(t->seal), t->seal};
}

static void on_head(void *ctx, const char *node, size_t below)
{
    const struct tree *t = ctx;

    log_debug("tree: a request of user %u goes to node %s and %zu below it", (unsigned)t->who.uid,
              node, below);
    slurmd_debug(t->d, route, "a request of uid %u goes to node %s and %zu below it",
                 (unsigned)t->who.uid, node, below);
}

static void on_tree_lost(void *ctx, const char *node, size_t below, const char *why)
{
    const struct tree *t = ctx;

    if (log_allow_source(&losses, t->who.uid))
        log_error("tree: node %s is lost with %zu below it, who are asked in another way: %s", node,
                  below, why);
}

static void start_relay(struct tree *t, const struct tree_part *part)
{
    struct rpc_relay_options o = {
        .loop = t->d->loop,
        .header = t->header,
        .body = t->frame.data,
        .width = t->width,
        .silence_ms = t->silence_ms,
        .connect_ms = t->d->conf->message_timeout_sec * 1000,
        .fill = fill_minted,
        .origin = put_origin,
        .on_answer = on_tree_answer,
        .on_head = on_head,
        .on_lost = on_tree_lost,
        .ctx = t,
    };

    t->index = mem_dup(part->index, (part->count + 1) * sizeof(*part->index));
    t->relay = rpc_relay_start(&o, part->targets, part->count);
    if (t->committed)
        rpc_relay_commit(t->relay);
}

/* Finds the credential of the request: beside the request, or inside it. */
static int find_cred(struct tree *t, const Pb__TreeRequest *m, struct arena *arena,
                     ProtobufCBinaryData *cred, ProtobufCBinaryData *signature, struct err *err)
{
    const struct rpc_info *rpc = rpc_find(m->rpc);
    const ProtobufCFieldDescriptor *c, *s;
    const char *inner;

    *cred = m->cred;
    *signature = m->signature;
    if (m->has_cred && m->has_signature)
        return 0;
    c = pb_find_field(rpc->request, "cred");
    s = pb_find_field(rpc->request, "signature");
    inner = c && s && c->type == PROTOBUF_C_TYPE_BYTES && s->type == PROTOBUF_C_TYPE_BYTES
                ? arena_unpack(arena, rpc->request, m->body.data, m->body.len)
                : NULL;
    if (!inner)
        return err_set(err, -ERR_CREDENTIAL,
                       "%s: %s has none that says where the nodes are that it is passed on to",
                       err_text(ERR_CREDENTIAL), rpc->name);
    memcpy(cred, inner + c->offset, sizeof(*cred));
    memcpy(signature, inner + s->offset, sizeof(*signature));
    return 0;
}

static int check_cred(struct tree *t, const Pb__TreeRequest *m, struct arena *arena,
                      Pb__Cred **cred, struct err *err)
{
    ProtobufCBinaryData data, signature;
    uint32_t own;
    int rc = find_cred(t, m, arena, &data, &signature, err);

    if (!rc)
        rc = launch_check_cred(t->d, data, signature, CRED_PART_ANY, arena, cred, &own, err);
    if (!rc && t->who.uid != (*cred)->uid && !(t->roles & RPC_WHO_ADMIN))
        rc = err_set(err, -ERR_CREDENTIAL, "%s: it is of user %u, the caller is user %u",
                     err_text(ERR_CREDENTIAL), (*cred)->uid, (unsigned)t->who.uid);
    return rc;
}

static void pass_on(struct tree *t, const Pb__TreeRequest *m, const Pb__TreePart *list)
{
    struct tree_part part = {0};
    _cleanup_arena_ struct arena arena;
    struct err err = {0};
    Pb__Cred *cred;

    arena_init(&arena, CRED_ARENA);
    if (check_cred(t, m, &arena, &cred, &err) == 0) {
        tree_part_read(list, cred, t->d->name, refuse_one, t, &part);
        if (part.count)
            start_relay(t, &part);
        tree_part_done(&part);
    } else {
        for (size_t i = 0; i < list->n_targets; i++) /* the targets would report the same error */
            refuse_one(t, (uint32_t)i + 1, &err);
    }
}

static void do_own_part(struct tree *t, const Pb__TreeRequest *m)
{
    struct rpc_inner inner = {
        .outer = t->call,
        .rpc = m->rpc,
        .body = m->body.data,
        .len = m->body.len,
        .who = t->who,
        .roles = t->roles,
        .peer = t->origin,
        .prepare = t->wants_commit,
        .prepared = on_own_prepared,
        .answered = on_own_answer,
        .ctx = t,
    };
    uint64_t call;

    call = rpc_call_inner(t->d->server, &inner);
    if (!t->own_answered)
        t->own = call;
    if (t->committed && t->own)
        prepare_commit(t->d, t->own);
}

/* Reads the origin from the request; if it has none, the origin is the sender. */
static int read_origin(struct tree *t, const Pb__TreePart *m, struct err *err)
{
    uint8_t token[AUTH_TOKEN_SIZE], seal[AUTH_MAC_SIZE];

    memcpy(token, t->frame.data + t->header.body_len, sizeof(token));
    if (!m->origin) {
        t->origin = mem_strdup(t->peer);
        return 0;
    }
    auth_origin_seal(&t->d->key, token, m->origin, seal);
    if (m->origin_seal.len != sizeof(seal) || !auth_equal(seal, m->origin_seal.data, sizeof(seal)))
        return err_set(err, -ERR_AUTH,
                       "that it comes from %.60s is not under the seal of a node daemon",
                       m->origin);
    t->origin = mem_strdup(*m->origin ? m->origin : t->peer);
    return 0;
}

static int count_bytes(struct tree *t, size_t more, struct err *err)
{
    size_t all = more, own = more, trees = 0;

    for (const struct tree *other = t->d->trees; other; other = other->hh.next) {
        all += other->bytes;
        if (other->who.uid == t->who.uid) {
            own += other->bytes;
            trees++;
        }
    }
    if (HASH_COUNT(t->d->trees) > TREES_MAX || all > TREE_BYTES_MAX)
        return err_set(err, -ERR_BUSY, "too many requests are passed on here");
    if (t->who.uid != 0 && (trees > TREES_MAX / USER_SHARE || own > TREE_BYTES_MAX / USER_SHARE))
        return err_set(err, -ERR_BUSY, "too many requests of user %u are passed on here",
                       (unsigned)t->who.uid);
    t->bytes += more;
    return 0;
}

static void handle_part(struct tree *t, const Pb__TreePart *list)
{
    _cleanup_arena_ struct arena arena = {0};
    struct err err = {0};
    const Pb__TreeRequest *m;
    int rc = 0;

    if (t->has_part) { /* the request may have ended by now */
        err_set(&err, -ERR_PROTOCOL, "it is said twice who is to get it");
        refuse_request(t, &err);
        return;
    }
    m = (const Pb__TreeRequest *)rpc_unpack(rpc_find(RPC_TREE), t->frame.data, t->header.body_len,
                                            RPC_ARENA_FACTOR, &arena, &err);
    rc = m ? 0 : -ERR_PROTOCOL;
    if (!rc)
        rc = count_bytes(t, list->n_targets * sizeof(struct rpc_relay_target), &err);
    if (!rc)
        rc = read_origin(t, list, &err);
    if (rc) {
        refuse_request(t, &err);
        return;
    }
    t->has_part = true;
    t->left = t->count = list->n_targets + 1;
    t->wants_commit = m->has_commit && m->commit != PB__TREE_COMMIT__TREE_COMMIT_NO;
    loop_timer_set(t->beat, list->n_targets ? t->silence_ms / BEATS : -1);
    if (list->n_targets)
        pass_on(t, m, list);
    do_own_part(t, m);
    if (!t->relay) { /* no other node needs it */
        str_done(&t->frame);
        t->bytes = 0;
    }
}

void tree_more(struct slurmd *d, const struct rpc_more *more)
{
    struct tree *t = find_tree(d, more->call);

    if (t && more->rpc->number == RPC_TREE_PART)
        handle_part(t, (const Pb__TreePart *)more->body);
    else if (t && more->rpc->number == RPC_TREE_COMMIT)
        commit_tree(t);
}

/* Start of a tree. */

/* Whether the RPC's handler supports rpc_request.prepare. */
static bool can_prepare(const struct rpc_info *rpc)
{
    return rpc->number == RPC_LAUNCH_TASKS;
}

static int check_request(const Pb__TreeRequest *m, struct err *err)
{
    const struct rpc_info *rpc = rpc_find(m->rpc);

    if (m->width < RPC_TREE_WIDTH_MIN || m->width > RPC_TREE_WIDTH_MAX)
        return err_set(err, -ERR_RANGE, "a tree divides in %d to %d parts, not %u",
                       RPC_TREE_WIDTH_MIN, RPC_TREE_WIDTH_MAX, m->width);
    if (m->silence_ms < SILENCE_MIN_MS || m->silence_ms > SILENCE_MAX_MS)
        return err_set(err, -ERR_RANGE, "silence of %u ms in a tree, which takes %d to %d",
                       m->silence_ms, SILENCE_MIN_MS, SILENCE_MAX_MS);
    if (!rpc || rpc->number == RPC_TREE || rpc->number == RPC_TREE_PART ||
        rpc->number == RPC_TREE_COMMIT)
        return err_set(err, -ERR_PROTOCOL, "request %u does not go down a tree", m->rpc);
    if (m->has_commit && (unsigned)m->commit > PB__TREE_COMMIT__TREE_COMMIT_YES)
        return err_set(err, -ERR_RANGE, "unknown commit %u of a tree", (unsigned)m->commit);
    if (m->has_commit && m->commit != PB__TREE_COMMIT__TREE_COMMIT_NO && !can_prepare(rpc))
        return err_set(err, -ERR_NOT_SUPPORTED, "%s cannot be prepared without being done",
                       rpc->name);
    return 0;
}

void tree_take(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__TreeRequest *m = (const Pb__TreeRequest *)r->body;
    const struct rpc_frame *f = r->frame;
    struct err err = {0};
    struct tree *t;
    int rc;

    if (!f || f->header->token_len != AUTH_TOKEN_SIZE) {
        rpc_reply_error(d->server, r->call, ERR_NOT_SUPPORTED, "a tree grows over the network");
        return;
    }
    t = mem_new(struct tree);
    t->d = d;
    t->call = r->call;
    t->who = r->who;
    t->roles = r->roles;
    t->peer = mem_strdup(r->peer);
    t->header = *f->header;
    t->silence_ms = m->silence_ms;
    t->width = m->width;
    t->flush = loop_timer_new(d->loop, on_flush, t);
    t->beat = loop_timer_new(d->loop, on_tree_beat, t);
    HASH_ADD(hh, d->trees, call, sizeof(t->call), t);
    rc = check_request(m, &err);
    if (!rc)
        rc = count_bytes(t, f->header->body_len, &err);
    if (rc) {
        refuse_request(t, &err);
        return;
    }
    str_append(&t->frame, f->body, f->header->body_len);
    str_append(&t->frame, f->token, AUTH_TOKEN_SIZE);
    loop_timer_set(t->beat, PART_PATIENCE_MS);
}
