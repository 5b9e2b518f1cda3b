/* SPDX-License-Identifier: GPL-3.0-or-later */
/* After a running job has given nodes back. */
#pragma once

#include "base/err.h"
#include "proto/job.pb-c.h"

/* Writes slurm_job_<id>_resize.sh and .csh into the working directory and says on standard output
 * how a shell of the job reads them; of a job that does not run, nothing. 0, or -errno. */
int resize_tell(const Pb__StepId *job, struct err *err);
