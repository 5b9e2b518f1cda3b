/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reports that a listing has no job with the requested id. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "proto/step.pb-c.h"

/* Whether the controller lists a job with this id to this user. Also true if the controller does
 * not answer. */
bool no_job_is_known(const Pb__StepId *id);

/* Returns -ERR_NO_JOB. If the job exists without the requested component, the text says how many
 * components it has, as the controller reports. */
int no_job_refuse(const Pb__StepId *id, struct err *err);
/* The same for an id with a component; returns false without a text for other ids. */
bool no_job_explain(const Pb__StepId *id, struct err *err);
