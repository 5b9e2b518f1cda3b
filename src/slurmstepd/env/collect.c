/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/env/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads available output. Returns false at the end of file. */
static bool read_output(int fd, size_t max, struct str *text, bool *cut)
{
    char chunk[4096];
    ssize_t n;

    while ((n = read(fd, chunk, sizeof(chunk))) > 0) {
        size_t room = max - text->len;

        *cut |= (size_t)n > room;
        str_append(text, chunk, (size_t)n < room ? (size_t)n : room);
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR);
}

static int reap_child(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

int collect(pid_t pid, int fd, const struct collect_limits *limits, struct str *text, bool *cut)
{
    int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd watched[2] = {{fd, POLLIN, 0}, {handle, POLLIN, 0}};
    int64_t end_ms = now_ms() + (int64_t)limits->sec * 1000;
    bool ended = false;

    fcntl(fd, F_SETFL, O_NONBLOCK);
    while (!ended && (watched[0].fd >= 0 || handle >= 0)) {
        int64_t left = end_ms - now_ms();

        if (limits->sec && left <= 0)
            break;
        if (poll(watched, 2, limits->sec ? (int)left : -1) <= 0)
            continue;
        ended = watched[1].revents != 0;
        if (watched[0].fd >= 0 && !read_output(fd, limits->bytes, text, cut))
            watched[0].fd = -1;
    }
    bool late = !ended && (watched[0].fd >= 0 || handle >= 0);
    if (handle >= 0)
        close(handle);
    if (late)
        kill(-pid, SIGKILL);
    int status = reap_child(pid);
    return late ? COLLECT_LATE : status;
}
