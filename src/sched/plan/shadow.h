/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A calendar with one planned start: its latest time, and the resources that are free then and
 * beside it. It gives the same answers as the timeline (timeline.h) at a fraction of the cost if
 * only this job and running jobs matter; otherwise it reports that it cannot answer.
 */
#pragma once

#include "cluster/node/spare.h"
#include "sched/plan.h"
#include "sched/plan/calendar.h"

struct resv_plan;

struct shadow {
    struct calendar calendar;
    const struct cluster *cluster;
    struct resv_plan *resv;
    const struct license_claims *claims; /* claims of all planned starts; NULL: none */
    int64_t at_sec;                      /* start of the job; INT64_MAX: unforeseeable */
    struct free_view then;               /* free at that time, beside the job */
    struct free_view least;              /* minimum of now and then, if it was needed */
    struct spare spare; /* during the search: what becomes free; afterwards: summary of 'least' */
};

/* Begins a shadow without a planned start. 'resv' must outlive it. */
void shadow_begin(struct shadow *s, const struct cluster *c, struct resv_plan *resv,
                  int64_t now_sec);
/* Finds the first time at or after 'not_before' at which the running jobs leave enough for the job:
 * the job cannot start earlier. False: no answer is possible. */
bool shadow_foresee(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                    int64_t now_sec, int64_t not_before, int64_t *at_sec);
/* Whether the shadow can answer questions about the job. */
bool shadow_serves(const struct cluster *c, const struct job *j);

/* Chooses nodes for a job with a later start: as few as possible of the nodes that pending jobs
 * could use now. 'where' is a selection for the job among 'allowed' in this view. Replaces it by a
 * selection that leaves more of the presently free resources to jobs that could begin now, if there
 * is one. */
void shadow_choose_nodes(const struct cluster *c, const struct job *j, const struct bitset *allowed,
                         const struct free_view *view, struct selection *where);
