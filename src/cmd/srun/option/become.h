/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Modes of srun that run no step: what other commands do, and --test-only (CORE-201, CORE-210). */
#pragma once

#include "cli/opt.h"
#include "conf/conf.h"
#include "proto/job.pb-c.h"

/* srun --allocate is salloc by another name, and with names of its own for some options. */
_Noreturn void become_salloc(struct opt *o, int argc, char **argv);

/* srun --attach is sattach, with srun's way with signals. */
_Noreturn void become_sattach(const struct opt *o, int operands);

struct become_command {
    int argc;
    char **argv;
    Pb__SpankOption **spank_options; /* of plugins */
    size_t spank_option_count;
};

/*
 * srun --batch, as in 2002: submits the rest of the command line and ends. A program becomes
 * parallel tasks, a script (it begins with #!) runs as it is; stdout and stderr go to
 * slurm-JOB.out and slurm-JOB.err. spec is filled with what the options say. Returns srun's exit
 * status.
 */
int become_sbatch(const struct conf *conf, const struct opt *o, struct Pb__JobSpec *spec,
                  const struct become_command *command);

/* srun --test-only: asks whether and when the job would start. Of a job set with its
 * components behind the first. Returns srun's exit status. */
int become_estimate(const struct conf *conf, struct Pb__JobSpec *spec,
                    struct Pb__JobSpec **components, size_t count);

/* The same of a job that was submitted before (--jobid). -1: the job does not wait. */
int become_estimate_pending(const struct conf *conf, uint32_t job_id);
