/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A job's stored record before it is believed, and what of it only a newer version knows. */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "proto/job.pb-c.h"

struct job_newer { /* of its record, the packed fields that only a newer version knows */
    struct str record, live;
};

/* Whether a stored record is whole and agrees with itself: -ERR_STORE_DAMAGED, or -ERR_VERSION when
 * a newer version has put into it what could not be kept. */
int job_record_check(const Pb__JobRecord *record, uint64_t id, struct err *err);
