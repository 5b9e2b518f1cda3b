/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Partitions: a row of the configuration, and the changes that scontrol made to it. */
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
    const struct conf_part *row; /* as configured; &own if scontrol created the partition */
    struct conf_part own;
    char *own_name;        /* NULL: a line of slurm.conf defines it */
    struct conf_part conf; /* the effective configuration: the row with the changes of scontrol */
    struct bitset *nodes;
    bool has_all_nodes;   /* of the cluster */
    struct order queue;   /* pending and eligible jobs, by priority */
    struct str changes;   /* packed PartRecord of the fields that scontrol changed; may be empty */
    struct arena strings; /* the texts of 'conf' that scontrol changed */
    struct str newer;     /* stored fields that only a newer version knows: packed PartChange */
    uint32_t at;          /* its index in cluster.parts */
    uint32_t running;     /* number of its jobs that run or are suspended */
    uint32_t most_cpus;   /* CPUs of its largest node; 0: not computed yet */
    uint32_t *used_cpus;  /* by node, CPUs that its jobs use; NULL without MaxCPUsPerNode */
};

/* Returns the CPUs of its largest node; 0: the partition has no nodes. The number is cached until
 * the CPUs of a node or the list of nodes change. */
uint32_t part_most_cpus(const struct cluster *c, struct part *p);
/* AllowAccounts, or without it DenyAccounts. account NULL: the job names none. */
bool part_takes_account(const struct conf_part *p, const char *account);
void part_pack(const struct cluster *c, const struct part *p, struct str *out); /* for listings */

/* Describes a row of slurm.conf. The texts are borrowed from the row, or are in the arena. */
void part_describe(const struct conf_part *row, struct arena *arena, Pb__PartRecord *m);
