/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Validation of a stored job record, and its fields that only a newer version knows. The functions
 * of job.h that restore jobs are in job_restore.c too.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "proto/job.pb-c.h"

struct job_newer { /* packed unknown fields of the record */
    struct str record, live;
};

/* Checks that a stored record is complete and consistent: -ERR_STORE_DAMAGED, or -ERR_VERSION if a
 * newer version stored something that this version could not preserve. */
int job_record_check(const Pb__JobRecord *record, uint64_t id, struct err *err);
