/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tasks of each part run: run->commands. A shell picks each task's program where these
 * differ on a node, with --multi-prog or since parts have a node in common (shared.h).
 */
#pragma once

#include "base/err.h"

struct run;

/* Of the options, or of the file of --multi-prog. */
int command_make(struct run *run, struct err *err);
/* Behind the copying, which has given programs other names: a part whose nodes start tasks of other
 * parts, too, gets the command of all of these. -ERR_NOT_SUPPORTED: options of the parts do not go
 * together. */
int command_join(struct run *run, struct err *err);
