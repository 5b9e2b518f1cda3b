/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of a step: which tasks run where. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"
#include "proto/step.pb-c.h"

/* In the format of Slurm's sattach --layout. */
void layout_format(const Pb__StepRecord *step, struct str *out);

/* A step of a job set, of which each component has a record. */
struct whole {
    /* The first record, with the nodes of all components; the task count is the total. */
    Pb__StepRecord step;
    const uint32_t *jobs; /* the job id of each node in the layout */
};

/* Joins the records of one step; *out refers to memory of the arena. */
void whole_join(Pb__StepRecord *const *records, size_t count, struct arena *arena,
                struct whole *out);
