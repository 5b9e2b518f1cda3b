/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The configuration and the cluster key that slurmd starts with: from files, or from controllers.
 * For a dynamic node (-Z), which slurm.conf does not name, the daemon makes its own configuration
 * line.
 */
#pragma once

#include "slurmd/node/options.h"
#include "slurmd/node/slurmd.h"

/* Sets the configuration, the node, its name, the spool directory and the cluster key. */
int first_conf_load(struct slurmd *d, const struct slurmd_options *o, struct err *err);

/* Sets d->name, d->dynamic and d->own_line. node NULL: the name of the host. keys: the keys of
   --conf, or NULL. */
int first_conf_make_line(struct slurmd *d, const char *node, const char *keys, struct err *err);

/* Makes the keys of the line: the detected hardware, as printed by -C, overridden by the given
   keys. */
int first_conf_make_keys(const struct hw *hw, const char *given, struct str *out, struct err *err);
