/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"

#define TERMINAL_RETRY_MS 1000 /* another process group has the terminal */

struct feed {
    struct loop *loop;
    feed_data_fn *fn;
    void *ctx;
    int fd;
    bool own_fd;    /* opened here: must be closed */
    bool is_socket; /* uses MSG_DONTWAIT in place of O_NONBLOCK */
    bool ended, paused;
    struct loop_fd *watch;    /* for descriptors that can be polled */
    struct loop_timer *timer; /* for files, and for a terminal that is not in the foreground now */
    bool pollable;
};

/* Regular files and some devices are always ready; epoll rejects them. */
static bool can_poll(int fd)
{
    struct epoll_event e = {.events = EPOLLIN};
    int ep = epoll_create1(EPOLL_CLOEXEC);
    bool yes;

    if (ep < 0)
        return true;
    yes = epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e) == 0;
    close(ep);
    return yes;
}

/*
 * Another reader may take the available bytes first, and then a read would block. O_NONBLOCK is a
 * property of the open file, which other processes share and may change; opening the same pipe or
 * terminal again gives an own open file. A regular file must not be opened again, since its
 * position is shared. Device (5, 2) creates terminals: opening it again creates another one.
 */
static void make_nonblocking(struct feed *f)
{
    char path[64];
    struct stat st;
    int fd;

    if (fstat(f->fd, &st) < 0)
        return;
    f->is_socket = S_ISSOCK(st.st_mode);
    if (!S_ISFIFO(st.st_mode) && (!isatty(f->fd) || st.st_rdev == makedev(5, 2)))
        return;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0) /* for example, it belongs to another user */
        return;
    f->fd = fd;
    f->own_fd = true;
}

static void arm_watch(struct feed *f)
{
    bool want = !f->ended && !f->paused;

    if (f->watch != NULL)
        loop_fd_events(f->watch, want ? LOOP_READ : 0);
    else if (!f->pollable)
        loop_timer_set(f->timer, want ? 0 : -1);
}

static ssize_t read_input(struct feed *f, char *data, size_t len)
{
    struct pollfd from = {.fd = f->fd, .events = POLLIN};

    if (f->is_socket)
        return recv(f->fd, data, len, MSG_DONTWAIT);
    /* A small race remains: another reader may come first. */
    if (f->pollable && !f->own_fd && poll(&from, 1, 0) == 0) {
        errno = EAGAIN;
        return -1;
    }
    return read(f->fd, data, len);
}

static void let_go(struct feed *f)
{
    loop_fd_free(f->watch);
    f->watch = NULL;
    if (f->own_fd)
        close(f->fd);
    f->own_fd = false;
}

static void read_some(struct feed *f)
{
    char data[FEED_PIECE];
    ssize_t n;

    if (f->ended || f->paused)
        return;
    n = read_input(f, data, sizeof(data));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        arm_watch(f);
        return;
    }
    if (n < 0 && errno == EIO && isatty(f->fd)) { /* in the background: SIGTTIN is ignored */
        if (f->watch != NULL)
            loop_fd_events(f->watch, 0);
        loop_timer_set(f->timer, TERMINAL_RETRY_MS);
        return;
    }
    if (n <= 0) {
        f->ended = true;
        let_go(f);
        n = 0;
    }
    arm_watch(f);
    f->fn(f->ctx, data, (size_t)n);
}

static void on_feed_ready(void *ctx, int fd, unsigned ready)
{
    (void)fd;
    (void)ready;
    read_some(ctx);
}

static void on_feed_timer(void *ctx)
{
    struct feed *f = ctx;

    if (f->watch != NULL)
        arm_watch(f);
    else
        read_some(f);
}

struct feed *feed_new(struct loop *l, int fd, feed_data_fn *fn, void *ctx)
{
    struct feed *f = mem_new(struct feed);

    f->loop = l;
    f->fn = fn;
    f->ctx = ctx;
    f->fd = fd;
    f->paused = true;
    f->timer = loop_timer_new(l, on_feed_timer, f);
    make_nonblocking(f);
    f->pollable = can_poll(f->fd);
    if (f->pollable)
        f->watch = loop_fd_new(l, f->fd, 0, on_feed_ready, f);
    return f;
}

void feed_pause(struct feed *f, bool paused)
{
    if (f->paused == paused)
        return;
    f->paused = paused;
    arm_watch(f);
}

void feed_free(struct feed *f)
{
    if (f == NULL)
        return;
    let_go(f);
    loop_timer_free(f->timer);
    free(f);
}
