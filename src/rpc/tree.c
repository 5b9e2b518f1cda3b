/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/tree.h"

#include <stdio.h>

#include "base/mem.h"
#include "base/pb.h"
#include "base/vec.h"
#include "rpc/mint.h"
#include "rpc/relay.h"

#define ID_SIZE 16
#define NAMED_MAX 4
#define MINT_PATIENCE_MS 5000
#define ROUNDS_MAX 16     /* rounds of targets whose tokens were used up on a broken path */
#define ROUND_PAUSE_MS 50 /* milliseconds; further targets of the same path follow soon */

struct target {
    char *node, *addr;
    uint16_t port;
    bool done, accepted;
    unsigned rounds;
};

/* The targets that got the same frame. */
struct round {
    struct rpc_tree *tree;
    struct round *next;
    struct rpc_relay *relay;
    struct str body;
    uint32_t *targets;
    struct rpc_minted *minted;
};

struct rpc_tree {
    struct loop *loop;
    const struct conf *conf;
    const struct rpc_info *rpc;
    Pb__TreeRequest request; /* packed again with a new id for each round */
    struct str message, cred, signature;
    struct target *targets;
    size_t count, accepted;
    bool undecided; /* the nodes have not been told whether to execute what they prepare */
    enum rpc_tree_commit commit;
    VEC(uint32_t) next_round; /* targets of the next round */
    struct round *rounds;
    struct rpc_fanout *direct;
    struct loop_timer *step, *limit, *slow;
    rpc_node_done_fn *done;
    void (*tell)(void *ctx, const char *text);
    void (*waits)(void *ctx, const char *nodes);
    void (*prepared)(void *ctx);
    void *ctx;
    unsigned telling; /* number of done() callbacks on the stack */
    bool is_freed;
};

static void destroy_tree(struct rpc_tree *t)
{
    loop_timer_free(t->step);
    loop_timer_free(t->limit);
    loop_timer_free(t->slow);
    for (size_t i = 0; i < t->count; i++) {
        free(t->targets[i].node);
        free(t->targets[i].addr);
    }
    free(t->targets);
    vec_done(&t->next_round);
    str_done(&t->message);
    str_done(&t->cred);
    str_done(&t->signature);
    free(t);
}

void rpc_tree_free(struct rpc_tree *t)
{
    if (!t || t->is_freed)
        return;
    rpc_fanout_free(take_ptr(t->direct));
    while (t->rounds) {
        struct round *r = t->rounds;

        t->rounds = r->next;
        rpc_relay_free(r->relay);
        str_done(&r->body);
        free(r->targets);
        free(r->minted);
        free(r);
    }
    t->is_freed = true;
    if (!t->telling)
        destroy_tree(t);
}

static void leave_tree(struct rpc_tree *t)
{
    if (--t->telling == 0 && t->is_freed)
        destroy_tree(t);
}

/* Calls done(), once per target. */
static void finish_node(struct rpc_tree *t, size_t index, int code, const ProtobufCMessage *reply,
                        const struct err *err)
{
    struct target *to = &t->targets[index];
    struct err why = *err;

    if (t->is_freed || to->done)
        return;
    to->done = true;
    why.code = code;
    if (code < 0)
        err_prefix(&why, "%s (%s:%u)", to->node, to->addr, to->port);
    t->done(t->ctx, index, code, reply, &why);
}

/* Fails all unanswered targets; prepared requests are cancelled. */
static void fail_targets(struct rpc_tree *t, const struct err *err)
{
    t->undecided = false;
    for (struct round *r = t->rounds; r; r = r->next)
        rpc_relay_free(take_ptr(r->relay));
    vec_clear(&t->next_round);
    for (size_t i = 0; i < t->count && !t->is_freed; i++)
        finish_node(t, i, err->code, NULL, err);
}

static void fail_rest(struct rpc_tree *t, const struct err *err)
{
    t->telling++;
    fail_targets(t, err);
    leave_tree(t);
}

static void on_tree_limit(void *ctx)
{
    struct err err;

    err_set(&err, -ERR_TIMEOUT, "%s", err_text(ERR_TIMEOUT));
    fail_rest(ctx, &err);
}

static void fail_round(struct round *r, size_t count, const struct err *err)
{
    struct rpc_tree *t = r->tree;

    t->telling++;
    if (t->undecided)
        fail_targets(t, err);
    for (size_t i = 0; i < count && !t->is_freed; i++)
        finish_node(t, r->targets[i], err->code, NULL, err);
    leave_tree(t);
}

/* The decision to commit, if it is made here. */

static void note_accepted(struct rpc_tree *t, size_t index)
{
    if (!t->undecided || t->targets[index].accepted)
        return;
    t->targets[index].accepted = true;
    if (++t->accepted < t->count)
        return;
    if (t->prepared)
        t->prepared(t->ctx);
    else
        rpc_tree_commit(t);
}

void rpc_tree_commit(struct rpc_tree *t)
{
    t->undecided = false;
    for (struct round *r = t->rounds; r; r = r->next)
        if (r->relay)
            rpc_relay_commit(r->relay);
}

static void on_slow(void *ctx)
{
    struct rpc_tree *t = ctx;
    _cleanup_str_ struct str nodes = STR_INIT;
    size_t found = 0;

    if (!t->undecided || !t->waits)
        return;
    for (size_t i = 0; i < t->count; i++)
        if (!t->targets[i].accepted && found++ < NAMED_MAX)
            str_printf(&nodes, "%s%s", nodes.len ? ", " : "", t->targets[i].node);
    if (found > NAMED_MAX)
        str_printf(&nodes, " and %zu more", found - NAMED_MAX);
    t->waits(t->ctx, str_cstr(&nodes));
}

static void abandon_tree(struct rpc_tree *t, const char *node, const char *why)
{
    struct err err;

    err_set(&err, -ERR_NOT_BEGUN, "%s: node %s: %s", err_text(ERR_NOT_BEGUN), node, why);
    fail_rest(t, &err);
}

void rpc_tree_abandon(struct rpc_tree *t, const char *node, const char *why)
{
    if (t->undecided)
        abandon_tree(t, node, why);
}

/* Answers. */

/* Whether the token was used up or expired when the request reached the node by another path. A
 * new token is needed, and the node then sends the answer to the first request. */
static bool is_stale(const struct target *to, int code)
{
    return (code == ERR_REPLAY || code == ERR_SKEW) && to->rounds < ROUNDS_MAX;
}

static void finish_with(struct rpc_tree *t, size_t index, const struct rpc_relay_answer *a)
{
    struct err err = {0};
    struct arena arena;
    ProtobufCMessage *reply = NULL;

    arena_init(&arena, a->len * RPC_REPLY_FACTOR + RPC_ARENA_EXTRA);
    if (a->code)
        err_set(&err, -a->code, "%s", a->text);
    else
        reply = arena_unpack(&arena, t->rpc->reply, a->reply, a->len);
    if (!a->code && !reply)
        err_set(&err, -ERR_PROTOCOL, "malformed answer to %s", t->rpc->name);
    rpc_text_clean(err.text);
    finish_node(t, index, err.code, reply, &err);
    arena_done(&arena);
    if (err.code && !t->is_freed && t->undecided)
        abandon_tree(t, t->targets[index].node, err.text);
}

static void on_tree_answer(void *ctx, const struct rpc_relay_answer *a)
{
    struct round *r = ctx;
    struct rpc_tree *t = r->tree;
    uint32_t index = r->targets[a->index];

    if (t->targets[index].done)
        return;
    if (!a->prepared && is_stale(&t->targets[index], a->code)) {
        vec_push(&t->next_round, index);
        loop_timer_set(t->step, ROUND_PAUSE_MS);
        return;
    }
    t->telling++;
    if (a->code == 0)
        note_accepted(t, index);
    if (!a->prepared)
        finish_with(t, index, a);
    leave_tree(t);
}

static void on_direct(void *ctx, size_t index, int code, const ProtobufCMessage *reply,
                      const struct err *err)
{
    struct rpc_tree *t = ctx;

    t->telling++;
    t->done(t->ctx, index, code, reply, err);
    leave_tree(t);
}

static void log_node(struct rpc_tree *t, const char *node, size_t count, const char *what,
                     const char *why)
{
    _cleanup_free_ char *text = mem_printf("node %s %s %zu other%s%s%s", node, what, count,
                                           count == 1 ? "" : "s", why ? ": " : "", why ? why : "");

    if (t->tell)
        t->tell(t->ctx, text);
}

static void on_head(void *ctx, const char *node, size_t below)
{
    if (below)
        log_node(((struct round *)ctx)->tree, node, below, "passes the request on to", NULL);
}

static void on_tree_lost(void *ctx, const char *node, size_t below, const char *why)
{
    log_node(((struct round *)ctx)->tree, node, below, "is lost on the way to", why);
}

/* Rounds. */

static void fill_minted(void *ctx, size_t index, struct rpc_minted *minted)
{
    *minted = ((struct round *)ctx)->minted[index];
}

static int mint_tokens(struct round *r, const struct rpc_header *header, size_t count,
                       struct err *err)
{
    struct rpc_tree *t = r->tree;
    _cleanup_free_ const char **audiences = mem_new_array(const char *, count);
    uint8_t hash[AUTH_HASH_SIZE];

    if (rpc_check_size(rpc_find(header->rpc), r->body.len, err) < 0)
        return err->code;
    for (size_t i = 0; i < count; i++)
        audiences[i] = t->targets[r->targets[i]].node;
    rpc_frame_hash(header, r->body.data, hash);
    return rpc_mint(t->conf, hash, audiences, count, rpc_wire_now_ms() + MINT_PATIENCE_MS,
                    &r->minted, err);
}

static unsigned width_of(const struct conf *conf, const struct rpc_tree_request *request)
{
    unsigned width = request->width ? request->width : conf->tree_width;

    return width < RPC_TREE_WIDTH_MIN ? RPC_TREE_WIDTH_MIN : width;
}

static void start_relay(struct round *r, const struct rpc_header *header, size_t count)
{
    struct rpc_tree *t = r->tree;
    struct rpc_relay_options o = {
        .loop = t->loop,
        .header = *header,
        .body = r->body.data,
        .width = t->request.width,
        .silence_ms = t->request.silence_ms,
        .connect_ms = t->conf->message_timeout_sec * 1000,
        .fill = fill_minted,
        .on_answer = on_tree_answer,
        .on_head = on_head,
        .on_lost = on_tree_lost,
        .ctx = r,
    };
    struct rpc_relay_target *targets = mem_new_array(struct rpc_relay_target, count);

    for (size_t i = 0; i < count; i++) {
        const struct target *to = &t->targets[r->targets[i]];

        targets[i].node = to->node;
        targets[i].addr = to->addr;
        targets[i].port = to->port;
        memcpy(targets[i].token, r->minted[i].token, AUTH_TOKEN_SIZE);
    }
    r->relay = rpc_relay_start(&o, targets, count);
    if (t->commit == RPC_TREE_TOGETHER && !t->undecided)
        rpc_relay_commit(r->relay);
    free(targets);
}

static void pack_request(struct rpc_tree *t, struct str *body, struct rpc_header *header)
{
    uint8_t id[ID_SIZE];

    auth_random(id, sizeof(id));
    t->request.id = (ProtobufCBinaryData){sizeof(id), id};
    pb_pack(&t->request.base, body);
    *header = (struct rpc_header){
        .version = RPC_VERSION,
        .rpc = RPC_TREE,
        .token_len = AUTH_TOKEN_SIZE,
        .body_len = (uint32_t)body->len,
        .id = 1,
    };
}

/* Processes t->next_round. */
static void on_tree_step(void *ctx)
{
    struct rpc_tree *t = ctx;
    struct round *r;
    struct rpc_header header;
    size_t count = t->next_round.len;
    struct err err = {0};

    if (count == 0)
        return;
    r = mem_new(struct round);
    r->tree = t;
    r->next = t->rounds;
    t->rounds = r;
    r->targets = mem_dup(t->next_round.data, count * sizeof(uint32_t));
    vec_clear(&t->next_round);
    for (size_t i = 0; i < count; i++)
        t->targets[r->targets[i]].rounds++;
    pack_request(t, &r->body, &header);
    if (mint_tokens(r, &header, count, &err) <
        0) /* no target can be asked: all get the same answer */
        fail_round(r, count, &err);
    else
        start_relay(r, &header, count);
}

/* The start. */

static bool has_cred(const struct rpc_tree_request *request)
{
    return request->has_cred || request->cred;
}

static void fill_request(struct rpc_tree *t, const struct rpc_tree_request *request)
{
    Pb__TreeRequest *m = &t->request;

    pb__tree_request__init(m);
    pb_pack(request->message, &t->message);
    m->width = width_of(t->conf, request);
    m->rpc = request->rpc;
    m->body = (ProtobufCBinaryData){t->message.len, (uint8_t *)t->message.data};
    m->silence_ms = (uint32_t)(t->conf->message_timeout_sec * 1000);
    if (!request->cred)
        return;
    str_append(&t->cred, request->cred, request->cred_len);
    str_append(&t->signature, request->signature, request->signature_len);
    m->has_cred = m->has_signature = true;
    m->cred = (ProtobufCBinaryData){t->cred.len, (uint8_t *)t->cred.data};
    m->signature = (ProtobufCBinaryData){t->signature.len, (uint8_t *)t->signature.data};
}

static void start_tree(struct rpc_tree *t, const struct rpc_node_target *targets, size_t count,
                       const struct rpc_tree_request *request)
{
    static const Pb__TreeCommit commits[] = {
        [RPC_TREE_AT_ONCE] = PB__TREE_COMMIT__TREE_COMMIT_NO,
        [RPC_TREE_TOGETHER] = PB__TREE_COMMIT__TREE_COMMIT_YES,
    };
    int64_t limit_ms =
        request->timeout_ms ? request->timeout_ms : t->conf->message_timeout_sec * 1000;

    fill_request(t, request);
    t->request.has_commit = t->commit != RPC_TREE_AT_ONCE;
    t->request.commit = commits[t->commit];
    t->undecided = t->commit == RPC_TREE_TOGETHER;
    t->targets = mem_new_array(struct target, count);
    t->count = count;
    for (size_t i = 0; i < count; i++) {
        t->targets[i] = (struct target){.node = mem_strdup(targets[i].node),
                                        .addr = mem_strdup(targets[i].addr),
                                        .port = targets[i].port};
        vec_push(&t->next_round, (uint32_t)i);
    }
    loop_timer_set(t->step, 0);
    if (limit_ms > 0)
        loop_timer_set(t->limit, limit_ms);
    loop_timer_set(t->slow, t->request.silence_ms);
}

struct rpc_tree *rpc_tree_start(struct loop *l, const struct conf *conf,
                                const struct rpc_node_target *targets, size_t count,
                                const struct rpc_tree_request *request, rpc_node_done_fn *done,
                                void *ctx)
{
    struct rpc_tree *t = mem_new(struct rpc_tree);

    t->loop = l;
    t->conf = conf;
    t->rpc = rpc_find(request->rpc);
    t->done = done;
    t->tell = request->tell;
    t->waits = request->waits;
    t->ctx = ctx;
    t->step = loop_timer_new(l, on_tree_step, t);
    t->limit = loop_timer_new(l, on_tree_limit, t);
    t->slow = loop_timer_new(l, on_slow, t);
    t->prepared = request->prepared;
    t->commit =
        /* A single target decides by itself. */
        count > 1 || t->prepared ? request->commit : RPC_TREE_AT_ONCE;
    if (!t->commit && (count <= width_of(conf, request) || !has_cred(request)))
        t->direct = rpc_fanout_start(l, conf, targets, count, request->rpc, request->message,
                                     request->timeout_ms, on_direct, t);
    else
        start_tree(t, targets, count, request);
    return t;
}
