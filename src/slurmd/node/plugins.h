/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * SPANK plugins on the node: those that this daemon has loaded itself, for as long as it
 * runs, and those that plugstack.conf names now, for the shepherds and beside the site's scripts,
 * which slurmstepd-spank loads. Where it names none, nothing of this costs more than looking for
 * that file.
 */
#pragma once

#include "proto/io.pb-c.h"
#include "slurmd/node/slurmd.h"
#include "spank/plugstack.h"

/* Loads them here; a required plugin that fails keeps the daemon from starting. */
int plugins_begin(struct slurmd *d, struct err *err);
void plugins_end(struct slurmd *d); /* slurmd_exit */

/* The plugins of a step that starts; 'rows' holds them for the message. -ERR_NODE_FAULT. */
int plugins_fill(struct slurmd *d, Pb__StepdStart *m, struct plugstack *rows, struct err *err);

/* The program that runs the plugins beside a prolog or an epilog, *out NULL: there are none. */
int plugins_beside_script(struct slurmd *d, const char **out, struct err *err);
