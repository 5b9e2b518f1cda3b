/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs and steps as columns, and the fields of a job's record that the columns need. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pb.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"
#include "show/listing.h"

/* A record of a listing: the message and data common to all records. */
struct job_columns_view {
    const Pb__JobRecord *job; /* has both spec and live */
    const Pb__StepRecord *step;
    int64_t now;
    const char *cluster;
    uint32_t tier;        /* with --priority: tier of the partition, the first sort key */
    bool expand_patterns; /* in file names */
};

/* --noconvert: from now on sizes are in MiB. */
void job_columns_keep_units(void);

extern const struct listing_table job_columns, step_columns;

struct job_needs {
    struct pb_fields spec, live; /* of JobSpec, of JobLive */
};
/* Sets the fields that the columns and sort keys of a listing of jobs need, so that the controller
 * sends no others; false: a column may need any field. */
bool job_columns_needs(const struct listing *l, struct job_needs *out);
