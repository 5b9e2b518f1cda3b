/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Seeded random numbers (SplitMix64): the same seed gives the same run on every machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* first..last, both inclusive. */
static inline int64_t rng_between(struct rng *r, int64_t first, int64_t last)
{
    return first + (int64_t)(rng_next(r) % (uint64_t)(last - first + 1));
}

static inline bool rng_chance(struct rng *r, unsigned in_thousand)
{
    return rng_next(r) % 1000 < in_thousand;
}
