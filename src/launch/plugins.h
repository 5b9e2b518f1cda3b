/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SPANK plugins in srun, sbatch and salloc: loaded before the options are read, since they
 * have some of their own. Where plugstack.conf names none, all of this is nothing.
 *
 *   plugins_begin, opt_scan... opt_finish, for each part: plugins_ready, plugins_export,
 *   [for each part: plugins_started,] plugins_end
 *
 * A part is a component of a job set, or of a step. Options are recorded while they are
 * read, and handed to their plugins part by part: a part has the options of its component
 * of the command line, and no others.
 */
#pragma once

#include <stdint.h>

#include "cli/opt.h"
#include "conf/conf.h"

struct plugins;

/* Loads them, and gives 'o' their options. conf NULL: it cannot be read, which is said elsewhere.
 * Ends the process when a required plugin fails. */
struct plugins *plugins_begin(const struct conf *conf, struct opt *o);

/* The next part, whose options are those of this component of the command line, all of which are
 * known: init_post_opt. 'environment': that of the part, in the place of the one that its options
 * were read from; NULL: that one. What the plugins have for the part's job is put into 'spec'. Ends
 * the process when an option is invalid, or a required plugin fails. NULL is fine, here and below.
 */
void plugins_ready(struct plugins *p, size_t component, char *const *environment,
                   Pb__JobSpec *spec);
/* All parts are ready: puts the options into the environment, where commands within the job find
 * them. Not in srun, and with several parts: each part's, too, with JOB_SET_ENV_GROUP and
 * its number behind the name. */
void plugins_export(struct plugins *p);

/* For the message to the nodes of a part; borrowed. */
Pb__SpankOption **plugins_options(const struct plugins *p, size_t part, size_t *count);
/* NAME=value that a command within the job takes its options from, whatever --export says. */
char **plugins_env(const struct plugins *p, size_t *count);
/* The environment of a part's tasks, made of this one; in p. */
char **plugins_choose_env(struct plugins *p, size_t part, char *const *environment);

/* srun: the job and the step are there, tasks of the part are not: local_user_init. */
int plugins_started(struct plugins *p, size_t part, const Pb__StepReply *step, int argc,
                    char **argv, struct err *err);

/* exit; what was borrowed of them goes. */
void plugins_end(struct plugins *p);
