/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/common/feed.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/mem.h"

#define TERMINAL_RETRY_MS 1000 /* another process group has the terminal */

struct feed {
    struct loop *loop;
    feed_data_fn *fn;
    void *ctx;
    int fd;
    bool ended, paused;
    struct loop_fd *watch;    /* what can be waited for */
    struct loop_timer *timer; /* files, and a terminal that is not ours now */
    bool pollable;
};

/* Regular files and some devices are always ready; epoll refuses them. */
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

static void arm(struct feed *f)
{
    bool want = !f->ended && !f->paused;

    if (f->watch != NULL)
        loop_fd_events(f->watch, want ? LOOP_READ : 0);
    else if (!f->pollable)
        loop_timer_set(f->timer, want ? 0 : -1);
}

static void read_some(struct feed *f)
{
    char data[FEED_PIECE];
    ssize_t n;

    if (f->ended || f->paused)
        return;
    n = read(f->fd, data, sizeof(data));
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) {
        arm(f);
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
        n = 0;
    }
    arm(f);
    f->fn(f->ctx, data, (size_t)n);
}

static void on_ready(void *ctx, int fd, unsigned ready)
{
    (void)fd;
    (void)ready;
    read_some(ctx);
}

static void on_timer(void *ctx)
{
    struct feed *f = ctx;

    if (f->watch != NULL)
        arm(f);
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
    f->timer = loop_timer_new(l, on_timer, f);
    f->pollable = can_poll(fd);
    if (f->pollable)
        f->watch = loop_fd_new(l, fd, 0, on_ready, f);
    return f;
}

void feed_pause(struct feed *f, bool paused)
{
    if (f->paused == paused)
        return;
    f->paused = paused;
    arm(f);
}

void feed_free(struct feed *f)
{
    if (f == NULL)
        return;
    loop_fd_free(f->watch);
    loop_timer_free(f->timer);
    free(f);
}
