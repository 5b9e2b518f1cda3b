/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The script of a batch job, as a file in the spool directory: SPOOL/jobNNNNN/slurm_script. When
 * slurmd runs as root, the file and its directory (0711) belong to root, and an access control
 * list lets only the job's user read and execute the file: the job can change neither the file nor
 * its name. On a file system without access control lists, and for a slurmd that does not run as
 * root, the file (0500) belongs to the user.
 */
#pragma once

#include "base/err.h"
#include "slurmstepd/step/step.h"

int batch_script_write(struct step *step, struct err *err);
void batch_script_remove(struct step *step);
