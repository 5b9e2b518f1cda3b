/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Standard input, or a file in its place, in pieces as they arrive. Never blocks the loop, even if
 * other programs read the same file, and does not change the descriptor's flags, which those
 * programs share.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "loop/loop.h"

#define FEED_PIECE 65536

/* len 0: end of file, the last call. The callee may pause or free the feed. */
typedef void feed_data_fn(void *ctx, const void *data, size_t len);

struct feed;
struct feed *feed_new(struct loop *l, int fd, feed_data_fn *fn, void *ctx); /* starts paused */
void feed_pause(struct feed *f, bool paused);
void feed_free(struct feed *f);
