/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Replies to calls, deferred calls, the rights of callers on jobs, and which records a caller may
 * see (PrivateData).
 */
#pragma once

#include "base/err.h"
#include "cluster/job/job.h"
#include "control/control.h"
#include "control/internal.h"

/* Replies with the text of err, or with err_text(code) if err has none. */
void control_refuse(struct control *c, uint64_t call, const struct err *err);
void control_refuse_code(struct control *c, uint64_t call, int code,
                         const char *detail); /* detail may be NULL */
/* Sets the standard text of the code with the detail behind it. Returns the negative code. */
int control_set_error(struct err *err, int code, const char *detail);
void control_done(struct control *c, uint64_t call); /* replies Empty */
void control_hold(struct control *c, uint64_t call,
                  const struct job *j);                 /* the call will be answered later */
void control_release(struct control *c, uint64_t call); /* the call is about to be answered */
bool control_owns(const struct caller *who,
                  const struct job *j); /* owner, operator or administrator */

bool control_shows_job(const struct control *c, const struct caller *who, const struct job *j);
/* Returns the error for a caller who may not access the job: ERR_ACCESS, or ERR_NO_JOB if the
 * caller may not know that the job exists. */
int control_denial(const struct control *c, const struct caller *who, const struct job *j);
