/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A dynamic node (-Z), which slurm.conf does not name: the daemon makes its own configuration
   line. */
#pragma once

#include "slurmd/node/slurmd.h"

/* Sets d->name, d->dynamic and d->own_line. node NULL: the name of the host. keys: the keys of
   --conf, or NULL. */
int dynamic_line(struct slurmd *d, const char *node, const char *keys, struct err *err);

/* Makes the keys of the line: the detected hardware, as printed by -C, overridden by the given
   keys. */
int dynamic_keys(const struct hw *hw, const char *given, struct str *out, struct err *err);
