/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job's priority is made of, besides its request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct job_rank {
    bool given; /* by a person or an external scheduler: the priority is not made of factors */
    int32_t site_factor;
    double assoc, fairshare, qos;   /* what accounting says of it, from 0 to 1; 0: nothing */
    int64_t accrue_at, accrued_sec; /* since when it ages, 0: it does not; and its age before */
};
