/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * GPUs that are given to jobs whole, or in parts to several (gres/shard, gres/mps). The parts of
 * each GPU are a kind of their own, and each GPU has a hidden kind of one entry, its lock, which
 * a job takes that has the GPU whole. So the planner counts by kind, and what a node has in some
 * view, its row, can tell which GPUs are whole, and which are in parts.
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
    uint32_t whole, device; /* its kind, and its number there */
    uint32_t lock;
    uint32_t part[GRES_PARTS_NAMES]; /* kinds; where count is 0, no kind */
    uint64_t count[GRES_PARTS_NAMES];
};

struct gres_parts { /* of nodes with one set of resources */
    const struct conf_gres_set *set;
    const struct conf_gres *item[GRES_PARTS_NAMES]; /* NULL: none */
    bool one[GRES_PARTS_NAMES]; /* of one GPU of the node at a time (Flags=one_sharing) */
    bool spread;                /* the GPU that is used least comes first (LL_SHARED_GRES) */
    bool several;               /* a job may have parts of several (MULTIPLE_SHARING_GRES_PJ) */
    uint32_t gpus;
    uint64_t whole_mask, part_mask[GRES_PARTS_NAMES]; /* of kinds */
    struct gres_parts_gpu gpu[GRES_PARTS_GPUS];
};

/* Adds the kinds. A set with more GPUs than may be, or for which there are no kinds left, has no
 * parts. */
void gres_parts_init(struct cluster *c);
void gres_parts_done(struct cluster *c);
const struct gres_parts *gres_parts_of(const struct cluster *c, const struct conf_gres_set *set);
void gres_parts_stock(struct node *n); /* adds the node's locks and parts */
/* Makes locks, and which GPUs are in parts, agree with what is in use. */
void gres_parts_settle(struct node *n);
/* The parts of this GPU that jobs have; name: 0 or 1, as in gres_parts.item. */
uint64_t gres_parts_used(const struct node *n, const struct gres_parts_gpu *g, size_t name);

/* It asks for whole GPUs and for parts, or for parts of both names: no job has both. */
bool gres_parts_exclude(const struct gres_parts *p, const struct gres_wants *wants);
/* What of a row, by kind, may be had by a request for 'tasks' tasks and 'more' of its total: whole
 * GPUs of which no parts are in use, and parts of one GPU. 'tasks' UINT32_MAX: as many as possible.
 * 'wants' NULL: whole GPUs are asked for. 'out' is another row. */
void gres_parts_room(const struct gres_parts *p, const struct gres_wants *wants, uint32_t tasks,
                     uint64_t more, const uint64_t *row, size_t kinds, uint64_t *out);
/* Adds to amounts of a row, without GPUs, all else that a job gets with a node of its own. */
size_t gres_parts_add_rest(const struct gres_parts *p, const uint64_t *row, size_t kinds,
                           struct gres_amount *amounts, size_t count);
/* Adds the locks of GPUs for the whole ones among the amounts; returns how many there are then. */
size_t gres_parts_add_locks(const struct gres_parts *p, const uint64_t *row,
                            struct gres_amount *amounts, size_t count);
/* Whether nobody has what of these amounts are GPUs and parts. */
bool gres_parts_fit(const struct node *n, const struct gres_amount *amounts, size_t count);
/* Those of the locks among the amounts, by amount; the caller frees. */
void gres_parts_devices(const struct node *n, const struct gres_amount *amounts, size_t count,
                        struct bitset **devices);
/* Whether the kind is one of the node's GPUs that are given in parts, of their parts or locks. */
bool gres_parts_has(const struct node *n, uint32_t kind);
/* The GPU of which this kind is the lock, or parts; NULL: it is another kind. */
const struct gres_parts_gpu *gres_parts_gpu_of(const struct gres_parts *p, uint32_t kind);
