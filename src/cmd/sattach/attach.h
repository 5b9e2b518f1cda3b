/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watching a step until it ends or its watcher leaves. */
#pragma once

#include "cmd/sattach/layout.h"
#include "cmd/sattach/options.h"

/* Returns the exit status: that of the step, as srun has it, when it has ended; 0 when the watcher
 * left. */
int attach_run(const struct options *o, const struct whole *whole);
