/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Starts a program with no signal blocked or ignored, whatever the caller's signal settings are;
 * with 'session' in a new session. Does not copy page tables, so the cost is independent of the
 * caller's heap size. Consumes the file actions. Returns 0 or an errno; on error there is no pid.
 */
int child_start(pid_t *pid, const char *path, posix_spawn_file_actions_t *actions, bool session,
                char *const *argv, char *const *env);

/* Waits up to limit_ms for the child to end. True: it has ended and is reaped. False: it still
 * runs, possibly stopped, so a caller that gives it up must send SIGKILL. */
bool child_await(pid_t pid, unsigned limit_ms, int *status);
