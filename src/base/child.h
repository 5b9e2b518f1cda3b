/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * Starts a program with no signal blocked and none ignored, whatever the caller does with signals;
 * with 'session' in a session of its own. Copies no page tables: it costs the same whatever the
 * caller's heap has become. Consumes the file actions. Returns 0 or an errno, and then no pid.
 */
int child_start(pid_t *pid, const char *path, posix_spawn_file_actions_t *actions, bool session,
                char *const *argv, char *const *env);

/* Whether the child has ended within that time, and how: it is waited for then, and not otherwise.
 * It may have been stopped by somebody, so whoever gives it up sends SIGKILL. */
bool child_await(pid_t pid, unsigned limit_ms, int *status);
