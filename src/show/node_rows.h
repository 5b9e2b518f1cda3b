/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of sinfo: which nodes share one, and what they add up to.
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

/* Quantities that differ between the nodes of a line: the least and the most. */
enum node_range {
    RANGE_CPUS,
    RANGE_SOCKETS,
    RANGE_CORES,
    RANGE_THREADS,
    RANGE_MEMORY,
    RANGE_DISK,
    RANGE_WEIGHT,
    RANGE_LOAD, /* hundredths; -1: not known */
    RANGE_FREE, /* MiB; -1: not known */
    RANGE_COUNT
};

struct node_row {
    const Pb__PartRecord *part;
    size_t part_index;
    const Pb__NodeRecord *node; /* the first; NULL: none */
    int64_t nodes, nodes_alloc, nodes_idle;
    int64_t cpus, cpus_alloc, cpus_idle, mem_alloc;
    int64_t least[RANGE_COUNT], most[RANGE_COUNT];
    struct hostlist *names;                 /* NULL: the first is all there is */
    struct hostlist *hostnames, *addresses; /* NULL unless rows.hosts */
};

/* A node, or several that are alike in all that is shown. */
struct node_rows_unit {
    const Pb__NodeRecord *node; /* the first */
    struct hostlist *names;     /* NULL: it alone */
    int64_t count;
    VEC(struct node_row *) in; /* which lines have it */
};

extern const struct listing_table node_columns;

struct node_rows {
    VEC(struct node_row *) list;
    struct node_row_index *by_key;
    bool exact;
    bool by_node;                  /* each node and partition has a line: units of one node */
    bool hosts;                    /* host names are shown or sorted by: units of one node */
    const struct listing *listing; /* whose columns decide */
};
/* Adds to the line whose columns show the same, or a new one. In a line that several partitions
 * share a node counts once. The unit stays where it is until node_rows_done(). */
void node_rows_add(struct node_rows *r, const Pb__PartRecord *part, size_t part_index,
                   struct node_rows_unit *u);
/* A line for a partition without nodes. */
void node_rows_add_empty(struct node_rows *r, const Pb__PartRecord *part, size_t part_index);
void node_rows_done(struct node_rows *r);

/* Whether a column names the partition: a partition without nodes has a line then, as in Slurm. */
bool node_rows_show_partition(const struct listing *l);
/* Whether columns or keys are each node's own, so that units of several nodes would not do. */
bool node_rows_show_hosts(const struct listing *l);
/* The fields of NodeRecord that columns and keys are made of. */
struct pb_fields node_rows_needs(const struct listing *l);
/* A line as JSON, which the caller owns: what its nodes add up to, and its partition. */
json_t *node_rows_json(const struct node_row *row, const char *cluster);
