/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of pending jobs: what a job's priority is made of. Pure: the configuration's weights
 * are read once into a rule, which knows the sums over nodes that factors are shares of, so that a
 * job's priority costs no walk over nodes. Formulas: sprio(1).
 *
 * A rule is made again after nodes, partitions or the configuration changed.
 */
#pragma once

#include "cluster/cluster.h"
#include "conf/conf_tres.h"

#define PRIO_TOP 4294901760u      /* of the first job, under priority/basic */
#define PRIO_NICE_MOST 2147483645 /* and least: of nice values and site factors */

enum prio_tres_kind { PRIO_CPU, PRIO_MEM, PRIO_NODE, PRIO_GRES, PRIO_OTHER };

struct prio_tres {
    enum prio_tres_kind kind;
    struct conf_tres_weight of;
};

struct prio_part {
    const struct part *part;
    double cpus, mem_mib, nodes, factor;
    double gres[CONF_TRES_MAX]; /* by weight */
};

struct prio_rule {
    bool multifactor;
    bool favor_small, relative_to_time, accrue_always, incr_only, no_normal_tres;
    int64_t max_age_sec, period_sec;
    double age, assoc, fairshare, size, part, qos; /* weights */
    struct prio_tres tres[CONF_TRES_MAX];
    size_t n_tres;
    double nodes, cpus;          /* of the cluster */
    VEC(struct prio_part) parts; /* by address */
};

struct prio_factors {
    bool given; /* not made of factors: somebody has set it; the others are 0 */
    double age, assoc, fairshare, size, part, qos; /* from 0 to 1 */
    double tres[CONF_TRES_MAX];                    /* as in the rule */
    int32_t site, nice;
    double sum;        /* of what they weigh */
    uint32_t priority; /* 1 and above; of a job under priority/basic, and of one that is given, the
                          one it has */
};

void prio_rule_init(struct prio_rule *r, const struct cluster *c);
void prio_rule_done(struct prio_rule *r);

/* Ages are those of 'at_sec', which is common to all jobs that are compared. */
void prio_find(const struct prio_rule *r, const struct job *j, int64_t at_sec,
               struct prio_factors *out);

/* Seconds that count as its age: those it has waited when it could have started. */
int64_t prio_age_sec(const struct job *j, int64_t at_sec);

/* The priority of a job under priority/basic that has none yet: less than those before it. */
uint32_t prio_by_id(const struct job *j);
int64_t prio_unbounded_by_id(const struct job *j);
