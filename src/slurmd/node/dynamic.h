/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A node that no slurm.conf names (-Z): it has a line of its own. */
#pragma once

#include "slurmd/node/slurmd.h"

/* Sets d->name, d->dynamic and d->own_line. node NULL: named as the host. keys: of --conf, or NULL.
 */
int dynamic_line(struct slurmd *d, const char *node, const char *keys, struct err *err);

/* The keys of the line: what this machine has, as -C prints it, and in its place what is given. */
int dynamic_keys(const struct hw *hw, const char *given, struct str *out, struct err *err);
