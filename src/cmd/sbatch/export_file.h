/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sbatch --export-file: variables from a file or from an open descriptor. */
#pragma once

#include "base/envlist.h"
#include "base/err.h"

#define EXPORT_FILE_BYTES_MAX (4u << 20)
#define EXPORT_FILE_VARS_MAX 16384
#define EXPORT_FILE_VAR_MAX 131071 /* bytes of "NAME=VALUE": the limit of Linux */

/* Fills e from 'where': a file, or a descriptor number from 3 on. The content is a list of
 * NAME=VALUE, separated by zero bytes. From 'from', the environment of this process, only SLURM_*
 * variables and the variables that almost every program needs are added; variables of the file take
 * precedence. */
int export_file_load(struct envlist *e, const char *where, char *const *from, struct err *err);
