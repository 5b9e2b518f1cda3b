/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a replay came to, in figures: for people, side by side, and as JSON. */
#pragma once

#include <jansson.h>

#include "sim/study/replay.h"

#define FIGURES_CLASSES 8
#define FIGURES_BOUND_SEC 10 /* shorter jobs count as so long in the slowdown */

struct figures_set { /* of jobs that began */
    size_t jobs;
    double wait_mean_sec, wait_median_sec, wait_p95_sec, wait_max_sec;
    double slow_mean, slow_median, slow_p95, slow_max; /* bounded slowdown */
};

struct figures_why {
    const char *text; /* the replay's */
    size_t jobs;
    bool refused; /* at its submission; else it waited to the end */
};

struct figures {
    const struct replay *r;
    const char *conf; /* path of the configuration */
    struct figures_set all, classes[FIGURES_CLASSES];
    size_t killed, refused, waiting, restarted;
    double used, used_while; /* share of all CPUs that jobs had: to the last end, and to the last
                                submission */
    int64_t makespan_sec;
    VEC(struct figures_why) why; /* the most frequent first */
};

void figures_make(const struct replay *r, const char *conf, struct figures *f);
void figures_done(struct figures *f);

unsigned figures_class(uint32_t nodes);
const char *figures_class_name(unsigned class); /* "2-4" */

/* One table of one, or side by side of several. */
void figures_format(const struct figures *f, size_t count, struct str *out);
/* The caller decrefs. */
json_t *figures_json(const struct figures *f, size_t count);
/* How long planning took, really; never the same twice. */
void figures_format_timing(const struct figures *f, struct str *out);
