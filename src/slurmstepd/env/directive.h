/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The directives in the output of a task prolog, one per line:
 *
 *   export NAME=value   sets a variable of the task, to everything up to the end of the line
 *   unset NAME ...      removes variables
 *   print ...           goes to the task's standard output
 *
 * Other lines are ignored. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/envlist.h"
#include "base/str.h"

#define DIRECTIVE_VALUE_MAX 131071 /* bytes of NAME=value; the kernel accepts no longer string */

/* Applies the directives to env, appends printed text to out, and appends to complaints one line
 * for each malformed directive (with its first bytes, at most a thousand). */
void directive_apply(const char *text, size_t len, struct envlist *env, struct str *out,
                     struct str *complaints);
