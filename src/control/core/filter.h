/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which jobs a request means: made once per answer, so that a long filter costs its length and not
 * its length for every job. */
#pragma once

#include "cluster/cluster.h"
#include "conf/conf.h"
#include "proto/prio.pb-c.h"

struct filter {
    const Pb__JobFilter *f;
    struct idmap ids, uids;
    struct idset *tasks;  /* for each f->array */
    struct bitset *nodes; /* NULL: any */
};

void filter_init(struct filter *filter, const struct cluster *c, const Pb__JobFilter *f);
void filter_done(struct filter *filter);
bool filter_matches(const struct filter *filter, const struct job *j); /* all but its state */

/* Whether the job, its array, its element of it, its job set or its component is meant.
 */
bool filter_names(const Pb__StepId *id, const struct job *j);

/* Whether the job is named by its own id, that of its leader, or as a component; a filter without
 * ids has all. */
bool filter_has_id(const Pb__PrioFilter *f, const struct job *j);

bool filter_has_part(char *const *names, size_t count, const struct job *j); /* any of its */
bool filter_has_word(char *const *list, size_t n, const char *word); /* an empty list has all */

/* The nodes an expression names, unknown ones left out; NULL without an expression. */
struct bitset *filter_nodes(const struct cluster *c, const char *expr);
bool filter_uses(const struct job *j, const struct bitset *nodes); /* NULL: yes */
/* The place of the first job of an id at or after the cursor. */
size_t filter_first_job(const struct cluster *c, uint64_t cursor);
