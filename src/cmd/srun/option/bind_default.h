/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What tasks are bound to where --cpu-bind does not say: what other options imply; what CpuBind of
 * their nodes or partition says; TaskPluginParam; by themselves, in this order.
 */
#pragma once

#include "base/arena.h"
#include "cli/opt.h"
#include "cluster/resource/dist.h"
#include "proto/step.pb-c.h"

/* By --hint, --threads-per-core, -B, --ntasks-per-core and --ntasks-per-socket. *bind may be NULL,
 * and stays so where nothing follows. Lives in the arena. */
void bind_imply(const struct opt *o, struct arena *arena, Pb__Bind **bind);

/* Whether cores are to be begun rather than used up, as far as is known when a step is asked for.
 */
bool bind_spreads(const struct dist *d, const Pb__Bind *bind);

/* cpu_bind: a word of CpuBind, or NULL; param: TaskPluginParam. Words that are not of theirs say
 * nothing: the daemons have told of them. */
void bind_settle(const char *cpu_bind, const char *param, struct arena *arena, Pb__Bind **bind);
