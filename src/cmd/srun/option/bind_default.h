/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The binding of tasks when --cpu-bind does not set it. In this order: other options imply it;
 * CpuBind of the nodes or the partition; TaskPluginParam; the automatic binding.
 */
#pragma once

#include "base/arena.h"
#include "cli/opt.h"
#include "cluster/resource/dist.h"
#include "proto/step.pb-c.h"

/* By --hint, --threads-per-core, -B, --ntasks-per-core and --ntasks-per-socket. *bind may be NULL,
 * and stays NULL if no option implies a binding. Lives in the arena. */
void bind_imply(const struct opt *o, struct arena *arena, Pb__Bind **bind);

/* Whether tasks should be spread over cores instead of filling them, as far as this is known when
 * the step is requested. */
bool bind_spreads(const struct dist *d, const Pb__Bind *bind);

/* cpu_bind: a word of CpuBind, or NULL; param: TaskPluginParam. Unknown words are ignored: the
 * daemons have reported them. */
void bind_settle(const char *cpu_bind, const char *param, struct arena *arena, Pb__Bind **bind);
