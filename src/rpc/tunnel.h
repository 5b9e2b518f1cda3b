/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Byte streams over a session: one side listens, and for each connection that it accepts the other
 * side opens a connection. Bytes are copied both ways. Each stream has its own window, so that a
 * slow reader delays no other stream and uses no more memory than its window. When either end of a
 * stream closes, the other end is closed after the bytes written before have been delivered.
 *
 * The caller owns the session: it sends the messages passed to send(), and passes received
 * messages to tunnel_message().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "loop/loop.h"
#include "proto/io.pb-c.h"

#define TUNNEL_MOST 256 /* streams at a time; a new one then replaces the oldest unanswered one */
#define TUNNEL_WINDOW (1u << 18) /* bytes in transit in one direction */
#define TUNNEL_HEAD_MOST 4096    /* longest beginning of a stream passed to look() */

struct tunnel;

enum tunnel_look { TUNNEL_MORE, TUNNEL_PASS, TUNNEL_REFUSE };

struct tunnel_events {
    void (*send)(void *ctx, const Pb__TunnelData *m);
    /* Whether the session accepts more messages; absent: always. While it does not, nothing is
     * read, and tunnel_drained() resumes. Bytes of closed streams that are still in the session
     * are not counted in any window. */
    bool (*has_room)(void *ctx);
    /* The other side has accepted a connection. Returns our connection for it, non-blocking, or
     * -1. With look(), open() is called only after look() has accepted the beginning. Absent:
     * streams from that side are refused. */
    int (*open)(void *ctx);
    /* Inspects the beginning of a stream opened by the other side, until the beginning is
     * accepted, and may change it. Absent: all streams are accepted. */
    enum tunnel_look (*look)(void *ctx, struct str *head);
    void *ctx;
};

struct tunnel *tunnel_new(struct loop *l, const struct tunnel_events *events);
void tunnel_free(struct tunnel *t); /* closes all streams without notifying the other side */

/* Adds an accepted connection; the tunnel owns its descriptor. */
void tunnel_take(struct tunnel *t, int fd);

/* Handles a message of the other side. An invalid message ends its stream. */
void tunnel_message(struct tunnel *t, const Pb__TunnelData *m);

void tunnel_drained(struct tunnel *t); /* the session accepts more messages */

size_t tunnel_count(const struct tunnel *t); /* number of open streams */
