/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What srun says about itself, on stderr: "srun: ..." and "srun: error: ...". One write a line.
 * They go through launch/messages.h, so srun continues while stderr does not take them.
 */
#pragma once

#include <stdbool.h>

void say_level(int verbose); /* -1 quiet, 0, 1 -v, 2 -vv... */
void say_raw(bool raw);      /* the terminal is raw: lines end with a carriage return too */

const char *say_last_error(void); /* the printed text, without "srun: error: "; static */

void say_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void say_info(const char *fmt, ...) __attribute__((format(printf, 1, 2)));    /* not with --quiet */
void say_verbose(const char *fmt, ...) __attribute__((format(printf, 1, 2))); /* with -v */
void say_debug(const char *fmt, ...) __attribute__((format(printf, 1, 2)));   /* with -vv */

/* A complaint of a node, in its own words: "slurmstepd: error: ...". */
void say_stepd_error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* An error that ends srun, with this status unless SLURM_EXIT_ERROR is set. */
_Noreturn void say_exit_with_status(int status, const char *text);
_Noreturn void say_exit_with_error(const char *text);     /* with status 1 */
_Noreturn void say_exit_with_bad_value(const char *text); /* the value of an option is invalid */
