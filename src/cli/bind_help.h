/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Help texts of --cpu-bind, --mem-bind, --gpu-bind, --gres and --hint. */
#pragma once

#include "cli/opt.h"

const char *bind_help_cpu(void);
const char *bind_help_memory(void);

/* Prints the help that one of these options requests; true: exit with 0. gres_types: GresTypes of
 * the configuration; NULL: there is none. */
bool bind_help_print(const struct opt *o, const char *gres_types);
