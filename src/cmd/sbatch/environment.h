/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment of a batch job. */
#pragma once

#include "base/envlist.h"
#include "cli/opt.h"

/* Whether the node adds the variables of the user's shell: with --get-user-env, and with an
 * --export of NONE or of names without ALL. */
bool environment_of_user(const struct opt *o);

/* Fills e with the variables of 'from' that --export selects, without those that describe a job in
 * which sbatch runs, and with those that the options set for commands in the job. host and cwd: of
 * the submission. */
void environment_make(struct envlist *e, const struct opt *o, char *const *from, const char *host,
                      const char *cwd);

/* Adds variables of 'from' that almost every program needs and e lacks: PATH, HOME... */
void environment_keep_needed(struct envlist *e, char *const *from);
