/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sbatch --export-file: variables out of a file, or of a descriptor that is open. */
#pragma once

#include "base/envlist.h"
#include "base/err.h"

#define EXPORT_FILE_BYTES_MAX (4u << 20)
#define EXPORT_FILE_VARS_MAX 16384
#define EXPORT_FILE_VAR_MAX 131071 /* bytes of "NAME=VALUE": Linux takes no longer ones */

/* Makes e of what 'where' holds: a file, or a number from 3 on for a descriptor. The content is
 * NAME=VALUE, each but the last ended by a zero byte. Of 'from', the environment of this process,
 * only SLURM_* variables and what programs hardly run without are added, below those of the file.
 */
int export_file_load(struct envlist *e, const char *where, char *const *from, struct err *err);
