/* SPDX-License-Identifier: GPL-3.0-or-later */
/* slurmsim TRACE: replays a trace on the clusters of one or several configurations and reports the
 * results. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#define STUDY_CONFS 8

struct study {
    const char *trace; /* NULL: no trace was given */
    /* The first one is --conf; NULL: the default path of the commands. */
    const char *confs[STUDY_CONFS];
    unsigned conf_count;                 /* includes the first one */
    const char *gantt, *html, *schedule; /* output files, or NULL */
    bool json, timing, think, verbose;
};

int study_run(const struct study *s); /* returns the exit status */
