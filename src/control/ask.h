/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the site's job_submit plugins say to a submission or a change of a job. */
#pragma once

#include "control/internal.h"

/* *spec becomes what they make of it, in the arena. payload may be NULL. What they say to the user
 * is kept until the next question. ENV_SUBMIT_LATER: the request is to leave no trace, and has no
 * answer: it comes again. */
int ask_submit(struct control *c, const struct caller *who, const Pb__JobPayload *payload,
               Pb__JobSpec *spec, struct arena *arena, struct err *err);
int ask_modify(struct control *c, const struct caller *who, const struct job *j, Pb__JobSpec *set,
               struct arena *arena, struct err *err);
