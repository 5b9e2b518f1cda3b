/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The order of pending jobs: the computation of priorities. Pure: the weights of the configuration
 * are read once into a rule, which also has the sums over nodes that size factors are relative to,
 * so that a job's priority needs no loop over nodes. The formulas are in sprio(1).
 *
 * A rule must be recreated after changes of nodes, partitions or the configuration.
 */
#pragma once

#include "cluster/cluster.h"
#include "conf/conf_tres.h"

#define PRIO_TOP 4294901760u      /* priority of the first job under priority/basic */
#define PRIO_NICE_MOST 2147483645 /* absolute limit of nice values and site factors */

enum prio_tres_kind { PRIO_CPU, PRIO_MEM, PRIO_NODE, PRIO_GRES, PRIO_OTHER };

struct prio_tres {
    enum prio_tres_kind kind;
    struct conf_tres_weight of;
};

struct prio_part {
    const struct part *part;
    double cpus, mem_mib, nodes, factor;
    double gres[CONF_TRES_MAX]; /* by index of the weight */
};

struct prio_rule {
    bool multifactor;
    bool favor_small, relative_to_time, accrue_always, incr_only, no_normal_tres;
    int64_t max_age_sec, period_sec;
    double age, assoc, fairshare, size, part, qos; /* weights */
    struct prio_tres tres[CONF_TRES_MAX];
    size_t n_tres;
    double nodes, cpus;          /* totals of the cluster */
    VEC(struct prio_part) parts; /* sorted by address */
};

struct prio_factors {
    bool given; /* set by a person, not computed: the other factors are 0 */
    double age, assoc, fairshare, size, part, qos; /* from 0 to 1 */
    double tres[CONF_TRES_MAX];                    /* by index as in the rule */
    int32_t site, nice;
    double sum; /* the weighted sum */
    /* At least 1; under priority/basic, or if given, the job's present priority. */
    uint32_t priority;
};

void prio_rule_init(struct prio_rule *r, const struct cluster *c);
void prio_rule_done(struct prio_rule *r);

/* 'at_sec' is the common time at which the ages of all compared jobs are taken. */
void prio_find(const struct prio_rule *r, const struct job *j, int64_t at_sec,
               struct prio_factors *out);

/* Returns the seconds that count as the job's age: its waiting time while it was eligible. */
int64_t prio_age_sec(const struct job *j, int64_t at_sec);

/* Returns the priority for a new job under priority/basic: lower than the priorities of all earlier
 * jobs. */
uint32_t prio_by_id(const struct job *j);
int64_t prio_unbounded_by_id(const struct job *j);
