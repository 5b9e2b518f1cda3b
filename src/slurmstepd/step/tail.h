/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The last bytes of a stream, for who comes later. The buffer grows up to its limit, and is a ring
 * from then on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct tail {
    char *data;
    size_t room, len, start; /* of 'len' bytes the oldest is at 'start' */
    bool cut;                /* there were more */
};

void tail_add(struct tail *t, const void *data, size_t len, size_t limit);

/* What is there in at most two pieces, oldest first; where older bytes are missing, from the first
 * whole line on. Returns how many pieces. */
struct tail_piece {
    const char *data;
    size_t len;
};
unsigned tail_get(const struct tail *t, struct tail_piece pieces[2]);

void tail_done(struct tail *t);
