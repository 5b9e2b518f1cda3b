/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * File name patterns of the standard streams of jobs and steps: %j and its kin, with a width for
 * numbers ("%5j"). Pure: text in, text out. A backslash anywhere switches all replacement off and
 * is itself dropped, as in Slurm.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define PATTERN_WIDTH_MAX 10 /* digits; larger widths count as this */

#define PATTERN_NO_ARRAY 4294967294u /* what Slurm prints for %a outside a job array */

struct pattern_values {
    uint32_t job_id, step_id;
    uint32_t node_index;           /* %n: of this node in the step */
    uint32_t task_id;              /* %t */
    uint32_t array_id, array_task; /* %A, the job's own outside an array, and %a */
    bool has_restarts;             /* else %r stays as it is */
    uint32_t restarts;             /* %r: how often the job was started again */
    bool is_open;                  /* several elements of an array: %a and %b stay as they are */
    int64_t submit_at_sec;         /* %S, the SLUID; 0: not known, it stays as it is */
    const char *node;              /* %N; NULL: not known, it stays as it is */
    const char *user, *job_name;   /* NULL: empty */
};

/* What makes the names of two tasks differ. */
enum pattern_scope { PATTERN_SAME = 0, PATTERN_PER_NODE = 1, PATTERN_PER_TASK = 2 };
enum pattern_scope pattern_scope(const char *pattern);

/* Appends the name to out. -ERR_LIMIT when it exceeds a path's length; an unknown %x stays as it
 * is. */
int pattern_expand(const char *pattern, const struct pattern_values *v, struct str *out,
                   struct err *err);
