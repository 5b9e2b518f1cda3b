/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Items that wait for records of the store, and items that must not overtake them. */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>

#include <utlist.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/vec.h"
#include "rpc/reply.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/node/payload.h"
#include "slurmctld/node/send.h"

struct waiting {
    struct outbox_item *item;
    uint64_t order;       /* order of insertion */
    size_t sent;          /* see send_try() */
    VEC(uint64_t) wanted; /* payloads that must be read */
    struct waiting *prev, *next;
};

struct destination {
    bool is_session; /* session or call */
    uint64_t id;
} __attribute__((packed));

struct queue {
    struct destination to;
    struct waiting *items;
    UT_hash_handle hh; /* in order of insertion */
};

struct send_queues {
    struct queue *queues;
    struct waiting *barriers; /* items that leave after all items that were added before them */
    size_t bytes;             /* bytes of all queued items */
    uint64_t last_order;
    struct round *round; /* the running worker task; NULL: none */
};

struct round { /* one task of the worker */
    struct ctld *c;
    struct send_reads all;
};

static bool is_barrier(const struct outbox_item *item)
{
    return item->kind == OUTBOX_STOP || item->kind == OUTBOX_UNKNOWN;
}

static bool is_for_session(const struct outbox_item *item)
{
    return item->kind == OUTBOX_ORDERS || item->kind == OUTBOX_ACK || item->kind == OUTBOX_WELCOME;
}

static struct destination get_destination(const struct outbox_item *item)
{
    bool is_session = is_for_session(item);
    return (struct destination){is_session, is_session ? item->session : item->call};
}

static struct queue *find_queue(const struct send_queues *s, const struct outbox_item *item)
{
    struct destination to = get_destination(item);
    struct queue *q;
    HASH_FIND(hh, s->queues, &to, sizeof(to), q);
    return q;
}

bool send_queue_holds(const struct ctld *c, const struct outbox_item *item)
{
    const struct send_queues *s = c->send_queues;
    if (!s->queues)
        return false;
    return is_barrier(item) || (is_for_session(item) && find_queue(s, item));
}

/* --- records that an item needs --------------------------------------------------------------- */

static void want_payload(struct ctld *c, struct waiting *w, uint64_t number)
{
    size_t len;
    if (!payload_cache_get(c->payloads, number, &len))
        vec_push(&w->wanted, number);
}

static void list_wanted(struct ctld *c, struct waiting *w)
{
    w->wanted.len = 0;
    if (w->item->kind == OUTBOX_SCRIPT || (w->item->kind == OUTBOX_RUN && w->item->number))
        want_payload(c, w, w->item->number);
    if (w->item->kind != OUTBOX_ORDERS)
        return;
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    const Pb__NodeOrders *all =
        arena_unpack(&a, &pb__node_orders__descriptor, w->item->data, w->item->len);
    for (size_t i = w->sent; all && i < all->n_orders; i++)
        if (all->orders[i]->launch)
            want_payload(c, w, send_payload_number(all->orders[i]->launch));
}

/* Copies the orders that were not sent, except launches. */
static struct outbox_item *copy_without_launches(const struct outbox_item *item, size_t sent)
{
    _cleanup_arena_ struct arena a;
    arena_init(&a, 0);
    struct outbox_item *copy = NULL;
    Pb__NodeOrders *all = arena_unpack(&a, &pb__node_orders__descriptor, item->data, item->len);
    if (!all)
        return NULL;
    size_t kept = 0;
    for (size_t i = sent; i < all->n_orders; i++) {
        const Pb__LaunchBatch *launch = all->orders[i]->launch;
        if (launch)
            log_error("job %u is launched later: too much waits for scripts to be read",
                      launch->job_id);
        else
            all->orders[kept++] = all->orders[i];
    }
    all->n_orders = kept;
    if (kept) {
        copy = outbox_item_new(item->kind, NULL, protobuf_c_message_get_packed_size(&all->base));
        protobuf_c_message_pack(&all->base, (uint8_t *)copy->data);
        copy->session = item->session;
    }
    return copy;
}

static struct outbox_item *copy_item(const struct outbox_item *item)
{
    struct outbox_item *copy = outbox_item_new(item->kind, item->data, item->len);
    copy->call = item->call;
    copy->session = item->session;
    copy->number = item->number;
    return copy;
}

/* --- adding and releasing --------------------------------------------------------------------- */

static struct waiting *new_waiting(struct send_queues *s, struct outbox_item *item, size_t sent)
{
    struct waiting *w = mem_new(struct waiting);
    w->item = item;
    w->sent = sent;
    w->order = ++s->last_order;
    return w;
}

static void free_waiting(struct waiting *w)
{
    vec_done(&w->wanted);
    free(w->item);
    free(w);
}

static size_t count_bytes(const struct waiting *w)
{
    return sizeof(*w) + sizeof(*w->item) + w->item->len;
}

static void add_to_queue(struct ctld *c, struct waiting *w)
{
    struct send_queues *s = c->send_queues;
    struct queue *q = find_queue(s, w->item);
    if (!q) {
        q = mem_new(struct queue);
        q->to = get_destination(w->item);
        HASH_ADD(hh, s->queues, to, sizeof(q->to), q);
    }
    list_wanted(c, w);
    DL_APPEND(q->items, w);
    s->bytes += count_bytes(w);
}

void send_queue_add(struct ctld *c, const struct outbox_item *item, size_t sent)
{
    struct send_queues *s = c->send_queues;
    struct outbox_item *copy;
    bool is_full = s->bytes + item->len > SEND_QUEUE_MOST;
    if (is_barrier(item)) {
        DL_APPEND(s->barriers, new_waiting(s, copy_item(item), 0));
        return;
    }
    if (is_full && item->kind == OUTBOX_SCRIPT) {
        rpc_reply_error(c->server, item->call, -ERR_BACKOFF, err_text(ERR_BACKOFF));
        return;
    }
    if (is_full && item->kind == OUTBOX_ORDERS) {
        copy = copy_without_launches(item, sent);
        sent = 0;
    } else {
        copy = copy_item(item);
    }
    if (copy)
        add_to_queue(c, new_waiting(s, copy, sent));
}

static void remove_first(struct send_queues *s, struct queue *q)
{
    struct waiting *w = q->items;
    s->bytes -= count_bytes(w);
    DL_DELETE(q->items, w);
    free_waiting(w);
}

static void remove_queue(struct send_queues *s, struct queue *q)
{
    HASH_DEL(s->queues, q);
    free(q);
}

static void send_queue_items(struct ctld *c, struct queue *q, const struct send_reads *reads)
{
    while (q->items) {
        if (send_try(c, q->items->item, reads, &q->items->sent)) {
            list_wanted(c, q->items);
            return;
        }
        remove_first(c->send_queues, q);
    }
    remove_queue(c->send_queues, q);
}

static bool waits_before(const struct send_queues *s, uint64_t order)
{
    for (const struct queue *q = s->queues; q; q = q->hh.next)
        if (q->items->order < order)
            return true;
    return false;
}

static void send_barriers(struct ctld *c)
{
    struct send_queues *s = c->send_queues;
    while (s->barriers && !waits_before(s, s->barriers->order)) {
        struct waiting *w = s->barriers;
        DL_DELETE(s->barriers, w);
        send_try(c, w->item, NULL, &w->sent);
        free_waiting(w);
    }
}

/* --- reading ---------------------------------------------------------------------------------- */

static void free_round(struct round *r)
{
    for (size_t i = 0; i < r->all.count; i++)
        free(r->all.reads[i].data);
    free(r->all.reads);
    free(r);
}

static void on_round_read(void *ctx)
{
    struct round *r = ctx;
    struct ctld *c = r->c;
    if (!c->closed) {
        c->send_queues->round = NULL;
        for (struct queue *q = c->send_queues->queues, *next; q; q = next) {
            next = q->hh.next;
            send_queue_items(c, q, &r->all);
        }
        send_barriers(c);
    }
    free_round(r);
}

struct numbers {
    uint64_t all[SEND_READS_MOST];
    size_t count;
};

static void add_number(struct numbers *n, uint64_t number)
{
    for (size_t i = 0; i < n->count; i++)
        if (n->all[i] == number)
            return;
    n->all[n->count++] = number;
}

static void list_reads(const struct send_queues *s, struct numbers *n)
{
    for (const struct queue *q = s->queues; q; q = q->hh.next)
        for (const struct waiting *w = q->items; w; w = w->next)
            for (size_t i = 0; i < w->wanted.len; i++) {
                add_number(n, w->wanted.data[i]);
                if (n->count == SEND_READS_MOST)
                    return;
            }
}

void send_queue_read(struct ctld *c)
{
    struct send_queues *s = c->send_queues;
    struct numbers wanted;
    if (s->round || !s->queues)
        return;
    wanted.count = 0;
    list_reads(s, &wanted);
    struct round *r = mem_new(struct round);
    r->c = c;
    r->all.count = wanted.count;
    r->all.reads = mem_new_array(struct store_read, wanted.count);
    for (size_t i = 0; i < wanted.count; i++)
        r->all.reads[i] = (struct store_read){.kind = RECORD_PAYLOAD, .number = wanted.all[i]};
    s->round = r;
    store_read(c->store, r->all.reads, r->all.count, CTLD_ORDERS_MESSAGE, on_round_read, r);
}

struct send_queues *send_queues_new(void)
{
    return mem_new(struct send_queues);
}

/* on_round_read() frees a running task. */
void send_queues_free(struct send_queues *s)
{
    if (!s)
        return;
    while (s->queues) {
        while (s->queues->items)
            remove_first(s, s->queues);
        remove_queue(s, s->queues);
    }
    while (s->barriers) {
        struct waiting *w = s->barriers;
        DL_DELETE(s->barriers, w);
        free_waiting(w);
    }
    free(s);
}
