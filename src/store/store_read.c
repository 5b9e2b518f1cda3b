/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records for the loop, which never waits for the store: a worker reads them. */
#include <stdlib.h>

#include "base/mem.h"
#include "store/store_internal.h"

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
