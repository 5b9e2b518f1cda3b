/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/child.h"

#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"

/* Polling interval if the kernel has no pidfds: before 5.3, or under valgrind. */
#define LOOK_MS 20

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

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool child_await(pid_t pid, unsigned limit_ms, int *status)
{
    _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = handle, .events = POLLIN};
    int64_t end_ms = now_ms() + limit_ms, left_ms;

    while (waitpid(pid, status, WNOHANG) != pid) {
        left_ms = end_ms - now_ms();
        if (left_ms <= 0)
            return false;
        poll(&p, handle >= 0, (int)(handle < 0 && left_ms > LOOK_MS ? LOOK_MS : left_ms));
    }
    return true;
}
