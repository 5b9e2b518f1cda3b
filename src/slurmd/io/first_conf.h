/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration and the cluster key that slurmd starts with: from files, or from controllers.
 */
#pragma once

#include "slurmd/node/options.h"
#include "slurmd/node/slurmd.h"

/* Sets the configuration, the node, its name, the spool directory and the cluster key. */
int first_conf_load(struct slurmd *d, const struct slurmd_options *o, struct err *err);
