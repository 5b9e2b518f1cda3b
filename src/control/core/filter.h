/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The jobs that a request selects. The filter is built once per answer, so that its length does not
 * multiply with the number of jobs. */
#pragma once

#include "cluster/cluster.h"
#include "conf/conf.h"
#include "proto/prio.pb-c.h"

struct filter {
    const Pb__JobFilter *f;
    struct idmap ids, uids;
    struct idset *tasks;  /* one for each f->array */
    struct bitset *nodes; /* NULL: any */
};

void filter_init(struct filter *filter, const struct cluster *c, const Pb__JobFilter *f);
void filter_done(struct filter *filter);
bool filter_matches(const struct filter *filter, const struct job *j); /* ignores the state */

/* Whether the id names the job, its array, its array element, its job set or its component. */
bool filter_names(const Pb__StepId *id, const struct job *j);

/* Whether the filter has the job's id, the id of its leader, or its component; a filter without ids
 * matches all jobs. */
bool filter_has_id(const Pb__PrioFilter *f, const struct job *j);

/* Any of its partitions. */
bool filter_has_part(char *const *names, size_t count, const struct job *j);
/* An empty list matches all words. */
bool filter_has_word(char *const *list, size_t n, const char *word);

/* Returns the nodes of an expression without unknown ones; NULL if there is no expression. */
struct bitset *filter_nodes(const struct cluster *c, const char *expr);
bool filter_uses(const struct job *j, const struct bitset *nodes); /* nodes NULL: true */
/* Returns the index of the first job with an id at or after the cursor. */
size_t filter_first_job(const struct cluster *c, uint64_t cursor);
