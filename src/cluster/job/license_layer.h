/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layers of hierarchical resources, for those who know that tied pools are layers. In modes 2
 * and 3 a job draws from every layer that has one of the job's nodes; a node that no layer has
 * cannot be the job's. In mode 1 a job draws from one such layer, which the planner chooses and the
 * job's record names. What everybody else asks of pools is in cluster/job/license.h.
 */
#pragma once

#include "cluster/job/license.h"

/* --- license_layer.c ---------------------------------------------------------------------------
 */

/* Adds a layer to the resource, which must be the last one that was added, or a new one. The nodes
 * are the cluster's from now on. Before any request is read. */
void license_add_layer(struct cluster *c, const char *name, enum conf_hres_mode mode,
                       struct bitset *nodes, uint64_t total);
/* What jobs may have of the layer follows. */
void license_set_count(struct license *l, uint64_t count);
/* "flat(n[1-8]) has 2 (count 4, base 2; 8 in resources.yaml)": of a layer with a limit, what it has
 * for jobs. */
void license_format_total(const struct license *l, struct str *out);
bool license_is_one_layer(const struct cluster *c, const struct license_need *need); /* mode 1 */
/* The pool that pays in mode 1, of those that have a node of the set: the lowest one with as much
 * room (by layer of the resource); -1: none. 'otherwise' gets the lowest one. */
int32_t license_choose_layer(const struct cluster *c, const struct license_need *need,
                             const uint64_t *room, const struct bitset *set, int32_t *otherwise);
/* Nodes of the candidates such that a job that has them has a layer with room for each need of mode
 * 1; NULL: any nodes of the set do. False: no nodes do. */
bool license_find_anchors(const struct cluster *c, const struct license_needs *needs,
                          const uint64_t *room, const struct bitset *required,
                          const uint32_t *weight, const struct bitset *set,
                          const struct bitset *candidates, struct bitset **out);

/* --- license_layer_text.c ----------------------------------------------------------------------
 */

/* Finds the layer of resource 'name' that has just these nodes; *at is its place in the list of
 * licenses. -ERR_LICENSE. */
int license_read_layer(const struct cluster *c, const char *name, const char *nodes, int32_t *at,
                       struct err *err);

/* --- license_layer_possible.c ------------------------------------------------------------------
 */

/* A layer that has less than a job could ever do with. */
struct license_raise {
    int32_t at;
    uint64_t total;      /* that it would have to have for jobs */
    bool is_enough_file; /* an operator has set its count, and that of resources.yaml would do */
};
#define LICENSE_RAISES_MAX 4
/* Of a request without alternatives that is not possible for its layers: those that would have to
 * have more, the smallest such set found. Their number; 0: more than LICENSE_RAISES_MAX, or higher
 * counts do not help. */
size_t license_find_raises(const struct cluster *c, const struct job *j,
                           const struct license_need *need,
                           struct license_raise out[LICENSE_RAISES_MAX]);
