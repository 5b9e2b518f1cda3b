/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Priorities of jobs as columns. */
#pragma once

#include "proto/prio.pb-c.h"
#include "show/listing.h"

struct prio_columns_view {
    const Pb__PrioJob *job; /* NULL: the line of weights */
    const Pb__PrioWeights *weights;
    const char *cluster;
};

extern const struct listing_table prio_columns;

/* The format with every factor that has a weight ('all': and the other factors). */
void prio_columns_format(const Pb__PrioWeights *w, bool normalised, bool all, bool users,
                         struct str *out);
