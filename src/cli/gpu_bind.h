/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --gpu-bind, and what other options imply of it. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/step.pb-c.h"

/* "[verbose,]TYPE[:VALUE]"; lives in the arena. -ERR_BIND names what is not understood. */
int gpu_bind_read(const char *text, struct arena *arena, Pb__GpuBind **out, struct err *err);

/* Without --gpu-bind: tasks that ask for GPUs of their own ("gpu:a100:2,nic:1", or NULL) get those,
 * and tasks_per_gpu (0: not said) share one. NULL: every task is told of all. */
Pb__GpuBind *gpu_bind_implied(const char *task_gres, uint32_t tasks_per_gpu, struct arena *arena);
