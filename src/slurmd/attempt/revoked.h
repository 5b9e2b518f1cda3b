/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Jobs that have ended on this node. Their credentials, even if not expired, start nothing, and a
 * late order to end such a job does not run a second epilog. The latest REVOKED_MAX jobs are
 * remembered, in memory and in a file.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define REVOKED_MAX 65536

struct revoked;

int revoked_open(const char *path, struct revoked **out, struct err *err);
void revoked_close(struct revoked *r);
/* The cluster was started anew with an empty state and reuses the ids. */
void revoked_clear(struct revoked *r);
void revoked_add(struct revoked *r, uint32_t job_id, uint32_t restarts);
bool revoked_has(const struct revoked *r, uint32_t job_id, uint32_t restarts);
