/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/relay.h"

#include <utlist.h>

#include "base/mem.h"
#include "base/vec.h"
#include "proto/common.pb-c.h"
#include "rpc/client.h"
#include "rpc/dial.h"
#include "rpc/talk.h"

#define PARALLEL 256 /* heads at a time: well below the usual limit of file descriptors */

struct goal {
    char *node, *addr;
    uint16_t port;
    bool answered, prepared;
    uint8_t token[AUTH_TOKEN_SIZE];
};

/* A head and the targets below it. */
struct branch {
    struct rpc_relay *relay;
    uint32_t *members; /* indices of targets; the first is the head */
    size_t count;
    struct rpc_dial *dial;
    struct rpc_talk *talk;
    struct loop_timer *silence_timer; /* runs while the head has targets below it */
    struct branch *prev, *next;
};

struct rpc_relay {
    struct rpc_relay_options o;
    struct rpc_io *io;
    struct goal *goals;
    size_t count;
    struct branch *waiting, *active;
    unsigned active_count;
    struct loop_timer *step;
    bool committed;
    unsigned telling; /* number of owner callbacks on the stack */
    bool is_freed;    /* freed by one of these callbacks */
};

static void on_step(void *ctx);

/* Branches. */

static void branch_add(struct rpc_relay *r, const uint32_t *members, size_t count)
{
    struct branch *b = mem_new(struct branch);

    b->relay = r;
    b->members = mem_dup(members, count * sizeof(*members));
    b->count = count;
    DL_APPEND(r->waiting, b);
    loop_timer_set(r->step, 0);
}

/* Divides the members into equal parts of neighbours. */
static void divide_members(struct rpc_relay *r, const uint32_t *members, size_t count)
{
    size_t parts = r->o.width, least = (count + RPC_TREE_HEAD_MAX - 1) / RPC_TREE_HEAD_MAX;

    if (parts < least)
        parts = least;
    if (parts > count)
        parts = count;
    for (size_t i = 0; i < parts; i++) {
        size_t from = count * i / parts, to = count * (i + 1) / parts;

        branch_add(r, members + from, to - from);
    }
}

static void branch_stop(struct branch *b)
{
    rpc_dial_drop(take_ptr(b->dial));
    rpc_talk_drop(take_ptr(b->talk));
    if (b->silence_timer)
        loop_timer_free(take_ptr(b->silence_timer));
}

static void branch_free(struct branch *b)
{
    branch_stop(b);
    free(b->members);
    free(b);
}

/* Ends an active branch. */
static void branch_over(struct branch *b)
{
    struct rpc_relay *r = b->relay;

    DL_DELETE(r->active, b);
    r->active_count--;
    branch_free(b);
    if (r->waiting)
        loop_timer_set(r->step, 0);
}

static size_t count_unanswered(const struct branch *b, size_t from)
{
    size_t found = 0;

    for (size_t i = from; i < b->count; i++)
        found += !b->relay->goals[b->members[i]].answered;
    return found;
}

/* Callbacks to the owner, who may free the relay in them. */

static void destroy_relay(struct rpc_relay *r)
{
    loop_timer_free(r->step);
    rpc_io_free(r->io);
    for (size_t i = 0; i < r->count; i++) {
        free(r->goals[i].node);
        free(r->goals[i].addr);
    }
    free(r->goals);
    free(r);
}

static void enter_relay(struct rpc_relay *r)
{
    r->telling++;
}

static void leave_relay(struct rpc_relay *r)
{
    if (--r->telling == 0 && r->is_freed)
        destroy_relay(r);
}

static void note_answer(struct rpc_relay *r, const struct rpc_relay_answer *a)
{
    struct goal *g = &r->goals[a->index];

    if (r->is_freed || g->answered || (a->prepared && g->prepared))
        return;
    g->prepared |= a->prepared;
    g->answered |= !a->prepared;
    r->o.on_answer(r->o.ctx, a);
}

static void tell_failure(struct rpc_relay *r, size_t index, const struct err *why)
{
    struct rpc_relay_answer a = {.index = index, .code = -why->code, .text = why->text};

    if (a.code <= 0) /* closed without an error */
        a.code = ERR_CLOSED;
    if (!a.text[0])
        a.text = err_text(a.code);
    note_answer(r, &a);
}

/* The branch has lost its head: handles the unanswered targets below it. If they cannot have
 * received the request, their tokens are unused and they are divided anew; otherwise only the
 * origin can obtain new tokens. */
static void abandon_branch(struct branch *b, const char *why, bool passed_on)
{
    struct rpc_relay *r = b->relay;
    _cleanup_free_ uint32_t *rest = mem_new_array(uint32_t, b->count);
    const char *head = r->goals[b->members[0]].node;
    struct err stale;
    size_t count = 0;

    for (size_t i = 1; i < b->count; i++)
        if (!r->goals[b->members[i]].answered)
            rest[count++] = b->members[i];
    b->count = 1;
    if (count && r->o.on_lost)
        r->o.on_lost(r->o.ctx, head, count, why);
    if (count && !passed_on)
        divide_members(r, rest, count);
    err_set(&stale, -ERR_REPLAY, "node %s, which was to pass it on, is lost: %s", head, why);
    for (size_t i = 0; passed_on && i < count; i++)
        tell_failure(r, rest[i], &stale);
}

static void branch_lost(struct branch *b, const struct err *why, bool passed_on)
{
    struct rpc_relay *r = b->relay;
    uint32_t head = b->members[0];

    enter_relay(r);
    abandon_branch(b, why->text[0] ? why->text : err_text(ERR_CLOSED), passed_on);
    if (!r->is_freed)
        branch_over(b);
    tell_failure(r, head, why);
    leave_relay(r);
}

static void on_silence(void *ctx)
{
    struct branch *b = ctx;
    struct rpc_relay *r = b->relay;

    loop_timer_free(take_ptr(b->silence_timer));
    enter_relay(r);
    abandon_branch(b, "it says nothing", true);
    if (!r->is_freed && !count_unanswered(b, 0))
        branch_over(b);
    leave_relay(r);
}

/* Answers. */

static void rearm_silence_timer(struct branch *b)
{
    if (b->silence_timer)
        loop_timer_set(b->silence_timer, b->relay->o.silence_ms);
}

static void take_answer(struct branch *b, const Pb__TreeAnswer *m)
{
    struct rpc_relay_answer a = {
        .prepared = m->has_prepared && m->prepared,
        .code = m->has_code ? (int)m->code : 0,
        .text = m->text ? m->text : "",
        .reply = m->reply.data,
        .len = m->reply.len,
    };

    /* The branch has lost its head, and its targets belong to other branches. */
    if (m->index >= b->count)
        return;
    a.index = b->members[m->index];
    if (a.code && !a.text[0])
        a.text = err_text(a.code);
    note_answer(b->relay, &a);
}

static void on_relay_answer(void *ctx, const ProtobufCMessage *answer, bool last)
{
    struct branch *b = ctx;
    struct rpc_relay *r = b->relay;
    const Pb__TreeAnswers *m = (const Pb__TreeAnswers *)answer;
    struct err early = {0};

    if (last)
        b->talk = NULL;
    rearm_silence_timer(b);
    enter_relay(r);
    for (size_t i = 0; i < m->n_answers && !r->is_freed; i++)
        take_answer(b, m->answers[i]);
    if (!r->is_freed && !count_unanswered(b, 0)) {
        branch_over(b);
    } else if (!r->is_freed && last) {
        err_set(&early, -ERR_PROTOCOL, "it has ended before all below it had answered");
        branch_lost(b, &early, true);
    }
    leave_relay(r);
}

static void on_relay_failed(void *ctx, const struct err *why, bool refused)
{
    struct branch *b = ctx;
    bool used_up = why->code == -ERR_REPLAY || why->code == -ERR_SKEW;

    b->talk = NULL;
    branch_lost(b, why, !refused || used_up);
}

/* Sending the request down the tree. */

static void send_part(struct branch *b)
{
    struct rpc_relay *r = b->relay;
    Pb__TreePart part = PB__TREE_PART__INIT;
    Pb__Empty nothing = PB__EMPTY__INIT;
    size_t below = b->count - 1;
    _cleanup_free_ Pb__TreeTarget *rows = mem_new_array(Pb__TreeTarget, below + 1);
    _cleanup_free_ Pb__TreeTarget **targets = mem_new_array(Pb__TreeTarget *, below + 1);

    for (size_t i = 0; i < below; i++) {
        struct goal *g = &r->goals[b->members[i + 1]];

        pb__tree_target__init(&rows[i]);
        rows[i].node = g->node;
        rows[i].token = (ProtobufCBinaryData){AUTH_TOKEN_SIZE, g->token};
        targets[i] = &rows[i];
    }
    part.targets = targets;
    part.n_targets = below;
    if (r->o.origin)
        r->o.origin(r->o.ctx, r->goals[b->members[0]].token, &part);
    rpc_talk_send(b->talk, RPC_TREE_PART, &part.base);
    if (r->committed)
        rpc_talk_send(b->talk, RPC_TREE_COMMIT, &nothing.base);
}

static void on_dialled(void *ctx, int fd, size_t target, const struct rpc_addr *addr,
                       const struct err *err)
{
    struct branch *b = ctx;
    struct rpc_relay *r = b->relay;
    struct rpc_talk_events events = {
        .on_answer = on_relay_answer, .on_failed = on_relay_failed, .ctx = b};
    struct goal *head = &r->goals[b->members[0]];
    struct rpc_minted minted;
    struct err why;

    b->dial = NULL;
    if (fd < 0) {
        why = *err;
        why.code = -ERR_CONNECT;
        branch_lost(b, &why, false);
        return;
    }
    memcpy(minted.token, head->token, sizeof(minted.token));
    r->o.fill(r->o.ctx, b->members[0], &minted);
    b->talk = rpc_talk_start(r->io, fd, &r->o.header, &minted, r->o.body, &events);
    mem_wipe(&minted, sizeof(minted));
    if (b->count > 1)
        b->silence_timer = loop_timer_new(r->o.loop, on_silence, b);
    if (r->o.on_head)
        r->o.on_head(r->o.ctx, head->node, b->count - 1);
    rearm_silence_timer(b);
    send_part(b);
}

static void on_step(void *ctx)
{
    struct rpc_relay *r = ctx;

    while (r->waiting && r->active_count < PARALLEL) {
        struct branch *b = r->waiting;
        struct goal *head = &r->goals[b->members[0]];
        struct rpc_target to = {head->addr, head->port};

        DL_DELETE(r->waiting, b);
        DL_APPEND(r->active, b);
        r->active_count++;
        b->dial = rpc_dial_start(r->o.loop, &to, 1, r->o.connect_ms, on_dialled, b);
    }
}

struct rpc_relay *rpc_relay_start(const struct rpc_relay_options *options,
                                  const struct rpc_relay_target *targets, size_t count)
{
    struct rpc_relay *r = mem_new(struct rpc_relay);
    _cleanup_free_ uint32_t *all = mem_new_array(uint32_t, count + 1);

    r->o = *options;
    r->io = rpc_io_new(options->loop);
    r->step = loop_timer_new(options->loop, on_step, r);
    r->goals = mem_new_array(struct goal, count);
    r->count = count;
    for (size_t i = 0; i < count; i++) {
        struct goal *g = &r->goals[i];

        g->node = mem_strdup(targets[i].node);
        g->addr = mem_strdup(targets[i].addr);
        g->port = targets[i].port;
        memcpy(g->token, targets[i].token, AUTH_TOKEN_SIZE);
        all[i] = (uint32_t)i;
    }
    divide_members(r, all, count);
    return r;
}

void rpc_relay_free(struct rpc_relay *r)
{
    struct branch *b, *next;

    if (!r || r->is_freed)
        return;
    DL_FOREACH_SAFE(r->waiting, b, next)
    branch_free(b);
    DL_FOREACH_SAFE(r->active, b, next)
    branch_free(b);
    r->waiting = r->active = NULL;
    r->is_freed = true;
    if (r->telling == 0)
        destroy_relay(r);
}

void rpc_relay_commit(struct rpc_relay *r)
{
    Pb__Empty nothing = PB__EMPTY__INIT;
    struct branch *b;

    if (r->committed)
        return;
    r->committed = true;
    DL_FOREACH(r->active, b)
    {
        if (b->talk)
            rpc_talk_send(b->talk, RPC_TREE_COMMIT, &nothing.base);
    }
}
