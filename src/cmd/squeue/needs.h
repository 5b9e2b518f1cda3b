/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What of a job's record a listing needs, so that the controller sends no more than that. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/pb.h"
#include "proto/job.pb-c.h"
#include "show/listing.h"

struct needs {
    struct pb_fields spec, live; /* of JobSpec, of JobLive */
};

/* Of the columns and sort keys of a listing of jobs; false: some column may need any of them. */
bool needs_of(const struct listing *l, struct needs *out);
