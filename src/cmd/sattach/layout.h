/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of a step: which tasks run where. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "proto/step.pb-c.h"

/* As Slurm's sattach --layout prints it. */
void layout_format(const Pb__StepRecord *step, struct str *out);

/* A step of a job set, of which each component has a record. */
struct whole {
    Pb__StepRecord step; /* the first record, with the nodes of all; tasks are those of all parts */
    const uint32_t *jobs; /* of each node of the layout the job that it is in */
};

/* The records of one step; what is in *out lives in the arena. */
void whole_join(Pb__StepRecord *const *records, size_t count, struct arena *arena,
                struct whole *out);
