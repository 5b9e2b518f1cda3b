/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * srun --batch, as in 2002: submits the rest of the command line and ends. A program becomes
 * parallel tasks, a script (it begins with #!) runs as it is; stdout and stderr go to
 * slurm-JOB.out and slurm-JOB.err.
 */
#pragma once

#include "cli/opt.h"
#include "conf/conf.h"

struct batch_command {
    int argc;
    char **argv;
    Pb__SpankOption **spank_options; /* of plugins */
    size_t spank_option_count;
};

/* spec is filled with what the options say. Returns srun's exit status. */
int batch_submit(const struct conf *conf, const struct opt *o, struct Pb__JobSpec *spec,
                 const struct batch_command *command);
