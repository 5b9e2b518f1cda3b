/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/child.h"

#include <signal.h>

int child_start(pid_t *pid, const char *path, posix_spawn_file_actions_t *actions, bool session,
                char *const *argv, char *const *env)
{
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    posix_spawnattr_t attr;
    sigset_t set;
    int rc;

    posix_spawnattr_init(&attr);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attr, &set);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attr, &set);
    posix_spawnattr_setflags(&attr, session ? (short)(flags | POSIX_SPAWN_SETSID) : flags);
    rc = posix_spawn(pid, path, actions, &attr, argv, env);
    posix_spawn_file_actions_destroy(actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}
