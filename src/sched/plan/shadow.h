/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline of one job that waits: when it can begin at the latest, and what is left then and
 * beside it. It says what the timeline would (timeline.h), at a fraction of the cost, where nothing
 * but that job and what runs is to be reckoned with; where it cannot, it says so.
 */
#pragma once

#include "cluster/node/spare.h"
#include "sched/plan/calendar.h"

struct resv_plan;

struct shadow {
    struct calendar calendar;
    const struct cluster *cluster;
    struct resv_plan *resv;
    const struct license_claims *claims; /* of all planned starts; NULL: there are none */
    int64_t at_sec;                      /* when the job begins; INT64_MAX: cannot be foreseen */
    struct free_view then;               /* what is free then, beside it */
    struct free_view least;              /* of now and then, where it was asked for */
    struct spare spare; /* what will be free, while it is looked for; after that, of the least */
};

/* One with nothing planned on it. 'resv' must outlive it. */
void shadow_begin(struct shadow *s, const struct cluster *c, struct resv_plan *resv,
                  int64_t now_sec);
/* The first moment at or after 'not_before' at which the job fits as far as running jobs go: no
 * start of it is before. False: it cannot say. */
bool shadow_foresee(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                    int64_t now_sec, int64_t not_before, int64_t *at_sec);
/* Whether it serves the job. */
bool shadow_serves(const struct cluster *c, const struct job *j);
