/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <assert.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/url.h"
#include "store/store_internal.h"

static const char *const pg_schemes[] = {"postgresql://", "postgres://", NULL};

static const struct store_driver *driver_of(const char *at)
{
    for (const char *const *scheme = pg_schemes; *scheme; scheme++)
        if (str_starts(at, *scheme))
            return &store_pg_driver;
    return &store_sqlite_driver;
}

/* A mistyped URL must not create a directory with that name. */
static int where_check(const struct store_where *where, struct err *err)
{
    if (driver_of(where->at) != &store_sqlite_driver)
        return url_check(where->at, pg_schemes, err);
    if (where->at[0] == '\0')
        return err_set(err, -ERR_CONFIG, "no place is given to keep the state");
    if (url_is(where->at))
        return url_check(where->at, pg_schemes, err);
    return 0;
}

char *store_holder(const struct store_where *where)
{
    if (where->holder)
        return mem_strdup(where->holder);
    char host[256] = "localhost";
    if (gethostname(host, sizeof(host) - 1))
        host[0] = '\0';
    return mem_printf("%s, process %ld", host, (long)getpid());
}

static struct store *store_new(const struct store_where *where, struct loop *loop,
                               const struct store_events *events)
{
    struct store *s = mem_new(struct store);
    s->driver = driver_of(where->at);
    s->name = url_mask(where->at);
    s->loop = loop;
    s->refs = 1;
    if (events)
        s->events = *events;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    return s;
}

void store_unref(struct store *s)
{
    assert(s->refs > 0);
    if (--s->refs > 0)
        return;
    assert(!s->running); /* every posted task has a reference */
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->wake);
    free(s->name);
    free(s);
}

void store_task_post(struct store *s, unsigned lane, loop_fn *run, loop_fn *done, void *task)
{
    s->refs++;
    pthread_mutex_lock(&s->lock);
    s->running++;
    pthread_mutex_unlock(&s->lock);
    if (s->loop) {
        loop_work_post(s->loop, lane, run, done, task);
    } else {
        run(task);
        done(task);
    }
}

void store_task_ended(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->running--;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

int store_open(const struct store_where *where, unsigned flags, struct loop *loop,
               const struct store_events *events, struct store **out, struct err *err)
{
    int rc = where_check(where, err);
    if (rc)
        return rc;
    struct store *s = store_new(where, loop, events);
    rc = s->driver->open(s, where, flags, err);
    if (rc) {
        store_unref(s);
        return rc;
    }
    *out = s;
    return 0;
}

/* Tasks whose end the loop has not handled yet keep the struct. */
void store_close(struct store *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_broadcast(&s->wake);
    while (s->running > 0)
        pthread_cond_wait(&s->wake, &s->lock);
    pthread_mutex_unlock(&s->lock);
    s->driver->close(s);
    store_unref(s);
}

int store_lead(const struct store_where *where, uint64_t *epoch, char **holder, struct err *err)
{
    int rc = where_check(where, err);
    return rc ? rc : driver_of(where->at)->lead(where, epoch, holder, err);
}

int store_lead_sign(const struct store_where *where, uint64_t *sign, struct err *err)
{
    int rc = where_check(where, err);
    *sign = 0;
    if (rc || !driver_of(where->at)->lead_sign)
        return rc;
    return driver_of(where->at)->lead_sign(where, sign, err);
}

bool store_was_damaged(const struct store *s)
{
    return s->was_damaged;
}

uint64_t store_epoch(const struct store *s)
{
    return s->epoch;
}

bool store_lead_is_settled(const struct store *s)
{
    return s->settled;
}

void store_lead_settle(struct store *s)
{
    s->settled = true;
}

const char *store_name(const struct store *s)
{
    return s->name;
}

int store_load(struct store *s, uint32_t skip_kind, store_load_fn *each, store_damaged_fn *damaged,
               void *ctx, struct err *err)
{
    struct store_load l = {.skip_kind = skip_kind, .each = each, .damaged = damaged, .ctx = ctx};
    return s->driver->load(s, &l, err);
}

int store_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err)
{
    return s->driver->load_aside(s, each, ctx, err);
}

int store_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
              struct err *err)
{
    return s->driver->get(s, kind, number, data, len, err);
}

bool store_low(const struct store *s, uint64_t more)
{
    return s->driver->low(s, s->under_way + more);
}

uint64_t store_free(const struct store *s)
{
    return s->driver->free ? s->driver->free(s) : UINT64_MAX;
}

bool store_is_stuck(const struct store *s)
{
    return s->stuck;
}

struct task {
    struct store *s;
    struct store_read *reads;
    size_t count, most;
    loop_fn *done;
    void *ctx;
};

static void task_run(void *arg)
{
    struct task *t = arg;
    size_t bytes = 0;
    for (size_t i = 0; i < t->count && (i == 0 || (bytes < t->most && !t->s->closing)); i++) {
        struct store_read *r = &t->reads[i];
        r->rc = t->s->driver->get(t->s, r->kind, r->number, &r->data, &r->len, &r->err);
        r->was_read = true;
        bytes += r->len;
    }
    store_task_ended(t->s);
}

static void task_done(void *arg)
{
    struct task copy = *(struct task *)arg;
    free(arg);
    store_unref(copy.s);
    copy.done(copy.ctx);
}

void store_read(struct store *s, struct store_read *reads, size_t count, size_t most, loop_fn *done,
                void *ctx)
{
    struct task *t = mem_new(struct task);
    *t = (struct task){
        .s = s, .reads = reads, .count = count, .most = most, .done = done, .ctx = ctx};
    store_task_post(s, STORE_LANE_READ, task_run, task_done, t);
}
