/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What this room says: replies to calls, also deferred ones, the rights of callers on jobs, which
 * records a caller may see (PrivateData), and messages in slurmctld.log.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/log.h"
#include "cluster/job/job.h"
#include "control/control.h"
#include "control/internal.h"

struct control;

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

#define CONTROL_LOG_LINES 60

void control_log(struct control *c, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* For messages that a user can cause repeatedly: at most CONTROL_LOG_LINES per minute and user,
 * then the number of suppressed messages. */
void control_log_limited(struct control *c, uint32_t uid, enum log_level level, const char *fmt,
                         ...) __attribute__((format(printf, 4, 5)));
