/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Running jobs in the order of their start, so that the youngest jobs are found without a search.
 * Entries of finished attempts are removed when there are many. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct cluster;
struct job;

struct begun_job {
    uint32_t id, restarts;
    uint32_t cpus; /* CPUs at its start */
};
struct begun {
    VEC(struct begun_job) list;
    bool mixed; /* the entries are not sorted, after a restore */
};

void begun_add(struct cluster *c, const struct job *j); /* the job has started */
void begun_sort(struct cluster *c);                     /* sorts mixed entries */
/* Returns the job of an entry; NULL: that attempt has ended. */
struct job *begun_job(const struct cluster *c, const struct begun_job *b);
