/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What timeline_search.c asks of timeline.c; for nobody else. */
#pragma once

#include "sched/plan/timeline.h"

/* Something becomes free then, or may begin. */
void timeline_add_moment(struct timeline *t, int64_t at);
/* There are all ends of jobs up to then, and all moments. */
void timeline_fill_until(struct timeline *t, int64_t at);
/* Moments up to this index are those of the timeline when it is filled, or there are no more. */
void timeline_fill_moments(struct timeline *t, size_t index);
/* From then to its limit, beside what is reserved; 'where' gets the choice, or nothing. */
bool timeline_fits_from(struct timeline *t, const struct job *j, const struct bitset *allowed,
                        int64_t from, struct selection *where);
/* At that moment, as far as running jobs go. */
bool timeline_is_foreseen(struct timeline *t, const struct job *j, const struct bitset *allowed,
                          int64_t at, struct selection *where);
