/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SPANK plugins in srun, sbatch and salloc. They are loaded before the options are read,
 * since they define options. If plugstack.conf names no plugin, these functions do nothing.
 *
 *   plugins_begin, opt_scan... opt_finish, for each part: plugins_ready, plugins_export,
 *   [for each part: plugins_started,] plugins_end
 *
 * A part is a component of a job set, or of a step. Options are recorded when they are read, and
 * passed to their plugins part by part: a part has only the options of its component of the command
 * line.
 */
#pragma once

#include <stdint.h>

#include "cli/opt.h"
#include "conf/conf.h"

struct plugins;

/* Loads the plugins, and adds their options to 'o'. conf NULL: it cannot be read, which the caller
 * reports. Ends the process if a required plugin fails. */
struct plugins *plugins_begin(const struct conf *conf, struct opt *o);

/* Starts the next part (init_post_opt), with the options of this component of the command line, all
 * of which must have been read. 'environment': environment of the part, from which options are read
 * in place of the original one; NULL: the original one. The plugins' settings for the part's job
 * are stored in 'spec'. Ends the process if an option is invalid, or a required plugin fails. p may
 * be NULL, here and below. */
void plugins_ready(struct plugins *p, size_t component, char *const *environment,
                   Pb__JobSpec *spec);
/* Call when all parts are ready: sets environment variables with the options, for commands within
 * the job. Not in srun. With several parts, also the variables of each part, with JOB_SET_ENV_GROUP
 * and its number as a suffix. */
void plugins_export(struct plugins *p);

/* For the launch request of a part; borrowed. */
Pb__SpankOption **plugins_options(const struct plugins *p, size_t part, size_t *count);
/* NAME=value variables with the options for commands within the job, independent of --export. */
char **plugins_env(const struct plugins *p, size_t *count);
/* The environment of a part's tasks, made from this one; owned by p. */
char **plugins_choose_env(struct plugins *p, size_t part, char *const *environment);

/* srun: the job and the step exist, and the tasks of the part do not (local_user_init). */
int plugins_started(struct plugins *p, size_t part, const Pb__StepReply *step, int argc,
                    char **argv, struct err *err);

/* Calls exit of the plugins; borrowed data becomes invalid. */
void plugins_end(struct plugins *p);
