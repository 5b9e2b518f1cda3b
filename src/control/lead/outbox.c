/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/lead/outbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct outbox {
    struct outbox_ops ops;
    struct outbox_item *first, **last; /* items bound to a batch, then items of the present turn */
    struct outbox_item **turn;         /* the first item of the present turn */
    uint64_t gathering, under_way;     /* numbers of batches; under_way 0: no commit is running */
    uint64_t durable;
    bool proves;
    bool wanted;      /* a commit is needed, even of an empty batch */
    bool is_urgent;   /* the needed commit is not deferred */
    bool is_deferred; /* ops.defer was called for the needed commit */
};

struct outbox *outbox_new(const struct outbox_ops *ops)
{
    struct outbox *o = mem_new(struct outbox);
    o->ops = *ops;
    o->last = &o->first;
    o->turn = &o->first;
    o->gathering = 1;
    return o;
}

void outbox_free(struct outbox *o)
{
    if (!o)
        return;
    while (o->first) {
        struct outbox_item *item = o->first;
        o->first = item->next;
        free(item);
    }
    free(o);
}

struct outbox_item *outbox_item_new(enum outbox_kind kind, const void *data, size_t len)
{
    struct outbox_item *item = mem_alloc(sizeof(*item) + len + 1);
    item->kind = kind;
    item->len = len;
    if (data && len)
        memcpy(item->data, data, len);
    return item;
}

void outbox_add(struct outbox *o, struct outbox_item *item)
{
    item->next = NULL;
    *o->last = item;
    o->last = &item->next;
}

void outbox_prove(struct outbox *o)
{
    o->proves = true;
}

void outbox_check(struct outbox *o)
{
    o->wanted = o->is_urgent = true;
}

void outbox_hurry(struct outbox *o)
{
    o->is_urgent = true;
}

/* Sends the items of durable batches. Items of the present turn are not bound yet and stay. Sending
 * may add items. */
static void release_items(struct outbox *o)
{
    while (o->turn != &o->first && o->first->gate <= o->durable) {
        struct outbox_item *item = o->first;
        o->first = item->next;
        if (o->turn == &item->next)
            o->turn = &o->first;
        if (o->last == &item->next)
            o->last = &o->first;
        o->ops.send(o->ops.ctx, item);
        free(item);
    }
}

/* Nothing waits for the acknowledgement of an event, or for the record of a completed job. */
static bool may_be_deferred(const struct outbox_item *item)
{
    return item->kind == OUTBOX_ACK || item->kind == OUTBOX_JOB_ENDED;
}

static void begin_commit(struct outbox *o)
{
    assert(!o->under_way); /* batches become durable in order */
    o->wanted = o->is_urgent = o->is_deferred = false;
    o->under_way = o->gathering++;
    o->ops.commit(o->ops.ctx);
}

/* Binds the items of the turn to their batch. */
static void bind_turn(struct outbox *o)
{
    uint64_t gate = o->wanted ? o->gathering : o->under_way;
    for (struct outbox_item *item = *o->turn; item; item = item->next) {
        item->gate = gate;
        o->is_urgent = o->is_urgent || (o->wanted && !may_be_deferred(item));
    }
    o->turn = o->last;
}

void outbox_turn(struct outbox *o)
{
    if ((o->proves && *o->turn) || o->ops.changed(o->ops.ctx))
        o->wanted = true;
    bind_turn(o);
    if (!o->under_way && o->wanted) {
        if (o->is_urgent || !o->ops.defer) {
            begin_commit(o);
        } else if (!o->is_deferred) {
            o->is_deferred = true;
            o->ops.defer(o->ops.ctx);
        }
    }
    release_items(o);
}

void outbox_durable(struct outbox *o)
{
    assert(o->under_way > o->durable);
    o->durable = o->under_way;
    o->under_way = 0;
    release_items(o);
}

bool outbox_is_idle(const struct outbox *o)
{
    return !o->first && !o->under_way && !o->wanted && !o->ops.changed(o->ops.ctx);
}
