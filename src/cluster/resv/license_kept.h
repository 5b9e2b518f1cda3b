/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Licences beside reservations: what these keep from a job, and what a job can have. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "cluster/job/license.h"

struct cluster;
struct job;
struct resv;

/* What reservations keep of a licence from a job in 'in' (NULL: outside of all) that would have it
 * for that time. */
uint64_t license_kept(const struct cluster *c, int32_t at, const struct resv *in, int64_t from,
                      int64_t until);
/* A job takes 'count' of a pool: the part that its reservation does not provide. */
uint64_t license_beyond(int32_t at, uint64_t count, const struct resv *in);
/* Whether the job's counts of licences are free now, if it begins in the reservation (NULL: in
 * none). Tied pools are left out. */
bool license_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                  int64_t now_sec);
/* What a job that runs had of licences before it was given others. */
struct license_swap {
    struct license_needs needs;
    VEC(int32_t) pools; /* that it held */
    bool is_exchanged;
};
/* The job holds what the text (NULL: nothing) names, with the first alternative that is free,
 * instead of what it has. -ERR_LICENSE: that is not free beside other jobs and reservations, and
 * nothing is changed. */
int license_swap(struct cluster *c, struct job *j, const char *text, int64_t now_sec,
                 struct license_swap *before, struct err *err);
void license_swap_settle(struct cluster *c, struct job *j, struct license_swap *before, bool stays);
