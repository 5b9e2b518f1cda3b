/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --cpu-bind and --mem-bind: parses them into messages for the nodes. Also the help texts of the
 * options that bind tasks, and of --gres and --hint.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/err.h"
#include "cli/opt.h"
#include "proto/step.pb-c.h"

/* "[quiet|verbose,]TYPE[:LIST]". *out lives in the arena. Returns -ERR_BIND for invalid text, 1 if
 * help was requested. */
int bind_read_cpu(const char *text, struct arena *arena, Pb__Bind **out, struct err *err);
int bind_read_memory(const char *text, struct arena *arena, Pb__Bind **out, struct err *err);

/* "0x0f*4,3": an entry with "*N" is repeated N times. False: an invalid repetition, or too many
 * entries. */
bool bind_read_list(const char *text, struct arena *arena, char ***list, size_t *count);

const char *bind_help_cpu(void);
const char *bind_help_memory(void);

/* Prints the help that one of these options requests; true: exit with 0. gres_types: GresTypes of
 * the configuration; NULL: there is none. */
bool bind_help_print(const struct opt *o, const char *gres_types);
