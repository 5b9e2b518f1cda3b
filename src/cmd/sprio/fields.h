/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of sprio. */
#pragma once

#include "proto/prio.pb-c.h"
#include "show/listing.h"

struct fields_view {
    const Pb__PrioJob *job; /* NULL: the line of weights */
    const Pb__PrioWeights *weights;
    const char *cluster;
};

extern const struct listing_table fields_prio;

/* The format that shows each factor that has a weight ('all': and the others). */
void fields_format(const Pb__PrioWeights *w, bool normalised, bool all, bool users,
                   struct str *out);
