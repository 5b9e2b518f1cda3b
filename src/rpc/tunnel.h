/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Byte streams over a kept session: one side listens, and for each connection that it accepts the
 * other side makes one of its own. What one writes the other gets, with a window for each stream,
 * so that one whose reader stands still holds up no other and no memory but its window. When either
 * end of a stream closes, the other is closed after what was written before.
 *
 * The session is the caller's: it sends what send() is given, and hands over what comes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "loop/loop.h"
#include "proto/io.pb-c.h"

#define TUNNEL_MOST                                                                                \
    256 /* streams at a time: then the oldest without an answer goes for a new one */
#define TUNNEL_WINDOW (1u << 18) /* bytes on their way in one direction */
#define TUNNEL_HEAD_MOST 4096    /* of a stream whose beginning is looked at */

struct tunnel;

enum tunnel_look { TUNNEL_MORE, TUNNEL_PASS, TUNNEL_REFUSE };

struct tunnel_events {
    void (*send)(void *ctx, const Pb__TunnelData *m);
    /* Whether the session takes more; absent: always. While it does not, nothing is read, and
     * tunnel_drained() goes on: what closed streams have left with the session is in no window. */
    bool (*has_room)(void *ctx);
    /* The other side has accepted a connection: one of ours for it, non-blocking, or -1; with
     * look() not before the beginning is let pass. Absent: none is wanted from that side. */
    int (*open)(void *ctx);
    /* The beginning of what the other side sends on a stream that it opened, until it is let pass;
     * it may be changed then. Absent: all passes. */
    enum tunnel_look (*look)(void *ctx, struct str *head);
    void *ctx;
};

struct tunnel *tunnel_new(struct loop *l, const struct tunnel_events *events);
void tunnel_free(struct tunnel *t); /* closes all streams; says nothing to the other side */

/* A connection that was accepted; its descriptor becomes the tunnel's. */
void tunnel_take(struct tunnel *t, int fd);

/* What the other side sent. Whatever it is: what breaks the rules ends its stream. */
void tunnel_message(struct tunnel *t, const Pb__TunnelData *m);

void tunnel_drained(struct tunnel *t); /* the session takes more again */

size_t tunnel_count(const struct tunnel *t); /* streams that are open */
