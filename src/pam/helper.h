/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the helper program from a login daemon. Private to src/pam. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "pam/options.h"
#include "pam/result.h"

/* Runs the program and waits for it, for at most HELPER_SEC seconds; then it is killed. Every
 * failure is RESULT_GENERIC with a text. job_id 0: no job is requested. */
#define HELPER_SEC 110 /* below sshd's limit of 120 */
void helper_run(const struct options *o, uid_t uid, uint32_t job_id, struct result *out);
