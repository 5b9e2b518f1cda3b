/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment variables that tell tasks which GPUs to use, by the vendor's names: the GPUs of
 * the step, or with --gpu-bind a subset for each task. The variables are not enforced: control
 * groups separate steps, but not the tasks of a step.
 */
#pragma once

#include "base/bitset.h"
#include "base/envlist.h"
#include "base/str.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"
#include "slurmstepd/step/step.h"

/* Sets the variables of the whole step, or of a batch script. */
void gpus_put(struct envlist *env, const Pb__StepdStart *start, bool step);

struct gpus_want {
    const Pb__GpuBind *bind; /* NULL: none */
    const uint32_t *numbers; /* the step's GPUs */
    size_t count;
    struct bitset *const
        *near; /* for each GPU the CPUs near it, by the kernel's numbers; NULL: all */
    const struct bitset *cpus; /* CPUs of the task; NULL: any */
    uint32_t local;            /* index of the task on its node */
    bool relative;             /* lists number the step's GPUs from 0 */
};

/* Chooses the task's GPUs: sets bits in 'chosen', which has one bit per GPU of the step.
 * -ERR_BIND: a list requests a GPU that the step does not have; the task then gets all GPUs. */
int gpus_choose(const struct gpus_want *want, struct bitset *chosen, struct err *err);

/* In the child: sets the task's variables; 'said' gets lines for its standard error. */
void gpus_bind(const struct task *t, struct envlist *env, struct str *said);
