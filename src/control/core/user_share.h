/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shares of users in what the controller has for all jobs: MaxJobCount, memory for records, and the
 * space of the store. A user may take what is free, down to a reserve (user_reserve, in percent).
 * In the reserve a user may have as much as is still free for everybody else: so the first job of a
 * user always finds a place, whatever the others do. Operators are exempt.
 */
#pragma once

#include "control/internal.h"

/* Whether the jobs of this user may take so much more. -ERR_JOB_LIMIT, -ERR_LIMIT or
 * -ERR_STORE_FULL, with the limit, what the user has, and what to do. */
int user_share_check(struct control *c, const struct caller *who, uint32_t uid,
                     const struct holding *more, struct err *err);

/* A submission was refused because something is full: the log names the largest user, once a
 * minute. */
void user_share_log_largest(struct control *c);
