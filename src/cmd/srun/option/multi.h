/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --multi-prog: a file that names the program of each task, converted to a shell command that
 * selects the program by SLURM_PROCID. A line is "RANKS PROGRAM [ARGUMENTS]": ranks are "0,2-4", or
 * "*" for the remaining ones; "%t" in an argument is the task's rank, "%o" its index within the
 * line's ranks; single quotes keep blanks and percent signs. Lines that start with "#" are
 * comments; a backslash at the end continues a line.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

#define MULTI_FILE_MAX (1u << 20)
/* Maximum bytes of the command text: together with the environment, less than the 2 MiB that the
 * kernel accepts with the usual stack limit. */
#define MULTI_SCRIPT_MAX (3u << 19)

/* Appends the shell's command text for these tasks; "$@" in it stands for the arguments of the
 * command line. Every task must have a program: -ERR_PARSE names the line, or the task without a
 * program; -ERR_LIMIT: the text is too long. */
int multi_format(const char *text, uint32_t tasks, struct str *out, struct err *err);

/* The words that run the text; the operands for "$@" come after them. In the arena. Returns the
 * number of words: a long text is split into several, since the kernel limits the length of each.
 */
#define MULTI_ARGV_HEAD 4
#define MULTI_ARGV_MAX (MULTI_ARGV_HEAD + 16)
size_t multi_argv(const struct str *script, struct arena *arena, char *argv[MULTI_ARGV_MAX]);
