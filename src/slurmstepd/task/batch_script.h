/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The script of a batch job, as a file of the spool: SPOOL/jobNNNNN/slurm_script. As root the file
 * and its directory (0711) are root's, and an access control list lets the job's user alone read
 * and execute it: the job can change neither the file nor its name. On a file system without
 * access control lists, and for a slurmd that is not root, the file (0500) is the user's.
 */
#pragma once

#include "base/err.h"
#include "slurmstepd/step/step.h"

int batch_script_write(struct step *step, struct err *err);
void batch_script_remove(struct step *step);
