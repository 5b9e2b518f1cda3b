/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records that were set aside because they were damaged. */
#pragma once

#include "control/control.h"

struct control;

bool aside_knows(const struct control *c, uint32_t job_id); /* its id must not be assigned again */
bool aside_holds(const struct control *c, uint32_t job_id); /* and the job may still run on nodes */
void aside_restore(struct control *c, uint32_t job_id);     /* a RECORD_GIVEN_UP */
void aside_replace_meta(struct control *c); /* at the start, if RECORD_META is lost */
void aside_add(struct control *c, uint32_t job_id, bool given_up);
