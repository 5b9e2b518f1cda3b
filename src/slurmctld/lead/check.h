/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What can be checked before anything starts. */
#pragma once

#include "slurmctld/core/ctld.h"

/* --check. Reads everything, starts nothing; every error and warning that it finds goes to
 * stderr. Returns the status. */
int check_run(const struct ctld_options *o);
/* Which of the controllers this process is: the one named 'as', or with NULL the first whose
 * SlurmctldHost is this host. */
int check_host(const struct conf *conf, const char *as, size_t *me, struct err *err);
