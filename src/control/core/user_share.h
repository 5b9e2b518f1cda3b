/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shares of users in resources that the controller has for all jobs: MaxJobCount, memory for
 * records, and space in the store. A user may take free resources down to a reserve (user_reserve,
 * in percent). Within the reserve a user may have at most as much as is still free for all others,
 * so that the first job of a user always fits. Operators are exempt.
 */
#pragma once

#include "control/internal.h"

/* Whether the jobs of this user may take 'more'. -ERR_JOB_LIMIT, -ERR_LIMIT or -ERR_STORE_FULL,
 * with the limit, the user's present share, and the remedy. */
int user_share_check(struct control *c, const struct caller *who, uint32_t uid,
                     const struct holding *more, struct err *err);

/* Logs the largest user, at most once per minute, after a submission failed because a resource is
 * full. */
void user_share_log_largest(struct control *c);
