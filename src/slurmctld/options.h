/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line. */
#pragma once

#include <stdbool.h>

#include "slurmctld/core/ctld.h"

/* Returns true to continue; false: exit with *status (--help, -V, an invalid option). */
bool options_parse(int argc, char **argv, struct ctld_options *o, int *status);
