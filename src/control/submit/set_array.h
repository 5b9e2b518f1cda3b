/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arrays of job sets: each element is a set of its own. All sets are made when the array is
 * submitted; their leaders are the records of the array, and a component is in the array by its
 * leader. The array has the id of the first leader.
 */
#pragma once

#include "control/submit/submit_set.h"

/* r->leader has array_inx. As submit_make_set(): *out is the first leader. */
int set_array_make(struct control *c, const struct caller *who, const struct set_request *r,
                   struct job **out, struct err *err);
/* The sets of all elements are stored and queued. */
void set_array_admit(struct control *c, struct job *first, uint64_t key);
