/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/gang/rotation.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"

/* What is in use: by node, its units or how many of them. */
struct books {
    const struct rotation *r;
    struct bitset **units;
    uint32_t *count, *own; /* own: 0, but while a member is looked at */
};

struct rotation_member *rotation_add(struct rotation *r, uint32_t id, uint64_t place, bool runs)
{
    vec_push(&r->members, ((struct rotation_member){.id = id, .place = place, .runs = runs}));
    return &vec_last(&r->members);
}

void rotation_use_node(struct rotation_member *m, const struct rotation_use *use)
{
    vec_push(&m->uses, *use);
}

void rotation_done(struct rotation *r)
{
    vec_foreach (&r->members, m)
        vec_done(&m->uses);
    vec_done(&r->members);
}

static void books_open(struct books *b, const struct rotation *r)
{
    b->r = r;
    b->units = mem_new_array(struct bitset *, r->nodes + 1);
    b->count = mem_new_array(uint32_t, r->nodes + 1);
    b->own = mem_new_array(uint32_t, r->nodes + 1);
}

static void books_close(struct books *b)
{
    for (size_t i = 0; i < b->r->nodes; i++)
        bitset_free(b->units[i]);
    free(b->units);
    free(b->count);
    free(b->own);
}

/* Components of a set may have the same node: their units count together. A job that has more than
 * the node has now runs alone. */
static bool counts_fit(const struct books *b, const struct rotation_member *m)
{
    bool fits = true;
    vec_foreach (&m->uses, use)
        b->own[use->node] += use->count;
    vec_foreach (&m->uses, use) {
        uint32_t others = b->count[use->node];
        fits = fits && (others == 0 || others + b->own[use->node] <= use->of);
    }
    vec_foreach (&m->uses, use)
        b->own[use->node] = 0;
    return fits;
}

static bool member_fits(const struct books *b, const struct rotation_member *m)
{
    if (b->r->counts)
        return counts_fit(b, m);
    vec_foreach (&m->uses, use)
        if (b->units[use->node] && bitset_intersects(b->units[use->node], use->units))
            return false;
    return true;
}

static void take_units(struct books *b, const struct rotation_member *m)
{
    vec_foreach (&m->uses, use) {
        assert(use->node < b->r->nodes);
        b->count[use->node] += use->count;
        if (b->r->counts)
            continue;
        if (!b->units[use->node])
            b->units[use->node] = bitset_dup(use->units);
        else
            bitset_or(b->units[use->node], use->units);
    }
}

static int by_place(const void *a, const void *b)
{
    const struct rotation_member *x = a, *y = b;
    if (x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

void rotation_sort(struct rotation *r)
{
    if (r->members.len)
        qsort(r->members.data, r->members.len, sizeof(r->members.data[0]), by_place);
    if (r->members.len && vec_last(&r->members).place > r->last)
        r->last = vec_last(&r->members).place;
}

/* Those before others that come first: the resources of pinned members are taken in any case. */
static void take_pinned(struct books *b, const struct rotation *r)
{
    vec_foreach (&r->members, m)
        if (m->pinned)
            take_units(b, m);
}

/* In the order of the queue. 'only': those members alone whose 'runs' is so. */
static void admit_members(struct books *b, struct rotation *r, const bool *only)
{
    vec_foreach (&r->members, m) {
        if (m->pinned || (only && m->runs != *only))
            continue;
        m->runs = member_fits(b, m);
        if (m->runs)
            take_units(b, m);
    }
}

void rotation_turn(struct rotation *r)
{
    struct books b;
    rotation_sort(r);
    for (size_t i = 0, n = r->members.len; i < n; i++)
        if (r->members.data[i].runs)
            r->members.data[i].place = ++r->last;
    rotation_sort(r);
    books_open(&b, r);
    take_pinned(&b, r);
    admit_members(&b, r, NULL);
    books_close(&b);
}

void rotation_settle(struct rotation *r)
{
    struct books b;
    const bool running = true, waiting = false;
    rotation_sort(r);
    books_open(&b, r);
    admit_members(&b, r, &running);
    take_pinned(&b, r);
    admit_members(&b, r, &waiting);
    books_close(&b);
}

bool rotation_waits(const struct rotation *r)
{
    vec_foreach (&r->members, m)
        if (!m->runs && !m->pinned)
            return true;
    return false;
}

bool rotation_excludes(const struct rotation_member *a, const struct rotation_member *b)
{
    vec_foreach (&a->uses, x)
        vec_foreach (&b->uses, y)
            if (x->node == y->node && bitset_intersects(x->units, y->units))
                return true;
    return false;
}
