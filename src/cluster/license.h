/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences of the cluster (Licenses= of slurm.conf): how many there are, and how many the jobs have
 * that run. A job has its own from its start to its end, not until its nodes are clean.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct cluster;
struct job;
struct resv;

struct license {
    char *name;
    uint64_t total, used; /* used may be more, after a reconfiguration */
};

struct licenses {
    VEC(struct license) list;
};

struct license_need {
    char *name;
    uint32_t count;
    int32_t at; /* in cluster.licenses; -1: not configured (any more), it waits */
};

struct license_needs {
    VEC32(struct license_need) list;
};

void license_init(struct cluster *c); /* from its configuration */
void license_done(struct licenses *l);

/* -L as given; *out is the caller's to free, and empty after a failure: -ERR_LICENSE. */
int license_read(const struct cluster *c, const char *text, struct license_needs *out,
                 struct err *err);
void license_needs_done(struct license_needs *n);
/* 'to' is overwritten. */
void license_needs_copy(const struct license_needs *from, struct license_needs *to);
/* Whether there are ever as many; -ERR_LICENSE. */
int license_needs_possible(const struct cluster *c, const struct license_needs *n, struct err *err);
int license_possible(const struct cluster *c, const struct job *j, struct err *err);

/* What reservations keep of a licence from a job in 'in' (NULL: outside of all) that would have it
 * for that time. */
uint64_t license_kept(const struct cluster *c, int32_t at, const struct resv *in, int64_t from,
                      int64_t until);
/* Of a need, what the reservation does not give. */
uint32_t license_beyond(const struct license_need *need, const struct resv *in);
/* Whether so many are free now, for a job that begins there. */
bool license_fits(const struct cluster *c, const struct job *j, const struct resv *in,
                  int64_t now_sec);
bool license_held(const struct job *j); /* it has begun, and not ended */
/* The job's are in use from now on, or not any more. */
void license_take(struct cluster *c, const struct job *j);
void license_give_back(struct cluster *c, const struct job *j);
int license_check(const struct cluster *c, struct err *err); /* the sums agree */
