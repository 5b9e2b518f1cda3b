/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the output of a task prolog says, line by line:
 *
 *   export NAME=value   sets a variable of the task, to everything up to the end of the line
 *   unset NAME ...      removes variables
 *   print ...           goes to the task's standard output
 *
 * Other lines mean nothing. Pure.
 */
#pragma once

#include <stddef.h>

#include "base/envlist.h"
#include "base/str.h"

#define DIRECTIVE_VALUE_MAX 131071 /* bytes of NAME=value; the kernel takes no longer one */

/* Changes env, appends what is printed to out, and to complaints a line about each line that begins
 * like one of the above and makes no sense (the first thousand bytes of that). */
void directive_apply(const char *text, size_t len, struct envlist *env, struct str *out,
                     struct str *complaints);
