/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside this room: the program that asks, started from a login daemon. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "pam/options.h"
#include "pam/result.h"

/* Runs it and waits, HELPER_SEC at most; then it is killed. Whatever goes wrong is RESULT_GENERIC
 * with a text. job_id 0: none is wanted. */
#define HELPER_SEC 110 /* sshd's own patience is 120 */
void helper_run(const struct options *o, uid_t uid, uint32_t job_id, struct result *out);
