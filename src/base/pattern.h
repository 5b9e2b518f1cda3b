/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * File name patterns for the standard streams of jobs and steps: %j and so on, with a width for
 * numbers ("%5j"). Pure. A backslash anywhere disables all replacements and is removed, as in
 * Slurm.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define PATTERN_WIDTH_MAX 10 /* digits; larger widths are reduced to this */

#define PATTERN_NO_ARRAY 4294967294u /* Slurm's value of %a outside of a job array */

struct pattern_values {
    uint32_t job_id, step_id;
    uint32_t node_index;           /* %n: index of this node in the step */
    uint32_t task_id;              /* %t */
    uint32_t array_id, array_task; /* %A, the job's own id outside of an array, and %a */
    bool has_restarts;             /* otherwise %r is not replaced */
    uint32_t restarts;             /* %r: number of restarts of the job */
    bool is_open;                  /* several elements of an array: %a and %b are not replaced */
    int64_t submit_at_sec;         /* %S, the SLUID; 0: unknown, not replaced */
    const char *node;              /* %N; NULL: unknown, not replaced */
    const char *user, *job_name;   /* NULL: empty */
};

/* What the expanded name depends on. */
enum pattern_scope { PATTERN_SAME = 0, PATTERN_PER_NODE = 1, PATTERN_PER_TASK = 2 };
enum pattern_scope pattern_scope(const char *pattern);

/* Appends the name to out. -ERR_LIMIT if it is too long for a path; an unknown %x is not replaced.
 */
int pattern_expand(const char *pattern, const struct pattern_values *v, struct str *out,
                   struct err *err);
