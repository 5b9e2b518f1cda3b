/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The environment a batch job starts with. */
#pragma once

#include "base/envlist.h"
#include "cli/opt.h"

/* The variables of a shell of the user's on the node are added: with --get-user-env, and with an
 * --export of NONE or of names without ALL. */
bool environment_of_user(const struct opt *o);

/* What --export takes of 'from', less what described the job sbatch itself may run in, plus what
 * the options tell the commands within the job. host and cwd: of the submission. */
void environment_make(struct envlist *e, const struct opt *o, char *const *from, const char *host,
                      const char *cwd);

/* Of 'from', what programs hardly run without and e lacks: PATH, HOME... */
void environment_keep_needed(struct envlist *e, char *const *from);
