/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A treap: a search tree by (key, tie) and a heap by a hash of the tie. */
#include "cluster/index/order.h"

#include <assert.h>

#define TIE_MAX ((UINT64_C(1) << 62) - 1) /* of struct order_link */

static uint64_t hash_tie(const struct order_link *l)
{
    uint64_t x = l->tie + UINT64_C(0x9e3779b97f4a7c15);

    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static bool is_before(const struct order_link *a, const struct order_link *b)
{
    return a->key != b->key ? a->key < b->key : a->tie < b->tie;
}

static void replace_child(struct order *o, struct order_link *old, struct order_link *with)
{
    if (with)
        with->up = old->up;
    if (!old->up)
        o->root = with;
    else if (old->up->left == old)
        old->up->left = with;
    else
        old->up->right = with;
}

/* Swaps the link with its parent, which becomes its child. */
static void rotate_up(struct order *o, struct order_link *l)
{
    struct order_link *parent = l->up, *inner;

    replace_child(o, parent, l);
    if (parent->left == l) {
        inner = l->right;
        parent->left = inner;
        l->right = parent;
    } else {
        inner = l->left;
        parent->right = inner;
        l->left = parent;
    }
    if (inner)
        inner->up = parent;
    parent->up = l;
}

void order_insert(struct order *o, struct order_link *link, int64_t key, uint64_t tie)
{
    struct order_link **at = &o->root, *up = NULL;

    assert(!link->in); /* a link is in one tree */
    *link = (struct order_link){
        .key = key, .tie = tie & TIE_MAX, .in = true, .of_request = link->of_request};
    if (!o->last ||
        is_before(o->last, link)) { /* most links are added at the end: no search is needed */
        up = o->last;
        at = up ? &up->right : &o->root;
        o->last = link;
    }
    while (*at) {
        up = *at;
        at = is_before(link, up) ? &up->left : &up->right;
    }
    *at = link;
    link->up = up;
    uint64_t own = hash_tie(link);
    while (link->up && hash_tie(link->up) < own)
        rotate_up(o, link);
    o->count++;
    o->changes++;
}

static struct order_link *find_previous(struct order_link *link)
{
    struct order_link *l = link->left;

    if (l) {
        while (l->right)
            l = l->right;
        return l;
    }
    while (link->up && link->up->left == link)
        link = link->up;
    return link->up;
}

void order_remove(struct order *o, struct order_link *link)
{
    if (!link->in)
        return;
    if (o->last == link)
        o->last = find_previous(link);
    while (link->left && link->right)
        rotate_up(o, hash_tie(link->left) > hash_tie(link->right) ? link->left : link->right);
    replace_child(o, link, link->left ? link->left : link->right);
    *link = (struct order_link){.of_request = link->of_request};
    o->count--;
    o->changes++;
}

void order_move(struct order *o, struct order_link *link, int64_t key, uint64_t tie)
{
    if (link->in && link->key == key && link->tie == tie)
        return;
    order_remove(o, link);
    order_insert(o, link, key, tie);
}

struct order_link *order_first(const struct order *o)
{
    struct order_link *l = o->root;

    while (l && l->left)
        l = l->left;
    return l;
}

struct order_link *order_next(const struct order_link *link)
{
    struct order_link *l = link->right;

    if (l) {
        while (l->left)
            l = l->left;
        return l;
    }
    while (link->up && link->up->right == link)
        link = link->up;
    return link->up;
}

struct order_link *order_after(const struct order *o, int64_t key, uint64_t tie)
{
    const struct order_link place = {.key = key, .tie = tie & TIE_MAX};
    struct order_link *found = NULL;

    for (struct order_link *l = o->root; l;) {
        if (is_before(&place, l)) {
            found = l;
            l = l->left;
        } else {
            l = l->right;
        }
    }
    return found;
}

struct order_link *order_peek(const struct order *o, const struct order_place *at)
{
    if (!at->begun)
        return order_first(o);
    return at->changes == o->changes ? order_next(at->link) : order_after(o, at->key, at->tie);
}

struct order_link *order_step(const struct order *o, struct order_place *at)
{
    struct order_link *l = order_peek(o, at);
    if (l)
        *at = (struct order_place){true, l->key, l->tie, l, o->changes};
    return l;
}
