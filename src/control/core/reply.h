/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replies to calls, calls that are held until later, and who may do what to a job. */
#pragma once

#include "base/err.h"
#include "cluster/job/job.h"
#include "control/control.h"

/* Answers with err_text(code), or the text of err when it has one. */
void control_refuse(struct control *c, uint64_t call, const struct err *err);
void control_refuse_code(struct control *c, uint64_t call, int code,
                         const char *detail); /* detail may be NULL */
/* The table's text of the code, and the detail behind it. Returns the negative code. */
int control_set_error(struct err *err, int code, const char *detail);
void control_done(struct control *c, uint64_t call); /* replies Empty */
void control_hold(struct control *c, uint64_t call,
                  const struct job *j);                 /* it will be answered later */
void control_release(struct control *c, uint64_t call); /* about to be answered */
bool control_owns(const struct caller *who,
                  const struct job *j); /* owner, operator or administrator */
