/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Licenses and their counts, "matlab:4,ansys", in slurm.conf and in requests; "power:full_node"
 * and "flat(n[1-4]):2" of hierarchical resources. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define CONF_LICENSE_COUNT_MAX 1000000000u

struct conf;

struct conf_license {
    char *name;
    uint32_t count;
    /* A variable name instead of the count, for a hierarchical resource; NULL: none. */
    char *variable;
    char *nodes; /* "flat(n[1-4]):2": for a pool tied to nodes; NULL: none */
};

struct conf_licenses {
    VEC(struct conf_license) list; /* each name once: counts of repeated names are added */
    bool any; /* a request "a|b": one of them is sufficient; the first is preferred */
};

/* text may be empty or NULL: none. -ERR_LICENSE names the invalid part, and *out stays empty. */
int conf_licenses_parse(const char *text, struct conf_licenses *out, struct err *err);
/* The same with variables and nodes, without merging repeated names; also "a|b". */
int conf_license_items_parse(const char *text, struct conf_licenses *out, struct err *err);
/* Whether Licenses or a hierarchical resource has the name. */
bool conf_license_is_known(const struct conf *c, const char *name);
/* Whether an item has nodes, like "flat(n[1-4]):2" */
bool conf_license_names_nodes(const char *text);
void conf_licenses_done(struct conf_licenses *l);
