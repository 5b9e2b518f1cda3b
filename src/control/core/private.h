/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PrivateData: which records a caller may see. */
#pragma once

#include "control/internal.h"

bool private_shows_job(const struct control *c, const struct caller *who, const struct job *j);
/* The code for a caller who may not touch the job: ERR_ACCESS, or ERR_NO_JOB as though the job did
 * not exist where the caller may not know of it. */
int private_denial(const struct control *c, const struct caller *who, const struct job *j);
