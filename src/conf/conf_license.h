/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "matlab:4,ansys": licences and how many, in slurm.conf and in requests; "power:full_node" and
 * "flat(n[1-4]):2" of hierarchical resources. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

#define CONF_LICENSE_COUNT_MAX 1000000000u

struct conf_license {
    char *name;
    uint32_t count;
    char *variable; /* a name in place of the count, of a hierarchical resource; NULL: none */
    char *nodes;    /* "flat(n[1-4]):2": of a pool that is tied to nodes; NULL: none */
};

struct conf_licenses {
    VEC(struct conf_license) list; /* each name once: what is said of it again is added */
    bool any; /* of a request, "a|b": one of them is enough; the first is preferred */
};

/* An empty text, or NULL: none. -ERR_LICENSE names what is wrong, and *out stays empty. */
int conf_licenses_parse(const char *text, struct conf_licenses *out, struct err *err);
/* The same with variables and nodes, each item by itself; and "a|b". */
int conf_license_items_parse(const char *text, struct conf_licenses *out, struct err *err);
bool conf_license_names_nodes(const char *text); /* "flat(n[1-4]):2" is among the items */
void conf_licenses_done(struct conf_licenses *l);
