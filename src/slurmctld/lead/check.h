/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks of the configuration that need no running controller. */
#pragma once

#include "slurmctld/core/ctld.h"

/* --check: reads everything and starts nothing. Prints every error and warning on stderr. Returns
 * the exit status. */
int check_run(const struct ctld_options *o);
/* Finds which of the controllers this process is: the one named 'as', or with NULL the first whose
 * SlurmctldHost is this host. */
int check_host(const struct conf *conf, const char *as, size_t *me, struct err *err);
