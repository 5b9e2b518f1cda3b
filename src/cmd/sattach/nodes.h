/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of the step. Each node daemon is asked to show the step; then the step daemon there
 * connects to a port of this process, with a key that no message contains (docs/adr/0019).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "cmd/sattach/layout.h"
#include "loop/loop.h"
#include "proto/io.pb-c.h"
#include "proto/step.pb-c.h"

struct nodes;

/* node is the index in the step's layout. */
struct nodes_events {
    void (*on_here)(void *ctx, uint32_t node, const Pb__IoHello *hello);
    void (*on_message)(void *ctx, uint32_t node, unsigned rpc, const ProtobufCMessage *body);
    /* Called once for each node. why NULL: the node's part of the step is over and all output has
     * arrived. -ERR_JOB_DONE: it was already over. */
    void (*on_over)(void *ctx, uint32_t node, const struct err *why);
    void (*on_drained)(void *ctx); /* nodes_has_room() may be true again */
    /* Whether the controller still lists the step. May block for a request to the controller. */
    bool (*is_listed)(void *ctx);
    void *ctx;
};

/* 'whole' is borrowed. Callbacks run only from the loop. */
int nodes_open(struct loop *loop, const struct whole *whole, const struct nodes_events *events,
               struct nodes **out, struct err *err);
void nodes_free(struct nodes *n);

/* Messages about a task that the node does not run must be ignored. */
bool nodes_has_task(const struct nodes *n, uint32_t node, uint32_t task);

void nodes_pause(struct nodes *n, bool paused); /* stops or resumes reading */
/* To the task's node, or to all nodes (EVERY_TASK). False: stop sending until nodes_has_room(). */
bool nodes_send_input(struct nodes *n, uint32_t task, const void *data, size_t len);
bool nodes_has_room(const struct nodes *n);
void nodes_signal(struct nodes *n, int signo);
void nodes_window_size(struct nodes *n, uint32_t rows, uint32_t columns);
