/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An order: elements kept sorted by (key, tie), through a link inside each of them. Used for the
 * queues of pending jobs, the ends of running jobs and the deadlines of both, so that nothing is
 * ever sorted per pass. Insertion, removal and the next element cost O(log n), insertion behind all
 * others O(1) on average; the shape depends on the ties alone, so that the same changes give the
 * same tree. Links are embedded in their owners; a zeroed link is in no order.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct order_link {
    struct order_link *up, *left, *right;
    int64_t key;
    uint64_t tie : 62; /* unique within an order */
    uint64_t in : 1;
    uint64_t of_request : 1; /* job_partitions.h: what it is in, in an order or not; the order keeps
                                it */
};

struct order {
    struct order_link *root, *last;
    size_t count;
    uint64_t changes; /* insertions and removals so far */
};

/* Where a walk has come to that rests while the order changes; zeroed: before the first one. */
struct order_place {
    bool begun;
    int64_t key; /* of the last one: */
    uint64_t tie;
    const struct order_link *link; /* itself, if there were no more changes than these */
    uint64_t changes;
};

/* The element a link is embedded in; NULL for NULL. */
#define order_item(link, type, member)                                                             \
    ({                                                                                             \
        struct order_link *link_ = (link);                                                         \
        link_ ? (type *)((char *)link_ - offsetof(type, member)) : NULL;                           \
    })

/* The link must be in no order. */
void order_insert(struct order *o, struct order_link *link, int64_t key, uint64_t tie);
void order_remove(struct order *o, struct order_link *link); /* nothing when it is in none */

/* Moves or inserts it. */
void order_move(struct order *o, struct order_link *link, int64_t key, uint64_t tie);

struct order_link *order_first(const struct order *o);
struct order_link *order_next(const struct order_link *link);
/* The first one behind that place, whether an element is there or not. */
struct order_link *order_after(const struct order *o, int64_t key, uint64_t tie);
/* The one behind it; a walk without changes costs O(1) a step on average. */
struct order_link *order_peek(const struct order *o, const struct order_place *at);
/* The same, and comes to it; NULL: there is none, and the place stays. */
struct order_link *order_step(const struct order *o, struct order_place *at);
