/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records of the controller as JSON, in Slurm's shape. */
#pragma once

#include <jansson.h>

#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"
#include "proto/resv.pb-c.h"
#include "proto/step.pb-c.h"

json_t *records_job(const Pb__JobRecord *job, const char *cluster); /* spec and live are there */
/* now: wall seconds, the time of the listing. */
json_t *records_step(const Pb__StepRecord *step, const char *cluster, int64_t now);
json_t *records_exit_code(int32_t wait_status);

/* One number of --cpu-freq, as slurm.h has it; text may be NULL. */
enum records_freq { RECORDS_FREQ_MIN, RECORDS_FREQ_MAX, RECORDS_FREQ_GOVERNOR };
json_t *records_freq(const char *text, enum records_freq which);
json_t *records_node(const Pb__NodeRecord *node, const char *cluster);
json_t *records_node_states(const Pb__NodeRecord *node); /* ["IDLE", "DRAIN"] */
json_t *records_part(const Pb__PartRecord *part, const char *cluster);
json_t *records_resv(const Pb__ResvRecord *resv);
