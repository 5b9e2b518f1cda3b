/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The sending side: sends a file to the first receivers of a list, which send it on to
 * the others from their own copies. Used by the owner of the file, and by every receiver with
 * children.
 *
 * Each child has its own position in the file, so a slow child delays no other, and only a few
 * pieces are kept in memory. A child is lost if it goes, if it is silent for too long, or if it
 * reports that it cannot continue; then its children are served from here, and each continues at
 * its position. on_state passes on the state of every receiver below, each phase once per
 * receiver.
 *
 * Runs on the loop's thread only. The functions here call no callback except read(). on_state may
 * end a feed, but not free it; on_fail and on_end may free it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/auth.h"
#include "base/err.h"
#include "cast/block.h"
#include "loop/loop.h"
#include "proto/cast.pb-c.h"

struct cast_feed;

/* Parameters that are equal on all levels. */
struct cast_plan {
    struct auth_key key; /* of this transfer */
    uint64_t size;       /* of the file */
    uint32_t width, block;
    bool pack, root;
    int64_t timeout_ms; /* maximum time of silence */
    const char *name;   /* our name for messages; copied */
};

struct cast_feed_events {
    cast_read_fn *read; /* reads bytes below cast_feed_has() */
    /* The state of a receiver in the list, or of one below it, has changed. */
    void (*on_state)(void *ctx, const Pb__CastState *state);
    /* Whether this node still receives the file itself. A node that does not may have been
       replaced by its parent, which then serves its children; it takes over no further receivers
       before cast_feed_resume(). NULL: always. */
    bool (*is_fed)(void *ctx);
    /* A piece of the file is unreadable, or another node serves the receivers below. */
    void (*on_fail)(void *ctx, const struct err *why);
    /* After cast_feed_end(): all children were told or are unreachable. */
    void (*on_end)(void *ctx);
    void *ctx;
};

/* nodes and plan are copied; nodes are in the order of their indexes. */
struct cast_feed *cast_feed_new(struct loop *l, const struct cast_plan *plan,
                                Pb__CastNode *const *nodes, size_t count,
                                const struct cast_feed_events *events);
/* Closes the connections: the children wait for another sender. */
void cast_feed_free(struct cast_feed *f);

void cast_feed_has(struct cast_feed *f, uint64_t bytes); /* number of bytes that can be read */
/* The same, with the last piece of it: children that have everything before get the piece from
   there. */
void cast_feed_piece(struct cast_feed *f, uint64_t at, const void *data, size_t len);
void cast_feed_sum(struct cast_feed *f, uint32_t crc); /* when it is known */
void cast_feed_commit(struct cast_feed *f);
/* Children that have not committed drop the file. */
void cast_feed_end(struct cast_feed *f, const char *why);

/* This node receives the file again: it serves the children of receivers lost meanwhile. */
void cast_feed_resume(struct cast_feed *f);
/* A piece that was received compressed, see cast_blocks_keep(). */
void cast_feed_keep(struct cast_feed *f, uint64_t at, size_t raw_len, const void *data, size_t len);
/* Calls fn for every receiver of the list with a known state. */
typedef void cast_state_fn(void *ctx, const Pb__CastState *state);
void cast_feed_each(const struct cast_feed *f, cast_state_fn *fn, void *ctx);

#define CAST_BEAT_MS 1000 /* maximum interval of heartbeats */
int64_t cast_feed_beat_ms(int64_t timeout_ms);
bool cast_phase_is_final(Pb__CastPhase phase);
bool cast_phase_is_failed(Pb__CastPhase phase);

#define CAST_WIDTH                                                                                 \
    2 /* each further child takes its share of the sender's network, see ADR 0018                  \
       */
#define CAST_WIDTH_MAX 64
#define CAST_NODES_MAX 100000

/*
 * Divides a list of receivers: the sender takes 'width' groups of neighbours; it sends to the
 * first of each group, which serves the rest of the group in the same way. Every node that divides
 * the same list gets the same tree, so a group whose first receiver is lost can be served from
 * above, and its other receivers continue unchanged.
 */
struct cast_range {
    size_t first, count;
};

/* Returns the number of groups of 'count' receivers. */
size_t cast_tree_groups(size_t count, size_t width);
/* Returns the i-th group; the sizes differ by at most one. */
struct cast_range cast_tree_group(size_t count, size_t width, size_t i);
