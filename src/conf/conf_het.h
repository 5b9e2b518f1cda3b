/* SPDX-License-Identifier: GPL-3.0-or-later */
/* HetLimits: the limits of heterogeneous jobs that a site keeps. conf_het.def has a row for each.
 */
#pragma once

#include <stdbool.h>

enum conf_het_limit {
#define HET_LIMIT(name, text) CONF_HET_##name,
#include "conf/conf_het.def"
#undef HET_LIMIT
    CONF_HET_LIMITS
};

struct conf;
struct conf_loader;
struct err;

/* Inside the room: reads the value of the key. */
int conf_het_check(struct conf_loader *l, struct err *err);

/* Whether HetLimits names the limit, or is "documented", which means all of them. */
bool conf_het_keeps(const struct conf *c, enum conf_het_limit limit);
/* What exceeds the limit is refused where HetLimits keeps it: 'code' and "WORDING: the limit's text
 * (HetLimits=NAME)"; otherwise 0. */
int conf_het_refuse(const struct conf *c, enum conf_het_limit limit, int code, const char *wording,
                    struct err *err);
