/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replies to read-only requests. They may contain changes that are not durable yet, so they wait
 * in the outbox like other output. But such a request changes and promises nothing, and a disk
 * that takes seconds should not delay it: after PATIENCE_MS the reply is sent. If another
 * controller may have taken the lead, there is no such exception (outbox_prove).
 */
#include <stdlib.h>

#include <utlist.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/vec.h"
#include "rpc/reply.h"
#include "slurmctld/core/answers.h"
#include "slurmctld/core/ctld.h"

#define PATIENCE_MS 25
#define BYTES_MOST (16u << 20) /* bytes of waiting replies; beyond that the oldest are sent */

struct answer {
    uint64_t number, call;
    bool more;
    int64_t due_ms;
    struct answer *prev, *next;
    size_t len;
    char data[];
};

struct answers {
    struct ctld *c;
    struct answer *list; /* ordered by due_ms */
    size_t bytes;        /* total bytes of the list */
    uint64_t last;
    VEC(uint64_t) overdue; /* calls whose further parts are sent without waiting */
    struct loop_timer *timer;
    bool timer_runs;
};

static void on_answers_timer(void *ctx);

struct answers *answers_new(struct ctld *c)
{
    struct answers *a = mem_new(struct answers);
    a->c = c;
    a->timer = loop_timer_new(c->loop, on_answers_timer, a);
    return a;
}

static void drop_answer(struct answers *a, struct answer *one)
{
    DL_DELETE(a->list, one);
    a->bytes -= one->len;
    free(one);
}

void answers_free(struct answers *a)
{
    if (!a)
        return;
    while (a->list)
        drop_answer(a, a->list);
    vec_done(&a->overdue);
    loop_timer_free(a->timer);
    free(a);
}

static size_t find_overdue(const struct answers *a, uint64_t call)
{
    size_t i = 0;
    while (i < a->overdue.len && a->overdue.data[i] != call)
        i++;
    return i;
}

void answers_forget(struct answers *a, uint64_t call)
{
    size_t at = find_overdue(a, call);
    if (at < a->overdue.len)
        vec_remove(&a->overdue, at);
}

static void send_one(struct answers *a, struct answer *one)
{
    rpc_reply_bytes(a->c->server, one->call, one->data, one->len, one->more);
    drop_answer(a, one);
}

static void set_timer(struct answers *a)
{
    a->timer_runs = a->list != NULL;
    if (a->list)
        loop_timer_set(a->timer, a->list->due_ms - loop_mono_ms());
}

/* Sends the replies that are due, and further ones until at most BYTES_MOST are left. */
static void on_answers_timer(void *ctx)
{
    struct answers *a = ctx;
    while (a->list && (a->list->due_ms <= loop_mono_ms() || a->bytes > BYTES_MOST)) {
        if (a->list->more)
            vec_push(&a->overdue, a->list->call);
        send_one(a, a->list);
    }
    set_timer(a);
}

void answers_give(struct answers *a, uint64_t call, const struct str *bytes, bool more)
{
    struct ctld *c = a->c;
    if (c->watch) {
        ctld_reply_part(c, call, bytes, more);
        return;
    }
    if (find_overdue(a, call) < a->overdue.len) {
        if (!more)
            answers_forget(a, call);
        rpc_reply_bytes(c->server, call, bytes->data, bytes->len, more);
        return;
    }
    struct answer *one = mem_alloc(sizeof(*one) + bytes->len + 1);
    *one = (struct answer){.number = ++a->last,
                           .call = call,
                           .more = more,
                           .due_ms = loop_mono_ms() + PATIENCE_MS,
                           .len = bytes->len};
    if (bytes->len)
        memcpy(one->data, bytes->data, bytes->len);
    DL_APPEND(a->list, one);
    a->bytes += bytes->len;
    struct outbox_item *item = outbox_item_new(OUTBOX_ANSWER, NULL, 0);
    item->number = one->number;
    outbox_add(c->outbox, item);
    if (a->bytes > BYTES_MOST)
        on_answers_timer(a);
    else if (!a->timer_runs)
        set_timer(a);
}

void answers_give_message(struct answers *a, uint64_t call, const ProtobufCMessage *reply)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    pb_pack(reply, &bytes);
    answers_give(a, call, &bytes, false);
}

void answers_send(struct answers *a, uint64_t number)
{
    struct answer *one;
    DL_FOREACH(a->list, one)
    if (one->number >= number)
        break;
    if (one && one->number == number)
        send_one(a, one);
}
