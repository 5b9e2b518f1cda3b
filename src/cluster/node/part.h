/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partitions: a row of the configuration, and what scontrol changed of it. */
#pragma once

#include "base/arena.h"
#include "base/bitset.h"
#include "base/err.h"
#include "base/str.h"
#include "cluster/index/order.h"
#include "conf/conf.h"
#include "proto/part.pb-c.h"

struct cluster;

struct part {
    const struct conf_part *row; /* as configured; of one that scontrol created: &own */
    struct conf_part own;
    char *own_name;        /* NULL: a line of slurm.conf defines it */
    struct conf_part conf; /* as it is now: the row, and over it what scontrol changed */
    struct bitset *nodes;
    struct order queue;   /* pending and eligible jobs, by priority */
    struct str changes;   /* packed PartRecord of the fields that scontrol changed; may be empty */
    struct arena strings; /* their texts */
    struct str newer;     /* of its record, what only a newer version knows: packed PartChange */
    uint32_t at;          /* its place in cluster.parts */
    uint32_t running;     /* its jobs that run or are suspended */
    uint32_t most_cpus;   /* of one of its nodes; 0: to be counted */
    uint32_t *used_cpus;  /* by node, of its jobs; NULL without MaxCPUsPerNode */
};

/* The CPUs of its largest node; 0: it has no nodes. Cached until the CPUs of a node or the list of
 * nodes change. */
uint32_t part_most_cpus(const struct cluster *c, struct part *p);
void part_pack(const struct cluster *c, const struct part *p, struct str *out); /* for listings */

/* What a row of slurm.conf says; the texts are borrowed from it, or in the arena. */
void part_describe(const struct conf_part *row, struct arena *arena, Pb__PartRecord *m);
