/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurmsim TRACE: a trace on the clusters of one or several configurations, and what is told of it.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define STUDY_CONFS 8

struct study {
    const char *trace;                   /* NULL: no trace is meant */
    const char *confs[STUDY_CONFS];      /* the first: --conf, NULL: the commands' own */
    unsigned conf_count;                 /* with the first */
    const char *gantt, *html, *schedule; /* files to be written, or NULL */
    bool json, timing, think, verbose;
};

int study_run(const struct study *s); /* the exit status */
