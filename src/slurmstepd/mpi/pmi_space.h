/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key-value space of an MPI step as one node has it: what its own tasks have put, and what came
 * from the others with each barrier. Bounded. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PMI_SPACE_MAX (128u << 20)     /* bytes of all keys and values, and for each pair: */
#define PMI_PAIR_COST 160              /* what it takes besides */
#define PMI_ROUND_PUTS_MAX (1u << 20)  /* pairs put by this node between two barriers, */
#define PMI_ROUND_BYTES_MAX (8u << 20) /* and their bytes: they travel in one message */

struct pmi_pair {
    const char *key, *value; /* borrowed */
};

struct pmi_space {
    struct pmi_space_entry *entries;
    size_t bytes, fresh_bytes; /* fresh: put here since the last barrier */
    uint32_t fresh;
};

void pmi_space_done(struct pmi_space *s);

/* Stores a pair; a later put of the same key wins. 'fresh': by a task of this node. Refused with
 * -ERR_LIMIT when the space is full. */
int pmi_space_put(struct pmi_space *s, const char *key, const char *value, bool fresh,
                  struct err *err);
const char *pmi_space_find(const struct pmi_space *s, const char *key); /* NULL: none */

/* Too much for one message was put since the last barrier: the next one could not end. */
bool pmi_space_is_swamped(const struct pmi_space *s);

/* What is fresh, of which nothing is fresh then. The caller frees the array, not the strings. */
struct pmi_pair *pmi_space_take_fresh(struct pmi_space *s, size_t *count);
