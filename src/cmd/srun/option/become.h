/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modes of srun that run no step: those of other commands, and --test-only (CORE-201, CORE-210). */
#pragma once

#include "cli/opt.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"

/* srun --allocate is salloc, with different names of some options. */
_Noreturn void become_salloc(struct opt *o, int argc, char **argv);

/* srun --attach is sattach, with srun's handling of signals. */
_Noreturn void become_sattach(const struct opt *o, int operands);

struct become_command {
    int argc;
    char **argv;
    Pb__SpankOption **spank_options; /* of plugins */
    size_t spank_option_count;
};

/*
 * srun --batch, as in 2002: submits the rest of the command line and ends. A program becomes
 * parallel tasks; a script (it starts with #!) runs as it is. stdout and stderr go to slurm-JOB.out
 * and slurm-JOB.err. 'spec' has been filled from the options. Returns srun's exit status.
 */
int become_sbatch(const struct conf *conf, const struct opt *o, struct Pb__JobSpec *spec,
                  const struct become_command *command);

/* srun --test-only: asks whether and when the job would start; a job set has its components after
 * the first one. Returns srun's exit status. */
int become_estimate(const struct conf *conf, struct Pb__JobSpec *spec,
                    struct Pb__JobSpec **components, size_t count);

/* The same for a job that was submitted before (--jobid). Returns -1 if the job is not pending. */
int become_estimate_pending(const struct conf *conf, uint32_t job_id);
