/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The layers of hierarchical resources, for modules that know that tied pools are layers. In modes
 * 2 and 3 a job takes units of every layer that contains one of its nodes, and cannot use a node
 * that no layer contains. In mode 1 a job takes units of one such layer, which the planner chooses
 * and the record of the job names. cluster/job/license.h is the interface for all other modules.
 */
#pragma once

#include "cluster/job/license.h"

/* --- license_layer.c ---------------------------------------------------------------------------
 */

/* Adds a layer to the resource, which must be new or the resource of the previous call. The cluster
 * takes ownership of the nodes. To be called before any request is read. */
void license_add_layer(struct cluster *c, const char *name, enum conf_hres_mode mode,
                       struct bitset *nodes, uint64_t total);
/* Sets the count of the layer; the units for jobs follow from it. */
void license_set_count(struct license *l, uint64_t count);
/* The same for a layer of the cluster: what is remembered of its layers is counted again. */
void license_change_count(struct cluster *c, struct license *l, uint64_t count);
/* Appends "flat(n[1-8]) has 2 (count 4, base 2; 8 in resources.yaml)": the units for jobs of a
 * layer with a limit. */
void license_format_total(const struct license *l, struct str *out);
bool license_is_one_layer(const struct cluster *c, const struct license_need *need); /* mode 1 */
/* Returns the pool that is charged in mode 1: the lowest pool with a node of the set and enough
 * free units; -1: none. room: free units, by layer of the resource. 'otherwise' gets the lowest
 * pool with a node of the set. */
int32_t license_choose_layer(const struct cluster *c, const struct license_need *need,
                             const uint64_t *room, const struct bitset *set, int32_t *otherwise);
/* Finds candidates such that a job on these nodes has a layer with enough free units for each need
 * of mode 1; *out NULL: all nodes of the set are suitable. Returns false if no nodes are. */
bool license_find_anchors(const struct cluster *c, const struct license_needs *needs,
                          const uint64_t *room, const struct bitset *required,
                          const uint32_t *weight, const struct bitset *set,
                          const struct bitset *candidates, struct bitset **out);

/* --- license_layer_count.c ---------------------------------------------------------------------
 */

/* Prepares the cluster for the counts of classes, see license_find_class(). */
void license_begin_counts(struct cluster *c);
/* Returns how many nodes of the set a job can have, if it takes 'count' units for each node and the
 * layers are a tree. room: free units, by layer of the resource. */
size_t license_count_in_tree(const struct license *l, uint32_t count, const uint64_t *room,
                             const struct bitset *set);

/* --- license_layer_text.c ----------------------------------------------------------------------
 */

/* Finds the layer of resource 'name' that has just these nodes; *at is its place in the list of
 * licenses. -ERR_LICENSE. */
int license_read_layer(const struct cluster *c, const char *name, const char *nodes, int32_t *at,
                       struct err *err);

/* --- license_layer_possible.c ------------------------------------------------------------------
 */

/* A layer whose units can never be enough for a job. */
struct license_raise {
    int32_t at;
    uint64_t total;      /* units for jobs that would be enough */
    bool is_enough_file; /* an operator has set its count, and that of resources.yaml would do */
};
#define LICENSE_RAISES_MAX 4
/* Finds the layers that need higher counts for a request without alternatives that the layers can
 * never satisfy: the smallest set found. Returns their number; 0: more than LICENSE_RAISES_MAX, or
 * higher counts do not help. */
size_t license_find_raises(const struct cluster *c, const struct job *j,
                           const struct license_need *need,
                           struct license_raise out[LICENSE_RAISES_MAX]);
