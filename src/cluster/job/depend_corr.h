/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aftercorr between job arrays: each element depends on the element with its number, and the
 * elements share one record meanwhile. The item of such a record has the set of elements for which
 * it is fulfilled and the set for which it can never be; only these elements of the record start or
 * are given up. A record of one element depends on that element only. The sets of failed elements
 * are stored; the other sets are recomputed. Part of the cluster.
 */
#pragma once

#include "cluster/job/depend.h"

struct array;
struct cluster;
struct job;

/* Adapts the items of a record whose elements have changed. Elements that the other array lacks can
 * never start. */
void depend_corr_fit(struct cluster *c, struct job *j);
/* Adapts the items of 'j' and 'e' to the elements of each after 'e' got elements of 'j'. */
void depend_corr_deal(struct cluster *c, struct job *j, struct job *e);
/* Copies the known states of 'from' to 'j' before the elements of 'from' move to 'j'. */
void depend_corr_gather(struct job *j, const struct job *from);
/* Records that elements of the array that an item names have ended. Returns true if this changes a
 * state. */
bool depend_corr_apply(struct job *j, struct depend_item *item, const struct idset *elements,
                       bool well);
/* Recomputes the sets from the records of the array; NULL: the array is purged, and every element
 * that did not fail counts as successful. */
void depend_corr_look(struct job *j, struct depend_item *item, const struct array *a);

/* Returns the element of a record that can start next, if any can. */
uint32_t depend_first_ready(const struct job *j);
/* Returns the elements that can never start while other elements of the record may; NULL: none. */
const struct idset *depend_corr_doomed(const struct depend *d);
