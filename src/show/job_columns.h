/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs and steps as columns, and what of a job's record they need. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pb.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"
#include "show/listing.h"

/* A record of a listing: the message and what is the same for all of them. */
struct job_columns_view {
    const Pb__JobRecord *job; /* spec and live are there */
    const Pb__StepRecord *step;
    int64_t now;
    const char *cluster;
    uint32_t tier;        /* with --priority: its partition's, by which it is sorted first */
    bool expand_patterns; /* in names of files */
};

/* --noconvert: sizes stay in MiB from now on. */
void job_columns_keep_units(void);

extern const struct listing_table job_columns, step_columns;

struct job_needs {
    struct pb_fields spec, live; /* of JobSpec, of JobLive */
};
/* Of the columns and sort keys of a listing of jobs, so that the controller sends no more than
 * that; false: some column may need any of them. */
bool job_columns_needs(const struct listing *l, struct job_needs *out);
