/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What relax.c and relax_say.c share; for nobody else. */
#pragma once

#include "base/arena.h"
#include "sched/why/relax.h"

/* Its limit with this change; r NULL: as it is. */
int64_t relax_limit_sec(const struct job *j, const Pb__JobSpec *spec, const struct relax *r,
                        uint64_t number);
/* A number of tasks was given as such; how many they are with so many nodes. */
bool relax_counts_tasks(const Pb__JobSpec *spec);
uint32_t relax_tasks(const struct job *j, const Pb__JobSpec *spec, uint64_t nodes);

/* relax_gres.c: lists of generic resources as users write them, "gpu:a100:2,nic"; NULL: none. */
bool relax_gres_is_typed(const char *text);
/* The last word: what --gpus-per-node adds is there. Its count; false: there is none. */
const char *relax_gres_last(const char *text);
bool relax_gres_count(const char *text, uint64_t *count);
/* The list without types; with so many of the last one. In the arena. */
char *relax_gres_untyped(struct arena *arena, const char *text);
char *relax_gres_with(struct arena *arena, const char *text, uint64_t count);
