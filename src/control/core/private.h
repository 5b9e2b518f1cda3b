/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PrivateData: which records a caller may see. */
#pragma once

#include "control/internal.h"

bool private_shows_job(const struct control *c, const struct caller *who, const struct job *j);
/* Returns the error for a caller who may not access the job: ERR_ACCESS, or ERR_NO_JOB if the
 * caller may not know that the job exists. */
int private_denial(const struct control *c, const struct caller *who, const struct job *j);
