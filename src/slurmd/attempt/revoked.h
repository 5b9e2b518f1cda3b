/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What may no longer start on this node: jobs that have ended here, and steps whose end was
 * ordered before their launch arrived. The credentials of such a job, even if not expired, start
 * nothing, and a late order to end it does not run a second epilog. The latest REVOKED_MAX jobs are
 * remembered, in memory and in a file. The latest CANCELLED_MAX orders are remembered in memory
 * only, because the controller repeats an order until the step has ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct revoked;

#define REVOKED_MAX 65536

int revoked_open(const char *path, struct revoked **out, struct err *err);
void revoked_close(struct revoked *r);
/* The cluster was started anew with an empty state and reuses the ids. */
void revoked_clear(struct revoked *r);
void revoked_add(struct revoked *r, uint32_t job_id, uint32_t restarts);
bool revoked_has(const struct revoked *r, uint32_t job_id, uint32_t restarts);

#define CANCELLED_MAX 1024

struct cancelled_step {
    uint32_t job_id, restarts, step_id;
};

struct cancelled {
    VEC(struct cancelled_step) list; /* if the list is full, 'next' is the oldest */
    size_t next;
};

bool cancelled_has(const struct cancelled *c, const struct cancelled_step *s);
/* Returns false if the step is already in the list. */
bool cancelled_add(struct cancelled *c, const struct cancelled_step *s);
void cancelled_done(struct cancelled *c);
