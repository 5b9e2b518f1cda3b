/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Converts messages to the structures of include/sluice/sluice.h, with a table row for each
 * member: job_members.def, step_members.def, node_members.def and submit_members.def. Nothing is
 * owned: strings belong to the source.
 */
#pragma once

#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/node.pb-c.h"
#include "proto/step.pb-c.h"
#include <sluice/sluice.h>

/* full_id: an empty string that gets the text of job->full_id. */
void api_fill_job(const Pb__JobSpec *spec, const Pb__JobLive *live, struct str *full_id,
                  struct sluice_job *job);
void api_fill_step(const Pb__StepRecord *r, struct sluice_step *step);
void api_fill_node(const Pb__NodeRecord *r, struct sluice_node *node);

/* Fills the request of a batch job; cwd is used if the request names no directory. */
void api_fill_spec(const struct sluice_submit *r, const char *cwd, Pb__JobSpec *spec);
