/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of hierarchical resources, and counts set by operators. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sim;
struct sim_item;
struct sim_record;

struct sim_layer { /* of a hierarchical resource; all resources have names of one letter */
    char name;
    unsigned first, last; /* numbers of the first and last node */
};

struct sim_count { /* count of a layer, set by an operator */
    struct sim_layer layer;
    uint64_t count, file_count; /* UINT64_MAX: unlimited */
};

/* Parses a name and "n[1-4]" or "n3"; false: not a layer. */
bool sim_layer_read(const char *name, const char *nodes, struct sim_layer *layer);
bool sim_layer_same(const struct sim_layer *a, const struct sim_layer *b);
/* Parses a count record. */
bool sim_layer_count(const struct sim_record *r, struct sim_count *count);

/* rule/license.c: the count in the active version of the file; false: the file has no such layer.
 */
bool sim_layer_file_count(const struct sim *s, const struct sim_layer *layer, uint64_t *count);
