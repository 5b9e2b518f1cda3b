/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences in a pass over the queue. A job that has a place on the timeline has a claim on the
 * licences that it is to have there, and without a place the first one that waits for a licence has
 * one on that: others get it only where they are over before, or where enough is left. So a job
 * that needs many is not passed by for ever. Claims are made anew in each pass.
 *
 * What a job takes of tied pools (cluster/job/license.h) depends on its nodes: license_view_init()
 * adds to a view what it may take of each, select_nodes() keeps to that, and a place has a claim on
 * each one that its nodes are in. The other questions are about licences of the cluster alone,
 * unless they name a selection of nodes.
 */
#pragma once

#include "cluster/cluster.h"

struct selection;

struct license_claim {
    int32_t at;          /* the pool, in cluster.licenses */
    uint32_t by;         /* id of the job */
    int64_t from, until; /* wall seconds */
    uint64_t count;
    uint64_t spare; /* left to others when it begins */
};

struct license_claims {
    VEC(struct license_claim) list;
    uint64_t version; /* changes with each claim, and is equal where claims are; 0: no claims */
};

/* Whether the job may have what it needs from now to its limit, in this reservation or (NULL)
 * outside of all. */
bool license_may_start(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       const struct resv *in, int64_t now_sec);
/* The same, in one of those it may run in, or outside. */
bool license_may_start_somewhere(const struct license_claims *l, const struct cluster *c,
                                 const struct job *j, int64_t now_sec);
/* As license_may_start(), after preempted jobs have returned their licences: returned[i] of pool i
 * (NULL: none). */
bool license_may_start_after(const struct license_claims *l, const struct cluster *c,
                             const struct job *j, const struct resv *in, int64_t now_sec,
                             const uint64_t *returned);
/* Adds to returned[i] what the victim holds of pool i, for the pools that the job needs and that
 * have too few free, and for tied ones. NULL: only asks. Returns whether there is anything to add.
 */
bool license_add_returned(const struct cluster *c, const struct job *j, const struct job *victim,
                          int64_t now_sec, uint64_t *returned);
/* It has begun; 'l' only: the cluster counts when its state changes. */
void license_begin(struct license_claims *l, const struct cluster *c, const struct job *j,
                   const struct resv *in, const struct selection *where, int64_t now_sec);
/* The view, and what the job may take of the tied pools that it needs when it begins at that time:
 * as free as they are in the present view, or with what jobs whose limits are over by then have
 * given back. 'l' NULL: as far as running jobs go, without claims and reservations. */
struct license_view {
    struct free_view view;
    uint64_t *room;
};
const struct free_view *license_view_init(struct license_view *v, const struct license_claims *l,
                                          const struct cluster *c, const struct job *j,
                                          const struct resv *in, int64_t at,
                                          const struct free_view *view);
void license_view_done(struct license_view *v);
/* Removes nodes from 'set' until the tied pools of the view have what the job takes on all of those
 * that are left. Where some must go for their number, those of the largest weight (by node; NULL:
 * alike) stay. *anchored (the caller's to free): nodes that the job must have, with those that it
 * requires, so that it has a pool with room where one pays; NULL: no others than it requires.
 * False: no pool with room has any of the nodes. */
bool license_narrow(const struct cluster *c, const struct job *j, const struct free_view *view,
                    const uint32_t *weight, struct bitset *set, struct bitset **anchored);
/* How many nodes the job has at most when it has no more of them than it has use for. */
uint32_t license_count_useful_nodes(const struct job *j);
/* By pool, what the job may take of each when no job runs; NULL: it needs no tied ones. The caller
 * frees. */
uint64_t *license_list_totals(const struct cluster *c, const struct job *j);
/* Whether each resource by itself has enough for so many nodes of the set, required ones among
 * them. */
bool license_may_have_nodes(const struct cluster *c, const struct job *j,
                            const struct free_view *view, const struct bitset *set, uint32_t nodes);
/* Notes which pools pay where one does: the lowest one that has room. */
void license_choose_payers(const struct cluster *c, const struct job *j,
                           const struct free_view *view, struct selection *where);
/* license_short.c: of the licences that the job requests, see common_ops.find_short. */
struct common_short;
bool license_find_short(const struct cluster *c, const struct job *j, int64_t now_sec,
                        struct common_short *out);
/* "license:x", and of a tied pool (NULL: none) with its nodes "license:x(n[1-8])". The caller
 * frees. */
char *license_name_pool(const struct cluster *c, const struct license_need *need,
                        const struct license *l);
/* Whether it is the first that waits for one of its licences. */
bool license_is_first(const struct license_claims *l, const struct cluster *c, const struct job *j);
/* It waits, until 'not_before' (0: nothing said) for other reasons, and claims those of which it is
 * the first. When it is to have all; 0: it claims none, or it is not foreseeable, as with tied
 * pools. Adds what was looked at to *work. */
int64_t license_claim(struct license_claims *l, const struct cluster *c, const struct job *j,
                      int64_t now_sec, int64_t not_before, uint64_t *work);
/* It has a place there from then on, with all its licences. */
void license_keep(struct license_claims *l, const struct cluster *c, const struct job *j,
                  const struct selection *where, int64_t from, uint64_t *work);
/* Removes the claims of the job. What other jobs may take beside claims is not counted again: it
 * can be too little until the next pass. */
void license_drop_claims(struct license_claims *l, const struct job *j);
/* When running jobs will have given back as many, by their limits, and neither reservations keep
 * them nor (NULL: nobody has any) others have a claim; 0: not foreseeable. */
int64_t license_earliest(const struct license_claims *l, const struct cluster *c,
                         const struct job *j, int64_t now_sec, uint64_t *work);
/* Whether that is all that its licences can say about when it may begin: from then on it may. */
bool license_is_alone(const struct license_claims *l, const struct cluster *c, const struct job *j);
/* Whether it could begin at that moment. */
bool license_is_due(const struct license_claims *l, const struct cluster *c, const struct job *j,
                    int64_t at, uint64_t *work);
