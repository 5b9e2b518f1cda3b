/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Child processes. SIGCHLD only says that some child has ended, and several ends may cause a
 * single signal: all ended children are reaped by waitpid(-1), so that unwatched children (a
 * subreaper's orphans) are found, too. A child is watched in the same turn in which it was
 * created, before any signal is handled, so none is mistaken for an orphan.
 */
#include <signal.h>
#include <sys/wait.h>

#include "base/vec.h"
#include "loop/internal.h"

struct child {
    pid_t pid;
    loop_child_fn *fn;
    void *ctx;
};

struct loop_children {
    struct event *look; /* a timer event */
    VEC(struct child) watched;
    loop_child_fn *other;
    void *other_ctx;
};

static void child_ended(struct loop_children *c, pid_t pid, int status)
{
    for (size_t i = 0; i < c->watched.len; i++) {
        struct child child = c->watched.data[i];
        if (child.pid != pid)
            continue;
        c->watched.data[i] = c->watched.data[c->watched.len - 1];
        c->watched.len--;
        child.fn(child.ctx, pid, status);
        return;
    }
    if (c->other)
        c->other(c->other_ctx, pid, status);
}

/* Without fn_other only watched children are reaped, since other code may wait for the rest. */
static void reap_watched(struct loop_children *c)
{
    for (size_t i = 0; i < c->watched.len;) {
        int status;
        pid_t pid = c->watched.data[i].pid;
        if (waitpid(pid, &status, WNOHANG) == pid)
            child_ended(c, pid, status);
        else
            i++;
    }
}

static void reap_children(struct loop_children *c)
{
    int status;
    pid_t pid;
    if (!c->other) {
        reap_watched(c);
        return;
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        child_ended(c, pid, status);
}

static void on_child_signal(void *ctx, int signo)
{
    reap_children(ctx);
}

static void on_child_look(evutil_socket_t fd, short what, void *ctx)
{
    reap_children(ctx);
}

static struct loop_children *get_children(struct loop *l)
{
    if (!l->children) {
        l->children = mem_new(struct loop_children);
        l->children->look = evtimer_new(l->base, on_child_look, l->children);
        loop_signal(l, SIGCHLD, on_child_signal, l->children);
    }
    return l->children;
}

void loop_children_free(struct loop_children *c)
{
    if (!c)
        return;
    event_free(c->look);
    vec_done(&c->watched);
    free(c);
}

/* Uses a timer instead of a signal, which needs more system calls. Descriptors are handled first:
 * a child may have written why it ended. */
void loop_child_look(struct loop *l)
{
    static const struct timeval now;
    evtimer_add(get_children(l)->look, &now);
}

void loop_child(struct loop *l, pid_t pid, loop_child_fn *fn, void *ctx)
{
    struct loop_children *c = get_children(l);
    vec_push(&c->watched, ((struct child){.pid = pid, .fn = fn, .ctx = ctx}));
    loop_child_look(l); /* it may have ended before it was watched */
}

void loop_child_other(struct loop *l, loop_child_fn *fn_other, void *ctx)
{
    struct loop_children *c = get_children(l);
    c->other = fn_other;
    c->other_ctx = ctx;
    loop_child_look(l); /* for children that have already ended */
}
