/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * aftercorr between job arrays: each element waits for the one of its number, and they stay one
 * record while they do. The item of such a record has the sets of those elements for which it is
 * met and of those for which it never will be, and the record starts, or gives up, those alone. A
 * record of one element waits as for that element. The sets of what failed are stored, the others
 * are found again. Part of the cluster.
 */
#pragma once

#include "cluster/job/depend.h"

struct array;
struct cluster;
struct job;

/* The items of a record that has other elements now are its own again. Elements that the other
 * array does not have can never start. */
void depend_corr_fit(struct cluster *c, struct job *j);
/* 'e' got elements of 'j', and both are to be fitted to what each has. */
void depend_corr_deal(struct cluster *c, struct job *j, struct job *e);
/* What is known of 'from' is j's too: its elements are about to be. */
void depend_corr_gather(struct job *j, const struct job *from);
/* Elements of the array that an item waits for are over. True: it changes something. */
bool depend_corr_apply(struct job *j, struct depend_item *item, const struct idset *elements,
                       bool well);
/* What became of all of them, from the records of the array; NULL: it is gone, and what did not
 * fail went well. */
void depend_corr_look(struct job *j, struct depend_item *item, const struct array *a);

/* The element of a record that can start next, when any can. */
uint32_t depend_first_ready(const struct job *j);
/* The elements that never can, where others of the record may. NULL: there are none. */
const struct idset *depend_corr_doomed(const struct depend *d);
