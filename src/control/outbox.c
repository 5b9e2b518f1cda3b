/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/outbox.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct outbox {
    struct outbox_ops ops;
    struct outbox_item *first, **last; /* bound to a batch, then the present turn's */
    struct outbox_item **turn;         /* where the present turn's begin */
    uint64_t gathering, under_way;     /* numbers of batches; under_way 0: no commit */
    uint64_t durable;
    bool proves;
    bool wanted; /* a commit, although the batch may be empty */
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
    o->wanted = true;
}

/* Items of the present turn are not bound yet and stay. Sending may add to them. */
static void release(struct outbox *o)
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

void outbox_turn(struct outbox *o)
{
    if ((o->proves && *o->turn) || o->ops.changed(o->ops.ctx))
        o->wanted = true;
    uint64_t gate = o->wanted ? o->gathering : o->under_way;
    for (struct outbox_item *item = *o->turn; item; item = item->next)
        item->gate = gate;
    o->turn = o->last;

    if (!o->under_way && o->wanted) {
        o->wanted = false;
        o->under_way = o->gathering++;
        o->ops.commit(o->ops.ctx);
    }
    release(o);
}

void outbox_durable(struct outbox *o)
{
    o->durable = o->under_way;
    o->under_way = 0;
    release(o);
}

bool outbox_is_idle(const struct outbox *o)
{
    return !o->first && !o->under_way && !o->wanted && !o->ops.changed(o->ops.ctx);
}
