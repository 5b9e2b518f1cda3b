/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What sbatch reads besides its options: a script, variables. Its descriptors belong to others. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Appends all that can be read from fd; of what is longer than 'max' a little more than that, so
 * that the caller sees it. 'name' is for messages. */
int input_read(int fd, const char *name, size_t max, struct str *text, struct err *err);
