/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tasks are told of the GPUs that they may use, in the words of those who make them: the
 * step's, or with --gpu-bind each task some of these. It is told, not enforced: control groups keep
 * a step from what is not its own, not one task from another's.
 */
#pragma once

#include "base/bitset.h"
#include "base/envlist.h"
#include "base/str.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"
#include "slurmstepd/step/step.h"

/* The variables of the whole step, or of a batch script. */
void gpus_put(struct envlist *env, const Pb__StepdStart *start, bool step);

struct gpus_want {
    const Pb__GpuBind *bind; /* NULL: none */
    const uint32_t *numbers; /* of the step's GPUs */
    size_t count;
    struct bitset *const
        *near; /* of each, the CPUs near to it, by the kernel's numbers; NULL: all */
    const struct bitset *cpus; /* of the task; NULL: any */
    uint32_t local;            /* index of the task on its node */
    bool relative;             /* lists count the step's GPUs from 0 */
};

/* Which of the step's GPUs, by their places, are the task's: bits in 'chosen', of the size count.
 * -ERR_BIND: a list asks for what the step does not have, and the task gets all. */
int gpus_choose(const struct gpus_want *want, struct bitset *chosen, struct err *err);

/* In the child: its variables; 'said' gets lines for its standard error. */
void gpus_bind(const struct task *t, struct envlist *env, struct str *said);
