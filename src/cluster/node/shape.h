/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a job asks of nodes, as words: "min_nodes=2 num_tasks=8 gres=gpu:1". Fields of JobSpec by
 * their names; who it is and what it runs are none of them. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/job.pb-c.h"

void shape_format(const Pb__JobSpec *s, struct str *out);
/* Sets those fields; texts are in the arena. -ERR_PARSE. */
int shape_parse(const char *text, struct arena *arena, Pb__JobSpec *s, struct err *err);
