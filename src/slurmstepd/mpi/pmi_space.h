/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The key-value space of an MPI step on one node: pairs put by its own tasks, and pairs received
 * from other nodes with each barrier. Limited in size. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Bytes of all keys and values, including a fixed cost per pair. */
#define PMI_SPACE_MAX (128u << 20)
#define PMI_PAIR_COST 160              /* fixed cost of a pair in bytes */
#define PMI_ROUND_PUTS_MAX (1u << 20)  /* pairs put by this node between two barriers */
#define PMI_ROUND_BYTES_MAX (8u << 20) /* bytes of these pairs, which travel in one message */

struct pmi_pair {
    const char *key, *value; /* borrowed */
};

struct pmi_space {
    struct pmi_space_entry *entries;
    size_t bytes, fresh_bytes; /* fresh: put on this node since the last barrier */
    uint32_t fresh;
};

void pmi_space_done(struct pmi_space *s);

/* Stores a pair; a later put of the same key replaces the value. 'fresh': put by a task of this
 * node. -ERR_LIMIT: the space is full. */
int pmi_space_put(struct pmi_space *s, const char *key, const char *value, bool fresh,
                  struct err *err);
const char *pmi_space_find(const struct pmi_space *s, const char *key); /* NULL: none */

/* Whether the pairs put since the last barrier are too large for one message, so that the next
   barrier cannot end. */
bool pmi_space_is_swamped(const struct pmi_space *s);

/* Takes the fresh pairs, which are then no longer fresh. The caller frees the array, but not the
   strings. */
struct pmi_pair *pmi_space_take_fresh(struct pmi_space *s, size_t *count);
