/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where output goes: srun's own stdout or stderr, or a file. Writes never block the loop: a pipe or
 * a terminal that does not take bytes gets them when it does, and until then the owner should stop
 * the senders (sink_backlog() above SINK_HIGH; on_drained tells when it is below again).
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
    void (*on_drained)(void *ctx); /* from above SINK_HIGH to below SINK_LOW, and when empty */
    void (*on_broken)(void *ctx, const struct err *why); /* once; later bytes are dropped */
    void *ctx;
};

struct sink;

/* Around a descriptor that stays the caller's. name is for messages and copied. */
struct sink *sink_of_fd(struct loop *l, int fd, const char *name, const struct sink_events *events);

/* A file, made or truncated (append: made or continued). stream: what it is for, "stdout", for the
 * message. -ERR_OPEN_IO. */
int sink_of_file(struct loop *l, const char *path, const char *stream, bool append,
                 const struct sink_events *events, struct sink **out, struct err *err);

/* Goes on with a file, which it takes and which gets what waits first. name is copied. */
void sink_move(struct sink *s, int fd, const char *name);

void sink_write(struct sink *s, const void *data, size_t len);
size_t sink_backlog(const struct sink *s);
void sink_take_rest(struct sink *s, struct str *out); /* appends what waits, and forgets it */
void sink_drop(struct sink *s); /* forgets what waits: later bytes are dropped too */
void sink_free(struct sink *s); /* what waits is lost */
