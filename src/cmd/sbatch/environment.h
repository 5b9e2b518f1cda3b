/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of a batch job: variables of sbatch that --export selects, or those of a file or
 * an open descriptor (--export-file).
 */
#pragma once

#include "base/envlist.h"
#include "base/err.h"
#include "cli/opt.h"

#define EXPORT_FILE_BYTES_MAX (4u << 20)
#define EXPORT_FILE_VARS_MAX 16384
#define EXPORT_FILE_VAR_MAX 131071 /* bytes of "NAME=VALUE": the limit of Linux */

/* Whether the node adds the variables of the user's shell: with --get-user-env, and with an
 * --export of NONE or of names without ALL. */
bool environment_of_user(const struct opt *o);

/* Fills e with the variables of 'from' that --export selects, without those that describe a job in
 * which sbatch runs, and with those that the options set for commands in the job. host and cwd: of
 * the submission. */
void environment_make(struct envlist *e, const struct opt *o, char *const *from, const char *host,
                      const char *cwd);

/* Fills e from 'where': a file, or a descriptor number from 3 on. The content is a list of
 * NAME=VALUE, separated by zero bytes. From 'from', the environment of this process, only SLURM_*
 * variables and the variables that almost every program needs are added; variables of the file take
 * precedence. */
int export_file_load(struct envlist *e, const char *where, char *const *from, struct err *err);
