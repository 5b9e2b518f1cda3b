/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of a step of several parts that are of the whole step: component 0 has them. */
#pragma once

#include "cli/opt_component.h"

/* Warns of a later component that gives such an option a value that component 0 has not. in_job:
 * the step is in a job, and no component makes one of its own. */
void whole_warn(const struct opt_components *all, bool in_job);
