/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SPANK plugins in srun, sbatch and salloc: loaded before the options are read, since they
 * have some of their own. Where plugstack.conf names none, all of this is nothing.
 *
 *   plugins_begin, opt_scan... opt_finish, plugins_ready, [plugins_started,] plugins_end
 */
#pragma once

#include <stdint.h>

#include "cli/opt.h"
#include "conf/conf.h"

struct plugins;

/* Loads them, and gives 'o' their options. conf NULL: it cannot be read, which is said elsewhere.
 * Ends the process when a required plugin fails. */
struct plugins *plugins_begin(const struct conf *conf, struct opt *o);

/* All options are known: init_post_opt. Then what the plugins have for the job is put into 'spec',
 * and the options into the environment, where commands within the job find them. Ends the process
 * when a required plugin fails. NULL is fine, here and below. */
void plugins_ready(struct plugins *p, Pb__JobSpec *spec);

/* For the message to the nodes; borrowed. */
Pb__SpankOption **plugins_options(const struct plugins *p, size_t *count);
/* NAME=value that a command within the job takes its options from, whatever --export says. */
char **plugins_env(const struct plugins *p, size_t *count);

/* srun: the job and the step are there, tasks are not: local_user_init. */
int plugins_started(struct plugins *p, const Pb__StepReply *step, int argc, char **argv,
                    struct err *err);

/* exit; what was borrowed of them goes. */
void plugins_end(struct plugins *p);
