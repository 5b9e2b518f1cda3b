/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Durable records. A record is (kind, number or name) -> bytes; kinds and bytes mean nothing here.
 * Changes are committed in batches, each in one transaction, in order, by a worker thread; done()
 * of a batch runs on the loop after its sync, and only then may anything the batch caused leave the
 * process (DESIGN rules 3 and 4).
 *
 * Driver: SQLite, a file "state.db" under StateSaveLocation, write-ahead log, full sync, exclusive
 * lock (so that no two controllers use it). Each record carries a checksum; a damaged one is
 * reported and set aside when loading, never guessed, and never stops the rest.
 *
 * Full disk: a reserve file of STORE_RESERVE bytes lies beside the database. When a commit finds no
 * space, the reserve is given up and the commit repeated, so that running jobs can be brought to
 * their end; store_low() is true from then on (and whenever less than STORE_RESERVE is free) until
 * the reserve could be made again, and new submissions must be refused. A commit that fails even so
 * is repeated every second and nothing leaves meanwhile. A failed sync ends the process through
 * on_fatal: what is on disk is then unknown, and the restart reads what is there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "loop/loop.h"

#define STORE_RESERVE (4u << 20)
#define STORE_FORMAT 1

struct store;
struct store_batch;

/* Called where the failure is seen, a worker's thread included; must not call the store. */
struct store_events {
    void (*on_fatal)(void *ctx, const struct err *why); /* must not return to normal work */
    void (*on_trouble)(void *ctx,
                       const struct err *why); /* to be logged: low space, a repeated commit */
    void *ctx;
};

enum store_open_flags {
    STORE_CLEAN = 1,        /* -c: move what is there aside and start empty */
    STORE_IGNORE_DAMAGE = 2 /* -i: go on even when the database itself is unreadable */
};

/* Opens or creates; the directory is created when missing (0700). loop NULL: commits are
 * synchronous (tools, tests). */
int store_open(const char *dir, unsigned flags, struct loop *loop,
               const struct store_events *events, struct store **out, struct err *err);
void store_close(struct store *s); /* waits for commits under way */

/* Every record: the named ones, then the numbered ones in rising order. data is valid during the
 * call.
 * damaged() gets what fails its checksum, which has been moved to the table 'damaged'. */
typedef void store_load_fn(void *ctx, uint32_t kind, uint64_t number, const char *name,
                           const void *data, size_t len);
typedef void store_damaged_fn(void *ctx, uint32_t kind, uint64_t number, const char *name,
                              const char *why);
int store_load(struct store *s, uint32_t skip_kind, store_load_fn *each, store_damaged_fn *damaged,
               void *ctx, struct err *err);

/* One record, on the caller's thread (committed state only). *data is the caller's. -ENOENT. */
int store_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
              struct err *err);

/* A batch under construction. Bytes are copied. The last change of a record wins. */
struct store_batch *store_batch_new(void);
void store_batch_free(struct store_batch *b);
bool store_batch_empty(const struct store_batch *b);
void store_put(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
               const void *data, size_t len);
void store_delete(struct store_batch *b, uint32_t kind, uint64_t number, const char *name);

/* Takes the batch. Commits run one at a time in order of calling. The synchronous one waits for
 * those before it, tries once (and once more with the reserve), and leaves the caller to decide. */
void store_commit(struct store *s, struct store_batch *b, loop_fn *done, void *ctx);
int store_commit_sync(struct store *s, struct store_batch *b, struct err *err);
bool store_low(const struct store *s);
/* A commit has failed and is being repeated: what is asked for now would wait without end. */
bool store_is_stuck(const struct store *s);
