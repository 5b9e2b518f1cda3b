/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the books do with each kind of resource: the rows of resource_kind.def, in their order. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct cluster;
struct job;

enum resource_scope { RESOURCE_NODE, RESOURCE_SUBTREE, RESOURCE_CLUSTER };

struct resource_kind {
    const char *name;
    enum resource_scope scope;
    int (*possible)(const struct cluster *c, const struct job *j, struct err *err);
    void (*take)(struct cluster *c, struct job *j);
    void (*give_back)(struct cluster *c, struct job *j);
    void (*follow_node)(struct cluster *c, struct job *j, uint32_t node, int by);
    int (*check)(const struct cluster *c, struct err *err);
};

const struct resource_kind *resource_kinds(size_t *count);

/* Whether the cluster ever has what the job requests beside its nodes; 0 or the first row's code.
 */
int resource_possible(const struct cluster *c, const struct job *j, struct err *err);
/* The job begins, or ends: in its reservation, too. */
void resource_take(struct cluster *c, struct job *j);
void resource_give_back(struct cluster *c, struct job *j);
/* The job has got the node (by: 1), or lost it (-1). */
void resource_follow_node(struct cluster *c, struct job *j, uint32_t node, int by);
int resource_check(const struct cluster *c, struct err *err); /* 0 or -ERR_INTERNAL */
