/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <time.h>

#include "base/mem.h"
#include "loop/internal.h"

struct loop_timer {
    struct event *event;
    loop_fn *fn;
    void *ctx;
};

struct loop_fd {
    struct loop *loop;
    struct event *event; /* NULL while nothing is watched */
    int fd;
    unsigned events;
    loop_fd_fn *fn;
    void *ctx;
    bool in_callback, freed;
};

static struct loop *make_loop(int flags)
{
    struct loop *l = mem_new(struct loop);
    struct event_config *config;

    /* With these functions a lack of memory ends the process, as everywhere; libevent's own
     * event_new() and event_add() would return errors that callers cannot handle. */
    event_set_mem_functions(mem_alloc, mem_realloc, free);
    config = event_config_new();
    /* A timer that is set late in a long callback counts from that time, not from the start of the
     * turn. Environment variables such as EVENT_NOEPOLL are ignored. */
    event_config_set_flag(config,
                          flags | EVENT_BASE_FLAG_NO_CACHE_TIME | EVENT_BASE_FLAG_IGNORE_ENV);
    l->base = event_base_new_with_config(config);
    event_config_free(config);
    if (!l->base)
        abort();
    return l;
}

/* libevent implements exact timers by a descriptor that it sets each turn. */
struct loop *loop_new(unsigned workers)
{
    struct loop *l = make_loop(EVENT_BASE_FLAG_PRECISE_TIMER);

    if (workers)
        l->workers = loop_workers_new(l, workers);
    return l;
}

struct loop *loop_new_coarse(void)
{
    return make_loop(0);
}

void loop_free(struct loop *l)
{
    if (!l)
        return;
    loop_workers_free(l->workers);
    loop_children_free(l->children);
    for (size_t i = 0; i < l->signal_count; i++) {
        void *watch = event_get_callback_arg(l->signals[i]);
        event_free(l->signals[i]);
        free(watch);
    }
    free(l->signals);
    event_base_free(l->base);
    free(l);
}

bool loop_has_workers(const struct loop *l)
{
    return l->workers != NULL;
}

void loop_run(struct loop *l)
{
    l->stop = false;
    while (!l->stop) {
        if (event_base_loop(l->base, EVLOOP_ONCE | EVLOOP_NO_EXIT_ON_EMPTY) < 0)
            break;
        if (l->turn)
            l->turn(l->turn_ctx);
    }
}

void loop_stop(struct loop *l)
{
    l->stop = true;
    event_base_loopbreak(l->base);
}

void loop_forked(struct loop *l)
{
    if (event_reinit(l->base) < 0)
        abort();
}

void loop_on_turn(struct loop *l, loop_fn *fn, void *ctx)
{
    l->turn = fn;
    l->turn_ctx = ctx;
}

static int64_t clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t loop_mono_ms(void)
{
    return clock_ms(CLOCK_BOOTTIME);
}

int64_t loop_wall_ms(void)
{
    return clock_ms(CLOCK_REALTIME);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
    struct loop_timer *t = arg;
    t->fn(t->ctx);
}

struct loop_timer *loop_timer_new(struct loop *l, loop_fn *fn, void *ctx)
{
    struct loop_timer *t = mem_new(struct loop_timer);
    t->fn = fn;
    t->ctx = ctx;
    t->event = evtimer_new(l->base, timer_fired, t);
    return t;
}

void loop_timer_set(struct loop_timer *t, int64_t after_ms)
{
    if (after_ms < 0) {
        evtimer_del(t->event);
        return;
    }
    struct timeval tv = {.tv_sec = after_ms / 1000, .tv_usec = after_ms % 1000 * 1000};
    evtimer_add(t->event, &tv);
}

void loop_timer_free(struct loop_timer *t)
{
    if (!t)
        return;
    event_free(t->event);
    free(t);
}

static void fd_ready(evutil_socket_t fd, short what, void *arg)
{
    struct loop_fd *f = arg;
    unsigned ready = (what & EV_READ ? LOOP_READ : 0) | (what & EV_WRITE ? LOOP_WRITE : 0);
    f->in_callback = true;
    f->fn(f->ctx, f->fd, ready);
    f->in_callback = false;
    if (f->freed)
        free(f);
}

struct loop_fd *loop_fd_new(struct loop *l, int fd, unsigned events, loop_fd_fn *fn, void *ctx)
{
    struct loop_fd *f = mem_new(struct loop_fd);
    f->loop = l;
    f->fd = fd;
    f->fn = fn;
    f->ctx = ctx;
    loop_fd_events(f, events);
    return f;
}

void loop_fd_events(struct loop_fd *f, unsigned events)
{
    if (f->freed || (f->event && f->events == events))
        return;
    if (f->event)
        event_free(f->event);
    f->event = NULL;
    f->events = events;
    if (!events)
        return;
    short what =
        EV_PERSIST | (events & LOOP_READ ? EV_READ : 0) | (events & LOOP_WRITE ? EV_WRITE : 0);
    f->event = event_new(f->loop->base, f->fd, what, fd_ready, f);
    event_add(f->event, NULL);
}

void loop_fd_free(struct loop_fd *f)
{
    if (!f || f->freed)
        return;
    if (f->event)
        event_free(f->event);
    f->event = NULL;
    f->freed = true;
    if (!f->in_callback)
        free(f);
}

struct signal_watch {
    loop_signal_fn *fn;
    void *ctx;
};

static void signal_came(evutil_socket_t signo, short what, void *arg)
{
    struct signal_watch *w = arg;
    w->fn(w->ctx, (int)signo);
}

void loop_signal(struct loop *l, int signo, loop_signal_fn *fn, void *ctx)
{
    struct signal_watch *w = mem_new(struct signal_watch);
    w->fn = fn;
    w->ctx = ctx;
    struct event *event = evsignal_new(l->base, signo, signal_came, w);
    event_add(event, NULL);
    l->signals = mem_realloc(l->signals, (l->signal_count + 1) * sizeof(struct event *));
    l->signals[l->signal_count++] = event;
}
