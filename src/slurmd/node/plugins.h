/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SPANK plugins on the node: the plugins that this daemon has loaded for as long as it
 * runs, and the plugins in the current plugstack.conf, which slurmstepd-spank loads for shepherds
 * and beside the site's scripts. Without plugins the only cost is a check for that file.
 */
#pragma once

#include "proto/io.pb-c.h"
#include "slurmd/node/slurmd.h"
#include "spank/plugstack.h"

/* Loads the plugins into this process. A required plugin that fails keeps the daemon from
   starting. */
int plugins_begin(struct slurmd *d, struct err *err);
void plugins_end(struct slurmd *d); /* calls slurmd_exit of each plugin */

/* Fills in the plugins for a starting step; 'rows' owns the strings in the message. Returns
   -ERR_NODE_FAULT. */
int plugins_fill(struct slurmd *d, Pb__StepdStart *m, struct plugstack *rows, struct err *err);

/* Returns the program that runs the plugins beside a prolog or an epilog; *out NULL: there are no
   plugins. */
int plugins_beside_script(struct slurmd *d, const char **out, struct err *err);
