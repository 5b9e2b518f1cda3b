/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The side that gives: feeds the first receivers of a list (tree.h), who feed the others out of
 * their own files. Used by the one who has the file, and by every receiver with others below it.
 *
 * Each one that is fed has a place of its own in the file, so a slow one keeps nobody waiting and
 * nothing is held in memory but a few pieces. One that goes, or is silent for too long, is lost,
 * or has said why it cannot; then those below it are fed from here, and each goes on from where it
 * is. What is heard of all of them is passed on through on_state, each phase of each once.
 *
 * One thread, the loop's. Nothing is called from within these functions but read(). on_state may
 * end a feed, but not free it; on_fail and on_end may.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "auth/auth.h"
#include "cast/block.h"
#include "loop/loop.h"
#include "proto/cast.pb-c.h"

/* The same on all the way down. */
struct cast_plan {
    struct auth_key key; /* of the transfer */
    uint64_t size;       /* of the file */
    uint32_t width, block;
    bool pack, root;
    int64_t timeout_ms; /* so long may anybody be silent */
    const char *name;   /* ours, for messages; copied */
};

struct cast_feed_events {
    cast_read_fn *read; /* bytes below cast_feed_has() */
    /* What has become of one of the list, or of one below it. */
    void (*on_state)(void *ctx, const Pb__CastState *state);
    /* Whether we are still fed ourselves: who is not may have been given up by those above, who
     * feed those below in its place, and takes nobody more before cast_feed_resume(). NULL: always.
     */
    bool (*is_fed)(void *ctx);
    /* A piece of the file cannot be read, or another one feeds those below. */
    void (*on_fail)(void *ctx, const struct err *why);
    void (*on_end)(void *ctx); /* after cast_feed_end(): all have been told, or could not be */
    void *ctx;
};

struct cast_feed;
/* nodes are copied, in the order of their indexes; 'plan', too. */
struct cast_feed *cast_feed_new(struct loop *l, const struct cast_plan *plan,
                                Pb__CastNode *const *nodes, size_t count,
                                const struct cast_feed_events *events);
void cast_feed_free(struct cast_feed *f); /* closes: who was fed waits for another one */

void cast_feed_has(struct cast_feed *f, uint64_t bytes); /* so much can be read */
/* The same, with the last of it: who has all that is before gets it from there. */
void cast_feed_piece(struct cast_feed *f, uint64_t at, const void *data, size_t len);
void cast_feed_sum(struct cast_feed *f, uint32_t crc); /* once known */
void cast_feed_commit(struct cast_feed *f);
void cast_feed_end(struct cast_feed *f, const char *why); /* whoever has not committed drops it */

/* We are fed again: whom those that have gone meanwhile leave behind is fed from here. */
void cast_feed_resume(struct cast_feed *f);
/* Compressed as it came, see cast_blocks_keep(). */
void cast_feed_keep(struct cast_feed *f, uint64_t at, size_t raw_len, const void *data, size_t len);
/* All that is known of the list, one call each, but for those that nothing is known of. */
typedef void cast_state_fn(void *ctx, const Pb__CastState *state);
void cast_feed_each(const struct cast_feed *f, cast_state_fn *fn, void *ctx);

#define CAST_BEAT_MS 1000 /* at most: signs of life */
int64_t cast_feed_beat_ms(int64_t timeout_ms);
bool cast_phase_is_final(Pb__CastPhase phase);
bool cast_phase_is_failed(Pb__CastPhase phase);
