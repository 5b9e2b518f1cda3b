/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The commands of each part: run->commands. A shell selects each task's program if the programs
 * differ on a node, with --multi-prog or because parts share a node (shared.h).
 */
#pragma once

#include "base/err.h"

struct run;

/* From the options, or from the file of --multi-prog. */
int command_make(struct run *run, struct err *err);
/* Call after copying, which renames programs. A part whose nodes also start tasks of other parts
 * gets the commands of all of them. Returns -ERR_NOT_SUPPORTED if options of the parts are
 * incompatible. */
int command_join(struct run *run, struct err *err);
