/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --test-only: asks whether and when the job would start, and ends.
 */
#pragma once

#include "conf/conf.h"
#include "proto/job.pb-c.h"

int estimate_tell(const struct conf *conf, struct Pb__JobSpec *spec); /* srun's exit status */
