/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences in a pass over the queue. The first job that waits for one, or that has a place on the
 * timeline and needs one, has a claim on it: others get it only where they are over before, or
 * where enough is left. So a job that needs many is not passed by for ever. Claims are made anew in
 * each pass, one for each licence.
 */
#pragma once

#include "cluster/cluster.h"

struct license_claim {
    int32_t at;     /* the licence, in cluster.licenses */
    uint32_t by;    /* id of the job */
    int64_t from;   /* wall seconds */
    uint64_t spare; /* left to others beyond that time */
};

struct license_claims {
    VEC(struct license_claim) list;
};

/* Whether the job may have what it needs from now to its limit, in this reservation or (NULL)
 * outside of all. */
bool license_may_start(const struct license_claims *l, const struct cluster *c, const struct job *j,
                       const struct resv *in, int64_t now_sec);
/* The same, in one of those it may run in, or outside. */
bool license_may_start_somewhere(const struct license_claims *l, const struct cluster *c,
                                 const struct job *j, int64_t now_sec);
/* It has begun; 'l' only: the cluster counts when its state changes. */
void license_begin(struct license_claims *l, const struct job *j, const struct resv *in,
                   int64_t now_sec);
/* It waits, until 'not_before' (0: nothing said) for other reasons. When it is to have them; 0: not
 * foreseeable. Adds what was looked at to *work. */
int64_t license_claim(struct license_claims *l, const struct cluster *c, const struct job *j,
                      int64_t now_sec, int64_t not_before, uint64_t *work);
/* When running jobs will have given back as many, by their limits, and no reservation keeps them;
 * 0: not foreseeable. */
int64_t license_earliest(const struct cluster *c, const struct job *j, int64_t now_sec,
                         uint64_t *work);
