/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A picture of a schedule: which nodes had which jobs when, how much of the cluster was in use, and
 * how many jobs waited. One SVG without scripts; the same schedule gives the same bytes. Where
 * there are few pieces every job is drawn, and has a title; where there are many, what of each
 * stretch of time and nodes was in use, in the colour of those that had most of it.
 */
#pragma once

#include "sim/study/figures.h"

/* The replay must have noted places. */
void picture_svg(const struct figures *f, struct str *out);
/* A page with the figures and the pictures of all. */
void picture_html(const struct figures *f, size_t count, struct str *out);
