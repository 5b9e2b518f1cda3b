/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A destination of output: srun's own stdout or stderr, or a file. Writes never block the loop:
 * bytes that a pipe or a terminal does not take wait in a queue, and the owner should stop the
 * senders meanwhile (sink_backlog() above SINK_HIGH; on_drained reports when it is low again).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/str.h"
#include "loop/loop.h"

#define SINK_HIGH (1u << 20)
#define SINK_LOW (256u << 10)

struct sink_events {
    /* When the queue falls from above SINK_HIGH to below SINK_LOW, and when it is empty. */
    void (*on_drained)(void *ctx);
    void (*on_broken)(void *ctx, const struct err *why); /* once; later bytes are dropped */
    void *ctx;
};

struct sink;

/* For a descriptor that the caller keeps. name is for messages and copied. */
struct sink *sink_of_fd(struct loop *l, int fd, const char *name, const struct sink_events *events);

/* For a file, created or truncated (append: created or continued). stream: its purpose, "stdout",
 * for messages. Returns -ERR_OPEN_IO on failure. */
int sink_of_file(struct loop *l, const char *path, const char *stream, bool append,
                 const struct sink_events *events, struct sink **out, struct err *err);

/* Continues with a file, whose descriptor it takes over; waiting bytes are written there first.
 * name is copied. */
void sink_move(struct sink *s, int fd, const char *name);

void sink_write(struct sink *s, const void *data, size_t len);
size_t sink_backlog(const struct sink *s);
void sink_take_rest(struct sink *s, struct str *out); /* moves the waiting bytes to 'out' */
void sink_drop(struct sink *s); /* drops the waiting bytes and all later ones */
void sink_free(struct sink *s); /* waiting bytes are lost */
