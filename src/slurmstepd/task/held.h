/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The killed whom a tracer from outside of the step does not let go. As zombies they are dead, and
 * only their ends are not ours to take; stopped on their way out they live for ever.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Whether none of our descendants lives, and none is left that we could wait for: true with
 * children only when all are zombies that others hold. */
bool held_is_over(void);

/* The wait status of a zombie; SIGKILL when we may not know it. */
int held_status(pid_t pid);

/* Ends the processes of this user that hold one of ours stopped. Returns how many; tells of each.
 */
unsigned held_end_tracers(uid_t uid, void (*told)(void *ctx, pid_t tracer, pid_t held), void *ctx);
