/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order, repetition and end of commits, for every driver. */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "store/store_internal.h"

struct task {
    struct store *s;
    struct store_batch *batch; /* NULL: runs the driver's rest() */
    loop_fn *done;
    void *ctx;
    bool durable, lost, rest_due;
};

void store_trouble(struct store *s, const struct err *why)
{
    if (s->events.on_trouble)
        s->events.on_trouble(s->events.ctx, why);
}

/* No commit may follow a failed one. The first reason is kept. */
static void commits_end(struct store *s, const struct err *why)
{
    pthread_mutex_lock(&s->lock);
    if (!s->ended)
        s->why = *why;
    s->ended = true;
    pthread_mutex_unlock(&s->lock);
}

/* Handles a permanent failure of the driver's rest() or commit(). */
static void end_by_failure(struct store *s, const struct err *why)
{
    commits_end(s, why);
    if (why->code != -ERR_LEAD && s->events.on_fatal)
        s->events.on_fatal(s->events.ctx, why);
}

/* Assigns the number of a new batch, or fails with the reason. */
static int commit_begin(struct store *s, uint64_t *number, struct err *err)
{
    int rc = 0;
    pthread_mutex_lock(&s->lock);
    if (s->ended)
        rc = s->why.code == -ERR_LEAD ? err_set(err, -ERR_LEAD, "%s", s->why.text)
                                      : err_set(err, -ERR_STORE, "%s: an earlier write failed: %s",
                                                s->name, s->why.text);
    else if (s->epoch == 0)
        rc = err_set(err, -ERR_LEAD, "%s was opened for reading, without taking the lead", s->name);
    else
        *number = ++s->number;
    pthread_mutex_unlock(&s->lock);
    return rc;
}

static void pause_ms(struct store *s, long ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&s->lock);
    while (!s->closing && !pthread_cond_timedwait(&s->wake, &s->lock, &until))
        ;
    pthread_mutex_unlock(&s->lock);
}

/* Reports a failure once, and again when its kind changes. */
static void tell_repeating(struct store *s, int *reported_code, const struct err *why)
{
    if (*reported_code == why->code)
        return;
    *reported_code = why->code;
    struct err text = *why;
    err_prefix(&text, "nothing is answered until the state can be saved");
    store_trouble(s, &text);
}

static void tell_over(struct store *s, int reported_code)
{
    if (!reported_code)
        return;
    struct err text = {0};
    err_set(&text, 0, "the state is saved to %s again", s->name);
    store_trouble(s, &text);
}

/* Returns 0, or the reason why the batch will never be durable. */
static int commit_until_done(struct store *s, const struct store_batch *b, struct err *err)
{
    uint64_t number = 0;
    int reported_code = 0, rc = commit_begin(s, &number, err);
    if (rc)
        return rc;
    for (long ms = STORE_RETRY_FIRST_MS;; ms = ms * 2 < STORE_RETRY_MS ? ms * 2 : STORE_RETRY_MS) {
        rc = s->driver->commit(s, b, number, err);
        s->stuck = rc > 0;
        if (rc <= 0)
            break;
        tell_repeating(s, &reported_code, err);
        if (s->closing) {
            commits_end(s, err);
            return err->code;
        }
        pause_ms(s, ms);
    }
    if (rc == 0)
        tell_over(s, reported_code);
    else
        end_by_failure(s, err);
    return rc;
}

/* Runs the driver's work that no caller waits for. */
static void do_rest(struct store *s)
{
    struct err err = {0};
    int rc = s->ended ? 0 : s->driver->rest(s, &err);
    if (rc > 0)
        store_trouble(s, &err);
    else if (rc < 0)
        end_by_failure(s, &err);
}

/* Runs on a worker, or at once without a loop. */
static void task_run(void *arg)
{
    struct task *t = arg;
    struct store *s = t->s;
    if (!t->batch) {
        do_rest(s);
    } else {
        struct err err = {0};
        store_batch_sort(t->batch);
        int rc = commit_until_done(s, t->batch, &err);
        t->durable = rc == 0;
        t->lost = rc == -ERR_LEAD;
        t->rest_due = rc == 0 && s->driver->rest_due && s->driver->rest_due(s);
        if (t->lost)
            commits_end(s, &err);
        assert(s->under_way >= store_batch_bytes(t->batch));
        s->under_way -= store_batch_bytes(t->batch);
        store_batch_free(take_ptr(t->batch));
    }
    store_task_ended(s);
}

static void task_done(void *arg);

static void task_post(struct store *s, struct task *t)
{
    t->s = s;
    store_task_post(s, STORE_LANE_COMMIT, task_run, task_done, t);
}

static void tell_lost(struct store *s)
{
    if (s->lost_told || s->closing)
        return;
    s->lost_told = true;
    if (s->events.on_lost)
        s->events.on_lost(s->events.ctx, &s->why);
}

static void task_done(void *arg)
{
    struct task *t = arg;
    struct store *s = t->s;
    /* A separate task, so that the commit's done() need not wait for it. */
    if (t->rest_due && !s->closing)
        task_post(s, mem_new(struct task));
    struct task copy = *t;
    free(t);
    if (copy.lost)
        tell_lost(s);
    store_unref(s);
    if (copy.durable)
        copy.done(copy.ctx);
}

void store_commit(struct store *s, struct store_batch *b, loop_fn *done, void *ctx)
{
    struct task *t = mem_new(struct task);
    t->batch = b;
    s->under_way += store_batch_bytes(b);
    t->done = done;
    t->ctx = ctx;
    task_post(s, t);
}

int store_commit_sync(struct store *s, struct store_batch *b, struct err *err)
{
    struct err why = {0};
    uint64_t number = 0;
    store_batch_sort(b);
    pthread_mutex_lock(&s->lock);
    while (s->running > 0)
        pthread_cond_wait(&s->wake, &s->lock);
    pthread_mutex_unlock(&s->lock);
    int rc = commit_begin(s, &number, &why);
    if (rc == 0) {
        rc = s->driver->commit(s, b, number, &why);
        if (rc < 0)
            end_by_failure(s, &why);
        else if (rc == 0 && s->driver->rest_due && s->driver->rest_due(s))
            do_rest(s);
    }
    store_batch_free(b);
    return rc == 0 ? 0 : err_set(err, why.code, "%s", why.text);
}
