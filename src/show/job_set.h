/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What only jobs and steps in sets of several components show: keys and members beside their own.
 */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"
#include "proto/why.pb-c.h"
#include "show/show.h"

/* Behind the ids of a job, on the same line: " HetJobId=123 HetJobOffset=1", or nothing. */
void show_set_put_id(const Pb__JobLive *live, struct str *out);
/* A line with all ids, and with the name of the component, or nothing. */
void show_set_put_line(const Pb__JobSpec *spec, const Pb__JobLive *live, struct show_style style,
                       struct str *out);
/* "N/A" of an ordinary job, otherwise the number. 'out' is empty. */
const char *show_set_number(const Pb__JobLive *live, uint32_t number, struct str *out);

/* Members of a step in the stream of events. */
void show_set_put_step(const Pb__StepRecord *step, json_t *o);
/* The member of a step's id with the component, which is null for an ordinary job. */
#define SHOW_SET_OF_STEP "step_het_component"
/* The component that an answer of sluice why is about; null: the job is an ordinary one. */
json_t *show_set_pack_why(const Pb__WhyReply *why);
