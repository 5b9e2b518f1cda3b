/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/mpi/published.h"

#include <string.h>

#include "base/hash.h"
#include "base/mem.h"

struct item {
    UT_hash_handle hh;
    char *name;
    uint8_t *value;
    size_t len;
    bool has_step; /* set for a spawned step, or for the step that has spawned this one */
    uint32_t step, task;
};

struct waiter {
    struct waiter *next;
    char *name;
    uint32_t node, id;
};

struct published {
    published_answer_fn *answer;
    void *ctx;
    struct item *items;
    size_t bytes;
    struct waiter *waiters;
    uint32_t wait_count;
};

struct published *published_new(published_answer_fn *answer, void *ctx)
{
    struct published *p = mem_new(struct published);

    p->answer = answer;
    p->ctx = ctx;
    return p;
}

static void item_free(struct published *p, struct item *i)
{
    HASH_DEL(p->items, i);
    p->bytes -= strlen(i->name) + i->len;
    free(i->name);
    free(i->value);
    free(i);
}

static void waiter_free(struct published *p, struct waiter **at)
{
    struct waiter *w = *at;

    *at = w->next;
    p->wait_count--;
    free(w->name);
    free(w);
}

void published_free(struct published *p)
{
    struct item *i, *next;

    if (p == NULL)
        return;
    HASH_ITER (hh, p->items, i, next)
        item_free(p, i);
    while (p->waiters != NULL)
        waiter_free(p, &p->waiters);
    free(p);
}

static void answer_lookup(struct published *p, uint32_t node, uint32_t id, bool done,
                          const struct item *i)
{
    struct Pb__NameReply m = PB__NAME_REPLY__INIT;

    m.id = id;
    m.done = done;
    if (i != NULL) {
        m.has_value = m.has_task = 1;
        m.value.data = i->value;
        m.value.len = i->len;
        m.task = i->task;
        m.has_step = i->has_step;
        m.step = i->step;
    }
    p->answer(p->ctx, node, &m);
}

static void tell_waiters(struct published *p, const struct item *i)
{
    for (struct waiter **at = &p->waiters; *at != NULL;) {
        if (strcmp((*at)->name, i->name) != 0) {
            at = &(*at)->next;
            continue;
        }
        answer_lookup(p, (*at)->node, (*at)->id, true, i);
        waiter_free(p, at);
    }
}

static bool add_item(struct published *p, const struct Pb__NameRequest *m)
{
    size_t bytes = strlen(m->name) + m->value.len;
    struct item *i;

    if (HASH_COUNT(p->items) >= PUBLISHED_MAX || bytes > PUBLISHED_BYTES_MAX - p->bytes)
        return false;
    i = mem_new(struct item);
    i->name = mem_strdup(m->name);
    i->len = m->value.len;
    i->value = mem_dup(m->value.data, i->len);
    i->task = m->task;
    i->has_step = m->has_step;
    i->step = m->step;
    p->bytes += bytes;
    HASH_ADD_KEYPTR(hh, p->items, i->name, strlen(i->name), i);
    tell_waiters(p, i);
    return true;
}

static bool wait_for(struct published *p, uint32_t node, const struct Pb__NameRequest *m)
{
    struct waiter *w;

    if (!m->has_wait || !m->wait || p->wait_count >= PUBLISHED_WAITS_MAX)
        return false;
    w = mem_new(struct waiter);
    w->name = mem_strdup(m->name);
    w->node = node;
    w->id = m->id;
    w->next = p->waiters;
    p->waiters = w;
    p->wait_count++;
    return true;
}

void published_request(struct published *p, uint32_t node, const struct Pb__NameRequest *m)
{
    struct item *i;
    bool done = false;

    HASH_FIND(hh, p->items, m->name, strlen(m->name), i);
    switch (m->op) {
    case PUBLISHED_ADD:
        done = i == NULL && add_item(p, m);
        break;
    case PUBLISHED_REMOVE:
        done = i != NULL && i->task == m->task && i->step == m->step;
        if (done)
            item_free(p, i);
        break;
    case PUBLISHED_FIND:
        if (i == NULL && wait_for(p, node, m))
            return;
        answer_lookup(p, node, m->id, i != NULL, i);
        return;
    default:
        break;
    }
    answer_lookup(p, node, m->id, done, NULL);
}
