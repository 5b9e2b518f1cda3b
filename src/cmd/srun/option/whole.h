/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that apply to a whole step of several parts: component 0 sets them. */
#pragma once

#include "cli/opt_component.h"

/* Warns about a later component with another value of such an option than component 0. in_job: the
 * step is in a job, and no component creates a job of its own. */
void whole_warn(const struct opt_components *all, bool in_job);
