/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Durable records. A record maps (kind, number or name) to bytes; the store does not interpret
 * kinds and bytes. Changes are committed in batches, each in one transaction, in order, by a
 * worker thread. done() of a batch runs on the loop after the batch is durable, and only then may
 * output caused by the batch leave the process (DESIGN rules 3 and 4). Each record has a checksum.
 * Loading reports a damaged record and sets it aside; it is never repaired by guessing, and never
 * prevents loading the others.
 *
 * Drivers: SQLite, a file "state.db" in a directory; PostgreSQL, a schema of a database on a
 * server, for sites whose controllers run on several machines. See docs/adr/0003.
 *
 * The lead. Only the store that leads commits, and only one leads. SQLite: the holder of the
 * directory's lock leads until it closes. PostgreSQL: a row has the epoch, a number that increases
 * each time the lead is taken. Taking the lead is always possible, and from that moment commits of
 * earlier epochs fail, because every commit checks the epoch in its own transaction. The store
 * that has lost the lead calls on_lost() instead of done(), and commits nothing further.
 * Committing an empty batch performs only this check: done() means that the store led after the
 * commit was requested.
 *
 * Temporary failures (a full disk, a server that is unreachable or breaks the connection) are
 * retried until they succeed, with growing pauses of at most one second, and no output leaves
 * meanwhile. A commit whose answer was lost is neither assumed to be done nor made twice: the
 * server remembers the number of the last batch. Permanent failures, above all a failed sync of a
 * local file, end the process through on_fatal; the restart reads the durable state.
 *
 * Full disk, SQLite: a reserve file of STORE_RESERVE bytes lies beside the database. When a commit
 * finds no space, the reserve is deleted and the commit repeated, so that running jobs can be
 * completed. store_low() is then true (and whenever less than STORE_RESERVE is free) until the
 * reserve has been restored; new submissions must be refused meanwhile. The free space is reduced
 * by the bytes that the log still has to move into the database; a submission counts twice, for
 * the log and for the database. Deleting needs almost no space: deleted bytes are not overwritten
 * at once, and stay in the file until their space is reused.
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

/* The place of the records and the identity of the caller; strings are copied. */
struct store_where {
    const char *at; /* a directory, or postgresql://[USER[:PASSWORD]@][HOST]/DATABASE[?...] */
    /* PostgreSQL: the schema is sluice_CLUSTER, in lower case; a directory serves one cluster */
    const char *cluster;
    const char *holder; /* shown to others as the leader; NULL: this host and process */
};

/* on_fatal and on_trouble are called in the thread that sees the failure, possibly a worker, and
 * must not call the store. on_lost is called once, instead of done(). */
struct store_events {
    void (*on_fatal)(void *ctx, const struct err *why); /* must not return to normal operation */
    /* To be logged: low space, or the first failure of a commit that is retried; code 0:
       resolved. */
    void (*on_trouble)(void *ctx, const struct err *why);
    void (*on_lost)(void *ctx, const struct err *why);
    void *ctx;
};

enum store_open_flags {
    STORE_CLEAN = 1,         /* -c: moves existing state aside and starts empty; needs the lead */
    STORE_IGNORE_DAMAGE = 2, /* -i: continues even if the database file is unreadable */
    STORE_EXISTING = 8,      /* -ENOENT if there is no store; creates nothing */
    STORE_TAKE_LEAD = 4      /* without it nothing can be committed */
};

/* Opens or creates a store; creates a missing directory (0700). loop NULL: commits are synchronous
 * (tools, tests). -ERR_LEAD: another process holds the directory. */
int store_open(const struct store_where *where, unsigned flags, struct loop *loop,
               const struct store_events *events, struct store **out, struct err *err);
void store_close(struct store *s); /* waits for running commits; gives back a settled lead */

/* PostgreSQL remembers whether a lead was given back. If it was, the programs started by that
 * leader have ended, and the next lead is settled from its beginning. If it was taken away, the
 * next leader settles its lead once those programs have ended; until then its store_close() does
 * not give the lead back, so that the following leader knows. The lead of a directory is always
 * settled. */
bool store_lead_is_settled(const struct store *s);
void store_lead_settle(struct store *s);

/* Returns the present leader without taking the lead: epoch 0 and holder NULL if there is none.
 * The caller frees *holder. Waits for the server for up to a few seconds, so it must not run on
 * the loop's thread. SQLite has no epochs: the epoch is 1 while a process leads. */
int store_lead(const struct store_where *where, uint64_t *epoch, char **holder, struct err *err);

/* PostgreSQL: a number that changes with each commit of the leader, also with an empty one. 0:
 * there is no leader, its session is gone, or this store has no such number. */
int store_lead_sign(const struct store_where *where, uint64_t *sign, struct err *err);
/* STORE_IGNORE_DAMAGE has recreated the store from the readable data: records may be missing. */
bool store_was_damaged(const struct store *s);
/* Determined when it was opened; 0: it does not lead. */
uint64_t store_epoch(const struct store *s);

/* For messages: the directory, or the URL without its password. */
const char *store_name(const struct store *s);

/* Loads every record: the named ones, then the numbered ones in ascending order. data is valid
 * during the call. damaged() gets records with a wrong checksum; if the store leads, these were
 * moved to the table 'damaged'. */
typedef void store_load_fn(void *ctx, uint32_t kind, uint64_t number, const char *name,
                           const void *data, size_t len);
typedef void store_damaged_fn(void *ctx, uint32_t kind, uint64_t number, const char *name,
                              const char *why);
int store_load(struct store *s, uint32_t skip_kind, store_load_fn *each, store_damaged_fn *damaged,
               void *ctx, struct err *err);

/* The records set aside by load or by store_set_aside(), in no order. Valid during the call. */
struct store_aside {
    uint32_t kind;
    uint64_t number;
    const char *name; /* NULL: numbered record */
    const char *why;
    const void *data;
    size_t len;
};
typedef void store_aside_fn(void *ctx, const struct store_aside *row);
int store_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err);

/* Reads one committed record on the caller's thread: for tools, and before the loop serves
 * requests. The caller owns *data. -ENOENT; -ERR_STORE: temporarily unavailable, the server is
 * unreachable (known within about a second). */
int store_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
              struct err *err);

/* Reads several numbered records on a worker: one call at a time, in order of calling,
 * concurrently with commits. The store owns the array until done(), which is always called, also
 * after store_close(). After 'most' bytes of data the remaining records stay unread; the first is
 * always read. */
struct store_read {
    uint32_t kind;
    uint64_t number;
    bool was_read; /* set by done(); the members below are valid if true */
    int rc;        /* result, as of store_get() */
    void *data;    /* owned by the caller, who frees it */
    size_t len;
    struct err err;
};
void store_read(struct store *s, struct store_read *reads, size_t count, size_t most, loop_fn *done,
                void *ctx);

/* A batch being built. Bytes are copied. The last change of a record takes effect. */
struct store_batch *store_batch_new(void);
void store_batch_free(struct store_batch *b);
bool store_batch_empty(const struct store_batch *b);
uint64_t store_batch_bytes(const struct store_batch *b);
void store_put(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
               const void *data, size_t len);
void store_delete(struct store_batch *b, uint32_t kind, uint64_t number, const char *name);
/* Moves the stored record to the table 'damaged'; no effect if there is none. */
void store_set_aside(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
                     const char *why);

/* Takes ownership of the batch. Commits run one at a time in order of calling. The synchronous
 * variant waits for earlier commits and tries once (a second time with the reserve, or with a new
 * connection); the caller handles a failure. -ERR_LEAD: the lead is lost, or was never taken. */
void store_commit(struct store *s, struct store_batch *b, loop_fn *done, void *ctx);
int store_commit_sync(struct store *s, struct store_batch *b, struct err *err);
/* 'more': bytes of records to be added; the batch being committed counts as well. */
bool store_low(const struct store *s, uint64_t more);
/* Returns roughly how many bytes of records can be added; UINT64_MAX: only the server knows. */
uint64_t store_free(const struct store *s);
/* Whether a commit has failed and is being retried, or gets no answer: requests that need a commit
 * would wait without limit. */
bool store_is_stuck(const struct store *s);
