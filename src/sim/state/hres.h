/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Layers of hierarchical resources, and counts that operators have set. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct sim;
struct sim_item;
struct sim_record;

struct sim_layer { /* of a hierarchical resource; all of them have names of one letter */
    char name;
    unsigned first, last; /* numbers of its nodes */
};

struct sim_count { /* of a layer, set by an operator */
    struct sim_layer layer;
    uint64_t count, file_count; /* UINT64_MAX: unlimited */
};

/* Of a name, and of "n[1-4]" or "n3"; false: it is none. */
bool sim_layer_read(const char *name, const char *nodes, struct sim_layer *layer);
bool sim_layer_same(const struct sim_layer *a, const struct sim_layer *b);
bool sim_layer_count(const struct sim_record *r, struct sim_count *count); /* of such a record */

/* rule/license.c: by the version of the file that is in force; false: it has no such layer. */
bool sim_layer_file_count(const struct sim *s, const struct sim_layer *layer, uint64_t *count);
