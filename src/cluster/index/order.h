/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An order keeps elements sorted by (key, tie), through a link inside each element. It holds the
 * queues of pending jobs, the ends of running jobs and the deadlines of both, so that no pass has
 * to sort. Insertion, removal and the step to the next element cost O(log n); insertion at the end
 * costs O(1) on average. The shape depends on the ties only, so that the same changes give the same
 * tree. Links are embedded in their owners; a zeroed link is in no order.
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
    /* kind of the owner, see job_partitions.h; the order preserves it also while the link is in no
     * order */
    uint64_t of_request : 1;
};

struct order {
    struct order_link *root, *last;
    size_t count;
    uint64_t changes; /* insertions and removals so far */
};

/* The position of a walk, valid also when the order changes between two steps. Zeroed: before the
 * first element. */
struct order_place {
    bool begun;
    int64_t key; /* of the last visited element, with the tie below */
    uint64_t tie;
    const struct order_link *link; /* the last visited element, valid while 'changes' is the same */
    uint64_t changes;
};

/* Returns the element in which a link is embedded; NULL for NULL. */
#define order_item(link, type, member)                                                             \
    ({                                                                                             \
        struct order_link *link_ = (link);                                                         \
        link_ ? (type *)((char *)link_ - offsetof(type, member)) : NULL;                           \
    })

/* Inserts a link that is in no order. */
void order_insert(struct order *o, struct order_link *link, int64_t key, uint64_t tie);
/* Has no effect on a link that is in no order. */
void order_remove(struct order *o, struct order_link *link);

/* Moves the link to its new position, or inserts it. */
void order_move(struct order *o, struct order_link *link, int64_t key, uint64_t tie);

struct order_link *order_first(const struct order *o);
struct order_link *order_next(const struct order_link *link);
/* Returns the first element behind (key, tie). No element needs to have this key. */
struct order_link *order_after(const struct order *o, int64_t key, uint64_t tie);
/* Returns the element behind the position. A walk without changes costs O(1) a step on average. */
struct order_link *order_peek(const struct order *o, const struct order_place *at);
/* Like order_peek(), and moves the position to the element. NULL: the walk is at its end, and the
 * position stays. */
struct order_link *order_step(const struct order *o, struct order_place *at);
