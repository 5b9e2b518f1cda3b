/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --multi-prog: a file that names the program of each task, as a shell command that picks it by
 * SLURM_PROCID. A line is "RANKS PROGRAM [ARGUMENTS]": ranks as "0,2-4" or "*" for the rest; "%t"
 * in an argument is the task's number, "%o" its place within the line's ranks; single quotes keep
 * blanks and percent signs. Lines that begin with "#" are comments, a backslash at the end goes on
 * in the next line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define MULTI_FILE_MAX (1u << 20)
/* Of the command text: with the environment, less than the 2 MiB that the kernel takes where the
 * stack is limited as usual. */
#define MULTI_SCRIPT_MAX (3u << 19)

/* Appends the shell's command text for these tasks; "$@" in it is what the command line adds. Every
 * task has a program then: -ERR_PARSE names the line, or the task that has none; -ERR_LIMIT: it is
 * too long. */
int multi_format(const char *text, uint32_t tasks, struct str *out, struct err *err);

/* What runs that text, behind which come the operands for "$@"; in the arena. Returns how many
 * words it is: a long text is in several, for each of which the kernel has a limit. */
#define MULTI_ARGV_HEAD 4
#define MULTI_ARGV_MAX (MULTI_ARGV_HEAD + 16)
size_t multi_argv(const struct str *script, struct arena *arena, char *argv[MULTI_ARGV_MAX]);
