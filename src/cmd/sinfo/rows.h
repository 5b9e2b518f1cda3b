/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Lines of sinfo: which nodes share one, and what they add up to.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bitset.h"
#include "base/hostlist.h"
#include "base/vec.h"
#include "cmd/common/listing.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"

/* Quantities that differ between the nodes of a line: the least and the most. */
enum range {
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

struct row {
    const Pb__PartRecord *part;
    size_t part_index;
    const Pb__NodeRecord *node; /* the first; NULL: none */
    int64_t nodes, nodes_alloc, nodes_idle;
    int64_t cpus, cpus_alloc, cpus_idle, mem_alloc;
    int64_t least[RANGE_COUNT], most[RANGE_COUNT];
    struct hostlist *names, *hostnames, *addresses;
    struct bitset *has; /* which nodes, by their index */
};

extern const struct listing_table rows_table;

struct rows {
    VEC(struct row *) list;
    struct row_index *by_key;
    bool exact, by_node;
    const struct listing *listing; /* whose columns decide */
    size_t node_count;             /* of all there are: indexes are below it */
};
/* Adds a node to the line whose columns show the same, or a new one. In a line that several
 * partitions share a node counts once; by_node, each node and partition has a line. */
void rows_add_node(struct rows *r, const Pb__PartRecord *part, size_t part_index,
                   const Pb__NodeRecord *node, size_t node_index);
/* A line for a partition without nodes. */
void rows_add_empty(struct rows *r, const Pb__PartRecord *part, size_t part_index);
/* Whether a column is about partitions. */
bool rows_show_partition(const struct rows *r);
void rows_done(struct rows *r);
