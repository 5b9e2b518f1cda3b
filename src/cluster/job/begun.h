/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs that run, in the order in which they began: the youngest are found without a look at the
 * others. Entries of attempts that are over go when they are many. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct cluster;
struct job;

struct begun_job {
    uint32_t id, restarts;
    uint32_t cpus; /* that it began with */
};
struct begun {
    VEC(struct begun_job) list;
    bool mixed; /* they were restored in another order */
};

void begun_add(struct cluster *c, const struct job *j); /* it runs now */
void begun_sort(struct cluster *c);                     /* if they are mixed */
/* The job of an entry; NULL: that attempt is over. */
struct job *begun_job(const struct cluster *c, const struct begun_job *b);
