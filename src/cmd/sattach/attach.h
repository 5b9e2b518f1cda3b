/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Watching a step until the step ends or the user leaves. */
#pragma once

#include "cmd/sattach/layout.h"
#include "cmd/sattach/options.h"

/* Returns the exit status: that of the step, as srun computes it, if the step has ended; 0 if the
 * user left. */
int attach_run(const struct options *o, const struct whole *whole);
