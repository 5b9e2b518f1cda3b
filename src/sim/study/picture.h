/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A picture of a schedule: which nodes ran which jobs and when, the used part of the cluster, and
 * the number of waiting jobs. The output is one SVG without scripts; the same schedule gives the
 * same bytes. A small schedule shows every job, with a title. A large one is a raster: each cell
 * shows how much was in use, in the colour of the job sizes that used most of it.
 */
#pragma once

#include "sim/study/figures.h"

/* Requires a replay with option 'places'. */
void picture_svg(const struct figures *f, struct str *out);
/* A page with the figures and pictures of all replays. */
void picture_html(const struct figures *f, size_t count, struct str *out);
