/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes adopted into extern steps (extern.h), which were not started by a shepherd.
 */
#pragma once

#include "slurmd/attempt/attempt.h"
#include "slurmd/usage/snapshot.h"

/* Returns the job that this process or one of its ancestors was adopted into; NULL: none. */
struct attempt *adopted_find(const struct slurmd *d, pid_t pid);
/* Adds the adopted processes to a snapshot of all processes; after the snapshot, removes the ended
   ones. */
void adopted_collect(struct slurmd *d, struct snapshot *s);
void adopted_forget_ended(struct slurmd *d, const struct snapshot *s);

/* For a step whose shepherd has gone: sends SIGKILL to the adopted processes. Returns their number
   and describes one of them in 'left'. */
unsigned adopted_kill(const struct attempt *a, struct str *left);
