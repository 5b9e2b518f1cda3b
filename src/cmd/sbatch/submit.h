/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The calls of sbatch. */
#pragma once

#include "base/err.h"
#include "proto/job.pb-c.h"

/* Submits. When the answer is lost the request is repeated: its request id makes the controller
 * answer with the same job. */
int submit_job(const Pb__SubmitRequest *request, Pb__SubmitReply **reply, struct err *err);

/* Waits for the job's end, through restarts of the controller; returns the status to exit with:
 * the job's, or 1 when a signal, a limit or a person ended it. */
int submit_wait(uint32_t job_id);
