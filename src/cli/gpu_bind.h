/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --gpu-bind, and the GPU binding that other options imply. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/step.pb-c.h"

/* "[verbose,]TYPE[:VALUE]"; *out lives in the arena. Returns -ERR_BIND for invalid text. */
int gpu_bind_read(const char *text, struct arena *arena, Pb__GpuBind **out, struct err *err);

/* The binding without --gpu-bind: tasks that request their own GPUs ("gpu:a100:2,nic:1", or NULL)
 * get those; tasks_per_gpu (0: not given) tasks share one. NULL: every task sees all GPUs. */
Pb__GpuBind *gpu_bind_implied(const char *task_gres, uint32_t tasks_per_gpu, struct arena *arena);
