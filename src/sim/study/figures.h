/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of a replay as figures: as text, side by side, and as JSON. */
#pragma once

#include <jansson.h>

#include "sim/study/replay.h"

#define FIGURES_CLASSES 8
#define FIGURES_BOUND_SEC 10 /* minimum run time in the bounded slowdown */

struct figures_set { /* of the jobs that started */
    size_t jobs;
    double wait_mean_sec, wait_median_sec, wait_p95_sec, wait_max_sec;
    double slow_mean, slow_median, slow_p95, slow_max; /* bounded slowdown */
};

struct figures_why {
    const char *text; /* borrowed from the replay */
    size_t jobs;
    bool refused; /* rejected at submission; otherwise the job waited to the end */
};

struct figures {
    const struct replay *r;
    const char *conf; /* path of the configuration */
    struct figures_set all, classes[FIGURES_CLASSES];
    size_t killed, refused, waiting, restarted;
    /* Allocated share of all CPUs: until the last end, and until the last submission. */
    double used, used_while;
    int64_t makespan_sec;
    VEC(struct figures_why) why; /* most frequent first */
};

void figures_make(const struct replay *r, const char *conf, struct figures *f);
void figures_done(struct figures *f);

unsigned figures_class(uint32_t nodes);
const char *figures_class_name(unsigned class); /* "2-4" */

/* A table of one replay, or of several side by side. */
void figures_format(const struct figures *f, size_t count, struct str *out);
/* Returns a new reference. */
json_t *figures_json(const struct figures *f, size_t count);
/* Measured planning times, which differ from run to run. */
void figures_format_timing(const struct figures *f, struct str *out);
