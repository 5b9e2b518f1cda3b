/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Killed processes that are held by a tracer outside of the step. Zombies are dead, but we cannot
 * reap them; processes stopped during exit never end.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether no descendant of ours is alive and none can be reaped: true, with children, only if all
 * of them are zombies held by tracers. */
bool held_is_over(void);

/* Returns the wait status of a zombie; SIGKILL if we may not read it. */
int held_status(pid_t pid);

/* Kills the processes of this user that hold one of ours stopped. Returns their number; calls
   on_ended() for each. */
unsigned held_end_tracers(uid_t uid, void (*on_ended)(void *ctx, pid_t tracer, pid_t held),
                          void *ctx);
