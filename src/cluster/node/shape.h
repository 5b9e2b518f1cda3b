/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The resources that a job requests, as words: "min_nodes=2 num_tasks=8 gres=gpu:1". The words are
 * fields of JobSpec; fields for the job's identity and its program are excluded. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/job.pb-c.h"

void shape_format(const Pb__JobSpec *s, struct str *out);
/* Sets the fields that the text names; texts are in the arena. -ERR_PARSE: a word is invalid. */
int shape_parse(const char *text, struct arena *arena, Pb__JobSpec *s, struct err *err);
