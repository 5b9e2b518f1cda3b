/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --cpu-bind and --mem-bind: words into what the nodes are told. */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "proto/step.pb-c.h"

/* "[quiet|verbose,]TYPE[:LIST]". Lives in the arena. -ERR_BIND names what is not understood; 1:
 * help was asked for. */
int bind_read_cpu(const char *text, struct arena *arena, Pb__Bind **out, struct err *err);
int bind_read_memory(const char *text, struct arena *arena, Pb__Bind **out, struct err *err);

/* "0x0f*4,3": each entry as often as it says. False: an invalid repetition, or too many.
 */
bool bind_read_list(const char *text, struct arena *arena, char ***list, size_t *count);
