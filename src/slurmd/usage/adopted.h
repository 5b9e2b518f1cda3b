/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes that were adopted into extern steps (extern.h), which others than a shepherd have
 * started.
 */
#pragma once

#include "slurmd/attempt/attempt.h"
#include "slurmd/usage/snapshot.h"

/* The job that this process, or one above it, was adopted into; NULL: none. */
struct attempt *adopted_find(const struct slurmd *d, pid_t pid);
/* For a look at all processes: those in extern steps; and after it, which of them have ended. */
void adopted_collect(struct slurmd *d, struct snapshot *s);
void adopted_forget_ended(struct slurmd *d, const struct snapshot *s);

/* SIGKILL to the adopted that live, of a step whose shepherd has gone. How many; one of them. */
unsigned adopted_kill(const struct attempt *a, struct str *left);
