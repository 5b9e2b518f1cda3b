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
    VEC(struct license_need) list;
};

void license_init(struct cluster *c); /* from its configuration */
void license_done(struct licenses *l);

/* -L as given; *out is the caller's to free, and empty after a failure: -ERR_LICENSE. */
int license_read(const struct cluster *c, const char *text, struct license_needs *out,
                 struct err *err);
void license_needs_done(struct license_needs *n);
/* Whether there are ever as many; -ERR_LICENSE. */
int license_possible(const struct cluster *c, const struct job *j, struct err *err);

/* Whether so many are free now. */
bool license_fits(const struct cluster *c, const struct job *j);
/* The job's are in use from now on, or not any more. */
void license_take(struct cluster *c, const struct job *j);
void license_give_back(struct cluster *c, const struct job *j);
int license_check(const struct cluster *c, struct err *err); /* the sums agree */
