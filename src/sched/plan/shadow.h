/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timeline of one job that waits: when it can begin at the latest, and what is left then and
 * beside it. It says what the timeline would (timeline.h), at a fraction of the cost, where nothing
 * but that job and what runs is to be reckoned with; where it can not, it says so.
 */
#pragma once

#include "cluster/node/spare.h"
#include "sched/plan.h"

struct resv_plan;

struct shadow {
    const struct cluster *cluster;
    struct resv_plan *resv;
    int64_t at_sec;         /* when the job begins; INT64_MAX: can not be foreseen */
    struct free_view then;  /* what is free then, beside it */
    struct free_view least; /* of now and then, where it was asked for */
    struct spare spare; /* what will be free, while it is looked for; after that, of the least */
};

/* Whether one may be made for it at all. */
bool shadow_serves(const struct cluster *c, const struct job *j);
/* False: use the timeline; so where reservations make it begin later. 'allowed': nodes that it may
 * have where it is planned for, whenever. 'resv' must outlive it. 'not_before': its
 * licences are due then. */
bool shadow_make(struct shadow *s, const struct cluster *c, struct resv_plan *resv,
                 const struct job *j, const struct bitset *allowed, int64_t now_sec,
                 int64_t not_before);
void shadow_done(struct shadow *s);

/* Without a look at the nodes: false, it can not begin at once. */
bool shadow_might_fit(const struct shadow *s, const struct job *j, int64_t now_sec);
/* Whether the job can begin at once and run to its limit without touching what the other one needs,
 * in this reservation or (NULL) outside of all. 'allowed': without what is reserved by then.
 * 'where': where it would begin were there no other; it becomes where it can. */
bool shadow_fits_now(struct shadow *s, const struct job *j, const struct resv *in,
                     const struct bitset *allowed, int64_t now_sec, struct selection *where);
/* The job has begun there now. */
void shadow_start(struct shadow *s, const struct job *j, const struct selection *where,
                  int64_t now_sec);
