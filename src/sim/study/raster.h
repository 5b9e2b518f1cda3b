/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A schedule of many jobs as cells of a raster: of each stretch of time and nodes, how much of it
 * was in use, and by jobs of which size. */
#pragma once

#include "base/str.h"
#include "sim/study/figures.h"

struct raster_area { /* in the picture, and in time */
    int x, y, width, height;
    int64_t from_sec, to_sec;
};

/* SVG paths; a colour for each class of sizes. */
void raster_draw(const struct replay *r, const struct raster_area *area, const char *const *colours,
                 struct str *out);
