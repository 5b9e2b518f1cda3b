/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output that only jobs and steps in sets of several components have: additional keys and members.
 */
#pragma once

#include <jansson.h>

#include "base/str.h"
#include "proto/event.pb-c.h"
#include "proto/job.pb-c.h"
#include "proto/step.pb-c.h"
#include "proto/why.pb-c.h"
#include "show/show.h"

/* Appends " HetJobId=123 HetJobOffset=1" to the line with the job's ids, or nothing. */
void show_set_put_id(const Pb__JobLive *live, struct str *out);
/* Appends a line with all ids and the name of the component, or nothing. */
void show_set_put_line(const Pb__JobSpec *spec, const Pb__JobLive *live, struct show_style style,
                       struct str *out);
/* Returns "N/A" for an ordinary job, otherwise the number. 'out' must be empty. */
const char *show_set_number(const Pb__JobLive *live, uint32_t number, struct str *out);

/* Add the members of a step and of a transition in the stream of events. */
void show_set_put_step(const Pb__StepRecord *step, json_t *o);
void show_set_put_transition(const Pb__JobTransition *j, json_t *o);
/* The member of a step's id that has the component; null for an ordinary job. */
#define SHOW_SET_OF_STEP "step_het_component"
/* The component that a reply to sluice why is about; null: an ordinary job. */
json_t *show_set_pack_why(const Pb__WhyReply *why);
