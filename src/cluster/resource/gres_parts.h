/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GPUs that jobs get whole or in parts (gres/shard, gres/mps). The parts of each GPU are a kind of
 * their own. Each GPU also has a hidden kind with a count of one, its lock; a job that has the GPU
 * whole takes the lock. So the planner counts by kind only, and the row of a node in any view tells
 * which GPUs are free and which are used in parts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf_rows.h"

struct bitset;
struct cluster;
struct gres_amount;
struct gres_wants;
struct node;

#define GRES_PARTS_GPUS CONF_GRES_SHARED_GPUS
#define GRES_PARTS_NAMES 2 /* mps and shard */

struct gres_parts_gpu {
    uint32_t whole, device; /* kind of the whole GPU, and the device number within the kind */
    uint32_t lock;
    uint32_t part[GRES_PARTS_NAMES]; /* kinds of the parts; invalid where count is 0 */
    uint64_t count[GRES_PARTS_NAMES];
};

struct gres_parts { /* for nodes with the same set of generic resources */
    const struct conf_gres_set *set;
    const struct conf_gres *item[GRES_PARTS_NAMES]; /* the configured shared GRES; NULL: none */
    /* Parts only on one GPU of the node at a time (Flags=one_sharing). */
    bool one[GRES_PARTS_NAMES];
    bool spread;  /* prefer the least used GPU (LL_SHARED_GRES) */
    bool several; /* a job may have parts of several GPUs (MULTIPLE_SHARING_GRES_PJ) */
    uint32_t gpus;
    uint64_t whole_mask, part_mask[GRES_PARTS_NAMES]; /* masks of kinds */
    struct gres_parts_gpu gpu[GRES_PARTS_GPUS];
};

/* Adds the kinds of parts and locks. A set with too many GPUs, or for which no kind is left, gets
 * no parts. */
void gres_parts_init(struct cluster *c);
void gres_parts_done(struct cluster *c);
const struct gres_parts *gres_parts_of(const struct cluster *c, const struct conf_gres_set *set);
void gres_parts_stock(struct node *n); /* adds the node's locks and parts */
/* Recomputes the locks and the GPUs used in parts from the GRES in use. */
void gres_parts_settle(struct node *n);
/* Returns how many parts of this GPU jobs hold; name: 0 or 1, as in gres_parts.item. */
uint64_t gres_parts_used(const struct node *n, const struct gres_parts_gpu *g, size_t name);

/* Whether a request is impossible because it has whole GPUs and parts, or parts of both names. */
bool gres_parts_exclude(const struct gres_parts *p, const struct gres_wants *wants);
/* Computes from a row (free counts by kind) the counts available to a request for 'tasks' tasks and
 * 'more' of its total: whole GPUs without parts in use, and parts of one GPU. 'tasks' UINT32_MAX:
 * as many tasks as possible. 'wants' NULL: the request is for whole GPUs. 'out' must be another
 * row. */
void gres_parts_room(const struct gres_parts *p, const struct gres_wants *wants, uint32_t tasks,
                     uint64_t more, const uint64_t *row, size_t kinds, uint64_t *out);
/* Adds to the amounts, which have no GPUs, all other GRES of a row that a job gets with a whole
 * node. */
size_t gres_parts_add_rest(const struct gres_parts *p, const uint64_t *row, size_t kinds,
                           struct gres_amount *amounts, size_t count);
/* Adds the locks of the whole GPUs among the amounts; returns the new number of amounts. */
size_t gres_parts_add_locks(const struct gres_parts *p, const uint64_t *row,
                            struct gres_amount *amounts, size_t count);
/* Whether all GPUs and parts among these amounts are free. */
bool gres_parts_fit(const struct node *n, const struct gres_amount *amounts, size_t count);
/* Sets the devices of the locks among the amounts, by amount; the caller frees them. */
void gres_parts_devices(const struct node *n, const struct gres_amount *amounts, size_t count,
                        struct bitset **devices);
/* Whether the kind belongs to a GPU of the node that is allocated in parts: the GPU, its parts or
 * its lock. */
bool gres_parts_has(const struct node *n, uint32_t kind);
/* Returns the GPU to which the kind belongs as lock or parts; NULL: another kind. */
const struct gres_parts_gpu *gres_parts_gpu_of(const struct gres_parts *p, uint32_t kind);
