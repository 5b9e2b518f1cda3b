/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Orders to end a step that arrived before the launch of the step. The launch is then refused. The
 * latest CANCELLED_MAX orders are remembered in memory only, because the controller repeats an
 * order until the step has ended. Pure functions.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

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
