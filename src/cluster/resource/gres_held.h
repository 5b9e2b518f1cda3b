/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generic resources of a node that jobs hold. */
#pragma once

#include "base/arena.h"
#include "cluster/resource/gres.h"
#include "proto/job.pb-c.h"

struct alloc_node;

/* Returns the units near the devices of these amounts: near 'devices' (by amount) where known,
 * otherwise near the devices that would be chosen. NULL: no unit is better than the others. */
struct bitset *gres_held_near(const struct node *n, const struct gres_amount *amounts, size_t count,
                              struct bitset *const *devices);

/* Allocates an amount to a job. 'devices' must be free and is owned by 'out' afterwards; NULL: the
 * devices near the units are chosen first, then the lowest numbers. */
void gres_held_take(struct node *n, const struct gres_amount *amount, const struct bitset *units,
                    struct bitset *devices, struct gres_held *out);
/* Counts GRES as held again after a restart. */
void gres_held_retake(struct node *n, const struct gres_held *held);
void gres_held_release(struct node *n, const struct gres_held *held);
/* Adds the held GRES to the free GRES of the node in another view. */
void gres_held_give_back(const struct node *n, const struct gres_held *held, uint64_t *row);
void gres_held_done(struct gres_held *held);

/* Marks GRES of the job as held, or as no longer held, by one of its steps. */
void gres_held_step(struct gres_held *job, const struct gres_held *step);
void gres_held_step_over(struct gres_held *job, const struct gres_held *step);
struct gres_held *gres_held_find(struct alloc_node *a, uint32_t kind); /* NULL: none */

Pb__GresAlloc **gres_held_pack(const struct cluster *c, const struct gres_held *held, size_t count,
                               struct arena *arena);
/* Reads held GRES as far as the node still has them; false: the node has nothing of this kind. */
bool gres_held_unpack(const struct cluster *c, const struct node *n, const Pb__GresAlloc *g,
                      struct gres_held *out);

/* "gpu:a100:2,nic:1"; with 'devices' "gpu:a100:2(IDX:0-1)". */
void gres_held_format(const struct cluster *c, const struct gres_held *held, size_t count,
                      bool devices, struct str *out);
/* Formats the GRES of a node: all of them, or those in use. */
void gres_held_format_node(const struct cluster *c, const struct node *n, bool used,
                           struct str *out);
