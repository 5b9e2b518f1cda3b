/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The worker pool. Tasks wait in one list; a worker takes the first task whose lane is free, so
 * tasks of a lane keep their order and never overlap. Finished tasks return to the loop through an
 * eventfd.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include "base/vec.h"
#include "loop/internal.h"

struct task {
    struct task *next;
    unsigned lane;
    loop_fn *run, *done;
    void *arg;
};

struct list {
    struct task *first, **last;
};

struct loop_workers {
    pthread_mutex_t mutex;
    pthread_cond_t wake;
    struct list waiting, finished;
    VEC(unsigned) busy_lanes;
    bool stop;
    int fd;
    struct loop_fd *watch;
    pthread_t *threads;
    unsigned count;
};

static void list_init(struct list *l)
{
    l->first = NULL;
    l->last = &l->first;
}

static void list_append(struct list *l, struct task *t)
{
    t->next = NULL;
    *l->last = t;
    l->last = &t->next;
}

static bool lane_is_busy(const struct loop_workers *w, unsigned lane)
{
    for (size_t i = 0; lane && i < w->busy_lanes.len; i++)
        if (w->busy_lanes.data[i] == lane)
            return true;
    return false;
}

/* Removes and returns the first task that can run now; NULL if there is none. */
static struct task *take_task(struct loop_workers *w)
{
    for (struct task **at = &w->waiting.first; *at; at = &(*at)->next) {
        struct task *t = *at;
        if (lane_is_busy(w, t->lane))
            continue;
        *at = t->next;
        if (w->waiting.last == &t->next)
            w->waiting.last = at;
        if (t->lane)
            vec_push(&w->busy_lanes, t->lane);
        return t;
    }
    return NULL;
}

/* Called by a worker that then looks for a task itself, so no other worker needs to be woken for
   the lane's next task. */
static void free_lane(struct loop_workers *w, unsigned lane)
{
    for (size_t i = 0; i < w->busy_lanes.len; i++)
        if (w->busy_lanes.data[i] == lane) {
            vec_remove(&w->busy_lanes, i);
            return;
        }
}

/* No thread is woken just to wait for the lock. */
static void finish_task(struct loop_workers *w, struct task *t)
{
    bool first = !w->finished.first;

    free_lane(w, t->lane);
    list_append(&w->finished, t);
    if (!first) /* the loop has been notified and has not run yet */
        return;
    pthread_mutex_unlock(&w->mutex);
    eventfd_write(w->fd, 1);
    pthread_mutex_lock(&w->mutex);
}

static void *run_worker(void *arg)
{
    struct loop_workers *w = arg;
    pthread_mutex_lock(&w->mutex);
    for (;;) {
        struct task *t = take_task(w);
        if (!t && w->stop)
            break;
        if (!t) {
            pthread_cond_wait(&w->wake, &w->mutex);
            continue;
        }
        pthread_mutex_unlock(&w->mutex);
        t->run(t->arg);
        pthread_mutex_lock(&w->mutex);
        finish_task(w, t);
    }
    pthread_mutex_unlock(&w->mutex);
    return NULL;
}

static void tasks_done(void *ctx, int fd, unsigned ready)
{
    struct loop_workers *w = ctx;
    eventfd_t count;
    eventfd_read(fd, &count);
    pthread_mutex_lock(&w->mutex);
    struct task *t = w->finished.first;
    list_init(&w->finished);
    pthread_mutex_unlock(&w->mutex);
    while (t) {
        struct task *next = t->next;
        if (t->done)
            t->done(t->arg);
        free(t);
        t = next;
    }
}

struct loop_workers *loop_workers_new(struct loop *l, unsigned count)
{
    struct loop_workers *w = mem_new(struct loop_workers);
    pthread_mutex_init(&w->mutex, NULL);
    pthread_cond_init(&w->wake, NULL);
    list_init(&w->waiting);
    list_init(&w->finished);
    w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    w->watch = loop_fd_new(l, w->fd, LOOP_READ, tasks_done, w);
    w->threads = mem_new_array(pthread_t, count);

    /* Signals are delivered to the loop's thread. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 512 << 10);
    while (w->count < count && pthread_create(&w->threads[w->count], &attr, run_worker, w) == 0)
        w->count++;
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (w->count == 0)
        abort();
    return w;
}

/* Waits for every posted task; done() is still called for finished ones. A task that done() posts
 * here is dropped, because there is no worker left. */
void loop_workers_free(struct loop_workers *w)
{
    if (!w)
        return;
    pthread_mutex_lock(&w->mutex);
    w->stop = true;
    pthread_cond_broadcast(&w->wake);
    pthread_mutex_unlock(&w->mutex);
    for (unsigned i = 0; i < w->count; i++)
        pthread_join(w->threads[i], NULL);
    tasks_done(w, w->fd, LOOP_READ);
    for (struct task *t = w->waiting.first, *next; t; t = next) {
        next = t->next;
        free(t);
    }
    loop_fd_free(w->watch);
    close(w->fd);
    vec_done(&w->busy_lanes);
    pthread_mutex_destroy(&w->mutex);
    pthread_cond_destroy(&w->wake);
    free(w->threads);
    free(w);
}

void loop_work_post(struct loop *l, unsigned lane, loop_fn *run, loop_fn *done, void *arg)
{
    struct loop_workers *w = l->workers;
    struct task *t = mem_new(struct task);
    bool busy;
    t->lane = lane;
    t->run = run;
    t->done = done;
    t->arg = arg;
    pthread_mutex_lock(&w->mutex);
    list_append(&w->waiting, t);
    busy = lane_is_busy(w, lane); /* the lane's worker will find it */
    pthread_mutex_unlock(&w->mutex);
    if (!busy)
        pthread_cond_signal(&w->wake);
}
