/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What nodes have as numbers, of which each job takes a part: a member for each row NODE_AMOUNT of
 * resource_kind.def. The rows become straight code here, and nothing else of the cluster or the
 * planner needs to know which ones there are: it adds, subtracts and compares all of them at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct amounts {
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...) int64_t member;
#include "cluster/resource/resource_kind.def"
};

/* MiB: more than any node has; sums over half a million nodes do not overflow */
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

/* So many times each, AMOUNT_MAX at most. */
static inline struct amounts amounts_times(const struct amounts *a, uint32_t count)
{
    struct amounts product;
    int64_t most = AMOUNT_MAX / (count ? count : 1);
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    product.member = a->member < most ? a->member * count : AMOUNT_MAX;
#include "cluster/resource/resource_kind.def"
    return product;
}

/* Each becomes the larger one of the two. */
static inline void amounts_raise(struct amounts *to, const struct amounts *least)
{
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    to->member = least->member > to->member ? least->member : to->member;
#include "cluster/resource/resource_kind.def"
}

/* Each becomes the smaller one of the two. */
static inline void amounts_limit(struct amounts *to, const struct amounts *most)
{
#define NODE_AMOUNT(id, word, scarce, sentence, noun, member, ...)                                 \
    to->member = most->member < to->member ? most->member : to->member;
#include "cluster/resource/resource_kind.def"
}

/* Whether 'a' has no more of any than 'b'. */
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
