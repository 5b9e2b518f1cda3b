/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A listing that has no job with the id that was asked for. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "proto/step.pb-c.h"

/* Whether the controller lists a job with this id to this user. True also without an answer. */
bool no_job_is_known(const Pb__StepId *id);

/* -ERR_NO_JOB, in words that others than the controller can find where the job has no such
 * component: the controller is asked how many it has. */
int no_job_refuse(const Pb__StepId *id, struct err *err);
/* The same of an id with a component; false, and no words, of any other one. */
bool no_job_explain(const Pb__StepId *id, struct err *err);
