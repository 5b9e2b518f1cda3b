/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who holds which of a node's generic resources. */
#pragma once

#include "base/arena.h"
#include "cluster/resource/gres.h"
#include "proto/job.pb-c.h"

struct alloc_node;

/* Units near the devices that such amounts are of, by amount where they are known, or would be of;
 * NULL: none is better than others. */
struct bitset *gres_held_near(const struct node *n, const struct gres_amount *amounts, size_t count,
                              struct bitset *const *devices);

/* A job's share: 'devices' (owned from now on), or with NULL those near the units first and of the
 * lowest numbers. They must be free. */
void gres_held_take(struct node *n, const struct gres_amount *amount, const struct bitset *units,
                    struct bitset *devices, struct gres_held *out);
/* Counts it as held again, after a restart. */
void gres_held_retake(struct node *n, const struct gres_held *held);
void gres_held_release(struct node *n, const struct gres_held *held);
/* Adds it to what the node has free in another view. */
void gres_held_give_back(const struct node *n, const struct gres_held *held, uint64_t *row);
void gres_held_done(struct gres_held *held);

/* Of what a job holds, what one of its steps has alone. */
void gres_held_step(struct gres_held *job, const struct gres_held *step);
void gres_held_step_over(struct gres_held *job, const struct gres_held *step);
struct gres_held *gres_held_find(struct alloc_node *a, uint32_t kind); /* NULL: none */

Pb__GresAlloc **gres_held_pack(const struct cluster *c, const struct gres_held *held, size_t count,
                               struct arena *arena);
/* What the node still has of it; false: nothing of that kind. */
bool gres_held_unpack(const struct cluster *c, const struct node *n, const Pb__GresAlloc *g,
                      struct gres_held *out);

/* "gpu:a100:2,nic:1"; with 'devices' "gpu:a100:2(IDX:0-1)". */
void gres_held_format(const struct cluster *c, const struct gres_held *held, size_t count,
                      bool devices, struct str *out);
/* The same of a node: what it has, or what of it is in use. */
void gres_held_format_node(const struct cluster *c, const struct node *n, bool used,
                           struct str *out);
