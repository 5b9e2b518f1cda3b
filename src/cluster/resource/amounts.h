/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Node resources that are numbers, of which each job takes a part: one member for each row
 * NODE_AMOUNT of resource_kind.def. The rows expand to straight code here. The rest of the cluster
 * and the planner adds, subtracts and compares all members at once and does not name them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct amounts {
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...) int64_t member;
#include "cluster/resource/resource_kind.def"
};

/* MiB. More than any node has; sums over half a million nodes do not overflow. */
#define AMOUNT_MAX (INT64_C(1) << 44)

static inline int64_t amounts_bound(uint64_t amount)
{
    return amount < AMOUNT_MAX ? (int64_t)amount : AMOUNT_MAX;
}

static inline void amounts_add(struct amounts *to, const struct amounts *what)
{
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...) to->member += what->member;
#include "cluster/resource/resource_kind.def"
}

static inline void amounts_subtract(struct amounts *from, const struct amounts *what)
{
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...) from->member -= what->member;
#include "cluster/resource/resource_kind.def"
}

/* Multiplies each amount; the products are at most AMOUNT_MAX. */
static inline struct amounts amounts_times(const struct amounts *a, uint32_t count)
{
    struct amounts product;
    int64_t most = AMOUNT_MAX / (count ? count : 1);
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    product.member = a->member < most ? a->member * count : AMOUNT_MAX;
#include "cluster/resource/resource_kind.def"
    return product;
}

/* Sets each amount to the larger one of the two. */
static inline void amounts_raise(struct amounts *to, const struct amounts *least)
{
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    to->member = least->member > to->member ? least->member : to->member;
#include "cluster/resource/resource_kind.def"
}

/* Sets each amount to the smaller one of the two. */
static inline void amounts_limit(struct amounts *to, const struct amounts *most)
{
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    to->member = most->member < to->member ? most->member : to->member;
#include "cluster/resource/resource_kind.def"
}

/* Whether no amount of 'a' exceeds the amount of 'b'. */
static inline bool amounts_are_within(const struct amounts *a, const struct amounts *b)
{
    bool within = true;
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    within = within && a->member <= b->member;
#include "cluster/resource/resource_kind.def"
    return within;
}

static inline bool amounts_equal(const struct amounts *a, const struct amounts *b)
{
    bool equal = true;
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    equal = equal && a->member == b->member;
#include "cluster/resource/resource_kind.def"
    return equal;
}
