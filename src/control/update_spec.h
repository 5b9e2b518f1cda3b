/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A change of a job's request, as scontrol update has it: only the fields that are given. */
#pragma once

#include "control/submit.h"

/* Whether the caller may ask for this, and what of it can be changed of a job in its state. */
int update_spec_check(const struct caller *who, const struct job *j, const Pb__JobSpec *set,
                      struct err *err);
int update_spec_settable(const struct job *j, const Pb__JobSpec *set, struct err *err);
/* The job is as it was where it could not run with it. */
int update_spec_apply(struct control *c, const struct caller *who, struct job *j,
                      const Pb__JobSpec *set, struct err *err);
/* The limit that it states; none: the job's own. */
int64_t update_spec_limit_sec(const Pb__JobSpec *set, const struct job *j);
