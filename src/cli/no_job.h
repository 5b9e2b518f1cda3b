/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A listing that has no job with the id that was asked for. */
#pragma once

#include "base/err.h"
#include "proto/step.pb-c.h"

/* -ERR_NO_JOB, in words that others than the controller can find where the job is a heterogeneous
 * one without such a component: the controller is asked how many it has. */
int no_job_refuse(const Pb__StepId *id, struct err *err);
