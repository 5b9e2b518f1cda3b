/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the jobs of each user take of the controller: places in MaxJobCount, memory for their
 * records, and space in the store. Each job is counted with what it had when holdings_count() was
 * last called for it: when it is submitted or restored, and when its record is written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cluster;
struct job;

struct holding {
    uint64_t jobs;   /* elements of arrays are counted one by one */
    uint64_t record; /* bytes of packed records, in memory and in the store */
    uint64_t store;  /* bytes in the store: records, and the scripts and environments of jobs */
};

struct holdings {
    struct holding all;
    struct holding_user *users; /* those with jobs; a hash table by uid */
};

void holdings_done(struct holdings *h);

/* The job has become larger or smaller, or is new. Its uid is final. */
void holdings_count(struct cluster *c, struct job *j);
/* The job is being removed. */
void holdings_drop(struct cluster *c, struct job *j);

struct holding holdings_of(const struct cluster *c, uint32_t uid);

/* The user with the most jobs, or with the most bytes in the store. False: nobody has jobs. */
bool holdings_find_most_jobs(const struct cluster *c, uint32_t *uid, struct holding *of);
bool holdings_find_most_bytes(const struct cluster *c, uint32_t *uid, struct holding *of);

/* Whether the sums agree with the jobs; -ERR_INTERNAL. For tests. */
int holdings_check(const struct cluster *c, struct err *err);
