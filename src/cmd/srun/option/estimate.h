/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --test-only: asks whether and when the job would start, and ends.
 */
#pragma once

#include "conf/conf.h"
#include "proto/job.pb-c.h"

/* Of a heterogeneous job with its components behind the first. Returns srun's exit status. */
int estimate_tell(const struct conf *conf, struct Pb__JobSpec *spec,
                  struct Pb__JobSpec **components, size_t count);
