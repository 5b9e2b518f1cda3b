/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the files of this module. */
#pragma once

#include <event2/event.h>

#include "loop/loop.h"

struct loop_children;
struct loop_workers;

struct loop {
    struct event_base *base;
    loop_fn *turn;
    void *turn_ctx;
    bool stop;
    struct event **signals; /* for loop_signal(); freed with the loop */
    size_t signal_count;
    struct loop_children *children; /* NULL until the first child is watched */
    struct loop_workers *workers;   /* NULL without workers */
};

void loop_children_free(struct loop_children *c);
struct loop_workers *loop_workers_new(struct loop *l, unsigned count);
void loop_workers_free(struct loop_workers *w);
