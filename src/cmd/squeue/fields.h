/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The fields of jobs and steps that squeue can show. */
#pragma once

#include <stdint.h>

#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"
#include "show/listing.h"

/* A record of a listing: the message and what is the same for all of them. */
struct fields_view {
    const Pb__JobRecord *job; /* spec and live are there */
    const Pb__StepRecord *step;
    int64_t now;
    const char *cluster;
    uint32_t tier;        /* with --priority: its partition's, by which it is sorted first */
    bool expand_patterns; /* in names of files */
};

/* --noconvert: sizes stay in MiB from now on. */
void fields_keep_units(void);

extern const struct listing_table fields_jobs, fields_steps;
