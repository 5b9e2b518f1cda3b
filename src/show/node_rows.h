/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of sinfo: which nodes share a line, and the totals of the line.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "base/vec.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "show/listing.h"

/* Values that differ between the nodes of a line: minimum and maximum. */
enum node_range {
    RANGE_CPUS,
    RANGE_SOCKETS,
    RANGE_CORES,
    RANGE_THREADS,
    RANGE_MEMORY,
    RANGE_DISK,
    RANGE_WEIGHT,
    RANGE_LOAD, /* hundredths; -1: unknown */
    RANGE_FREE, /* MiB; -1: unknown */
    RANGE_COUNT
};

struct node_row {
    const Pb__PartRecord *part;
    size_t part_index;
    const Pb__NodeRecord *node; /* the first node; NULL: none */
    int64_t nodes, nodes_alloc, nodes_idle;
    int64_t cpus, cpus_alloc, cpus_idle, mem_alloc;
    int64_t least[RANGE_COUNT], most[RANGE_COUNT];
    struct hostlist *names;                 /* NULL: only the first node */
    struct hostlist *hostnames, *addresses; /* NULL unless rows.hosts */
};

/* A node, or several nodes with equal displayed fields. */
struct node_rows_unit {
    const Pb__NodeRecord *node; /* the first node */
    struct hostlist *names;     /* NULL: only that node */
    int64_t count;
    VEC(struct node_row *) in; /* the lines that include it */
};

extern const struct listing_table node_columns;

struct node_rows {
    VEC(struct node_row *) list;
    struct node_row_index *by_key;
    bool exact;
    bool by_node; /* each pair of node and partition has a line: units of one node */
    bool hosts;   /* host names are displayed or sort keys: units of one node */
    const struct listing *listing; /* its columns determine the lines */
};
/* Adds the unit to the line whose columns have the same values, or to a new one. In a line that
 * several partitions share, a node counts once. The unit must stay in place until node_rows_done().
 */
void node_rows_add(struct node_rows *r, const Pb__PartRecord *part, size_t part_index,
                   struct node_rows_unit *u);
/* A line for a partition without nodes. */
void node_rows_add_empty(struct node_rows *r, const Pb__PartRecord *part, size_t part_index);
void node_rows_done(struct node_rows *r);

/* Whether a column has the partition's name: then a partition without nodes has a line, as in
 * Slurm. */
bool node_rows_show_partition(const struct listing *l);
/* Whether columns or keys depend on the individual node, so that units must have one node. */
bool node_rows_show_hosts(const struct listing *l);
/* The fields of NodeRecord that columns and keys need. */
struct pb_fields node_rows_needs(const struct listing *l);
/* A line as JSON, which the caller owns: the totals of its nodes, and its partition. */
json_t *node_rows_json(const struct node_row *row, const char *cluster);
