/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * RestrictedCoresPerGPU: units of a node that only jobs with GPUs, or parts of GPUs, may use. They
 * are the first units near each GPU (Cores= of gres.conf) that are not restricted for another GPU.
 * A hidden kind of generic resource counts them, so that each view of the cluster tells how many of
 * the free units of a node are restricted. A job takes at most the units of as many GPUs as it has
 * on the node; a job with parts of GPUs, and a job with the whole node, may take all of them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "cluster/resource/gres.h"

/* Adds the hidden kind if nodes restrict cores. */
void gres_cores_init(struct cluster *c);
/* Finds the restricted units of the node, whose units or generic resources are new. */
void gres_cores_find(const struct cluster *c, struct node *n);
/* Counts the restricted units in use after the busy units of the node have changed. */
void gres_cores_settle(struct node *n);
/* Writes the restricted cores of a node that has some, "0-1,8". */
void gres_cores_put_list(const struct node *n, struct str *out);

/* Whether a job with these resources may take restricted units at all. */
bool gres_cores_may(const struct gres_wants *wants);
/* Returns the number of restricted units that such a job may take on a node where it has 'gpus'
 * GPUs and where 'per_gpu' units are restricted for each GPU. */
uint32_t gres_cores_most(const struct gres_wants *wants, uint32_t per_gpu, uint64_t gpus);

/* Returns the free restricted units of the node that the job may take, near ones first. 'amounts':
 * its generic resources there; 'near': units near its devices, NULL: none. The caller frees the
 * set. */
struct bitset *gres_cores_permitted(const struct node *n, const struct gres_wants *wants,
                                    const struct gres_amount *amounts, size_t count,
                                    const struct bitset *near);
/* Returns all units of the node but the restricted ones. The caller frees the set. */
struct bitset *gres_cores_others(const struct node *n);
