/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What srun says about itself, on stderr: "srun: ..." and "srun: error: ...". One write a line.
 * While a loop runs, lines that stderr does not take wait in memory, and srun goes on.
 */
#pragma once

#include <stdbool.h>

#include "launch/sink.h"

void say_level(int verbose); /* -1 quiet, 0, 1 -v, 2 -vv... */
void say_hurry(void);        /* a line that stderr does not take at once is lost from now on */
/* From now on lines wait in this loop, which stays the caller's. */
void say_from(struct loop *l, const struct sink_events *events);
bool say_is_empty(void); /* nothing waits that is to be waited for */
void say_forget(void);   /* what waits is another process's; stderr is another file now */
void say_finish(void);   /* the loop ends: what waits is written, however long stderr takes */
void say_raw(bool raw);  /* the terminal is raw: lines end with a carriage return too */

const char *say_last_error(void); /* as it was said, without "srun: error: "; static */

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
