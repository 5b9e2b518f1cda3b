/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which tasks of a step run where, as Slurm's sattach --layout puts it. */
#pragma once

#include "base/str.h"
#include "proto/step.pb-c.h"

void layout_format(const Pb__StepRecord *step, struct str *out);
