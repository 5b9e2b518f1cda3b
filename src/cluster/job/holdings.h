/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The controller's resources that the jobs of each user occupy: places in MaxJobCount, memory for
 * their records, and space in the store. A job is counted with its sizes at the last call of
 * holdings_count(): at its submission or restore, and when its record is written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cluster;
struct job;

struct holding {
    uint64_t jobs;   /* elements of arrays count individually */
    uint64_t record; /* bytes of packed records, in memory and in the store */
    uint64_t store;  /* bytes in the store: records, and the scripts and environments of jobs */
};

struct holdings {
    struct holding all;
    struct holding_user *users; /* users with jobs; a hash table by uid */
};

void holdings_done(struct holdings *h);

/* Counts a new job, or a job that has become larger or smaller. Its uid never changes. */
void holdings_count(struct cluster *c, struct job *j);
/* Removes a job from the counts. */
void holdings_drop(struct cluster *c, struct job *j);

struct holding holdings_of(const struct cluster *c, uint32_t uid);

/* Finds the user with the most jobs, or with the most bytes in the store. False: there are no
 * jobs. */
bool holdings_find_most_jobs(const struct cluster *c, uint32_t *uid, struct holding *of);
bool holdings_find_most_bytes(const struct cluster *c, uint32_t *uid, struct holding *of);

/* Whether the sums agree with the jobs; -ERR_INTERNAL. For tests. */
int holdings_check(const struct cluster *c, struct err *err);
