/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last bytes of a stream, for watchers that connect later. The buffer grows to its limit and
 * is a ring buffer from then on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tail {
    char *data;
    size_t room, len, start; /* the oldest of 'len' bytes is at 'start' */
    bool cut;                /* older bytes were dropped */
};

void tail_add(struct tail *t, const void *data, size_t len, size_t limit);

/* Returns the content in at most two pieces, oldest first; if older bytes were dropped, from the
 * first complete line on. Returns the number of pieces. */
struct tail_piece {
    const char *data;
    size_t len;
};
unsigned tail_get(const struct tail *t, struct tail_piece pieces[2]);

void tail_done(struct tail *t);
