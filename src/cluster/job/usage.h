/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Resource usage of processes: merges parts (nodes of a step, steps of a job). */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/str.h"
#include "proto/common.pb-c.h"

/* Merges a part: sums are added, high-water marks compared. 'node': the reporting node, for marks
 * that name none; NULL: unknown. New memory is in the arena; texts of 'more' are borrowed. */
void usage_merge(Pb__Usage *into, const Pb__Usage *more, const char *node, struct arena *arena);

/* Like usage_merge(), on packed bytes (empty: no usage yet); without 'marks' the marks of tasks are
 * left out. */
void usage_merge_packed(struct str *packed, const Pb__Usage *more, const char *node, bool marks);
