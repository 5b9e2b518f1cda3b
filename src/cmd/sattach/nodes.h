/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The nodes of the step: each daemon is asked to show it, and the step's shepherd there then
 * connects to a port of ours, with a key that no message holds (docs/adr/0019).
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
    /* Once for each node; NULL: its part of the step is over and all output has come.
     * -ERR_JOB_DONE: it was over before. */
    void (*on_over)(void *ctx, uint32_t node, const struct err *why);
    void (*on_drained)(void *ctx); /* nodes_has_room() again, perhaps */
    /* Does the controller have the step still? It may be asked for, and waited for. */
    bool (*is_listed)(void *ctx);
    void *ctx;
};

/* 'whole' is borrowed. Events come from the loop only. */
int nodes_open(struct loop *loop, const struct whole *whole, const struct nodes_events *events,
               struct nodes **out, struct err *err);
void nodes_free(struct nodes *n);

/* What a node says of a task that is not there is not to be believed. */
bool nodes_has_task(const struct nodes *n, uint32_t node, uint32_t task);

void nodes_pause(struct nodes *n, bool paused); /* read nothing for a while */
/* To the task's node, or (EVERY_TASK) to all of them. False: stop sending until nodes_has_room().
 */
bool nodes_send_input(struct nodes *n, uint32_t task, const void *data, size_t len);
bool nodes_has_room(const struct nodes *n);
void nodes_signal(struct nodes *n, int signo);
void nodes_window_size(struct nodes *n, uint32_t rows, uint32_t columns);
