/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Durable records. A record is (kind, number or name) -> bytes; kinds and bytes mean nothing here.
 * Changes are committed in batches, each in one transaction, in order, by a worker thread; done()
 * of a batch runs on the loop after it is durable, and only then may anything the batch caused
 * leave the process (DESIGN rules 3 and 4). Each record carries a checksum; a damaged one is
 * reported and set aside when loading, never guessed, and never stops the rest.
 *
 * Drivers: SQLite, a file "state.db" in a directory; PostgreSQL, a schema of a database on a
 * server, for sites whose controllers run on several machines. See docs/adr/0003.
 *
 * The lead. Only the store that leads commits, and there is one. SQLite: who holds the lock of the
 * directory leads, until it closes. PostgreSQL: a row holds the epoch, a number that rises each
 * time the lead is taken; taking is always possible, and from that moment no commit of an earlier
 * epoch succeeds: every commit checks the epoch in its own transaction. Instead of done() the one
 * that lost it gets on_lost(), and nothing more is committed by its store. A commit of an empty
 * batch is nothing but this check: done() says that the store led after the commit was asked for.
 *
 * What may pass (a full disk, a server that cannot be reached or breaks the connection) is repeated
 * until it succeeds, ever more slowly, at least once a second, and nothing leaves meanwhile. A
 * commit whose answer was lost is neither taken for done nor made twice: the server remembers the
 * number of the last batch. What cannot pass, a failed sync of a local file above all, ends the
 * process through on_fatal: the restart reads what is there.
 *
 * Full disk, SQLite: a reserve file of STORE_RESERVE bytes lies beside the database. When a commit
 * finds no space, the reserve is given up and the commit repeated, so that running jobs can be
 * brought to their end; store_low() is true from then on (and whenever less than STORE_RESERVE is
 * free) until the reserve could be made again, and new submissions must be refused. What the log
 * still has to bring into the database is not counted as free, nor is what a submission adds, once
 * for the log and once for the database. Deleting needs next to nothing: the bytes of what is
 * deleted are not written again, and stay in the file until they are overwritten.
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

/* Where the records are, and who asks; texts are copied. */
struct store_where {
    const char *at;      /* a directory, or postgresql://[USER[:PASSWORD]@][HOST]/DATABASE[?...] */
    const char *cluster; /* PostgreSQL: the schema is sluice_CLUSTER, in lower case; a directory
                            serves one cluster */
    const char *holder;  /* who leads, for others to read; NULL: this host and process */
};

/* on_fatal and on_trouble are called where the failure is seen, a worker's thread included, and
 * must not call the store. on_lost is called in the place of done(), once. */
struct store_events {
    void (*on_fatal)(void *ctx, const struct err *why); /* must not return to normal work */
    /* To be logged: low space, the first failure of a commit that is repeated; code 0: it is over.
     */
    void (*on_trouble)(void *ctx, const struct err *why);
    void (*on_lost)(void *ctx, const struct err *why);
    void *ctx;
};

enum store_open_flags {
    STORE_CLEAN = 1,         /* -c: move what is there aside and start empty; needs the lead */
    STORE_IGNORE_DAMAGE = 2, /* -i: go on even when the database itself is unreadable */
    STORE_EXISTING = 8,      /* -ENOENT when there is no store; nothing is made */
    STORE_TAKE_LEAD = 4      /* without it nothing can be committed */
};

/* Opens or creates; a directory is created when missing (0700). loop NULL: commits are synchronous
 * (tools, tests). -ERR_LEAD: another process holds the directory. */
int store_open(const struct store_where *where, unsigned flags, struct loop *loop,
               const struct store_events *events, struct store **out, struct err *err);
void store_close(struct store *s); /* waits for commits under way; gives a settled lead back */

/* PostgreSQL remembers whether a lead was given back. If it was, what that leader started has
 * ended, and the next lead is settled from its beginning. If it was taken away, the next leader
 * settles its own once that has ended; until then its store_close() gives nothing back, so that the
 * leader after it knows. A directory's lead is always settled. */
bool store_lead_is_settled(const struct store *s);
void store_lead_settle(struct store *s);

/* Who leads, without taking it: epoch 0 and holder NULL when nobody does. The caller frees
 * *holder. Waits for the server, a few seconds at most: not for the loop's thread. SQLite does not
 * count: its epoch is 1 while somebody leads. */
int store_lead(const struct store_where *where, uint64_t *epoch, char **holder, struct err *err);

/* PostgreSQL: a number that is another one after each commit of the one that leads, also after one
 * without changes; 0: nobody leads, or its session is gone, or this store does not show it. */
int store_lead_sign(const struct store_where *where, uint64_t *sign, struct err *err);
/* STORE_IGNORE_DAMAGE has made it anew, out of what could be read: there may be records less. */
bool store_was_damaged(const struct store *s);
uint64_t store_epoch(const struct store *s); /* taken when it was opened; 0: it does not lead */

/* For messages: the directory, or the URL without its password. */
const char *store_name(const struct store *s);

/* Every record: the named ones, then the numbered ones in rising order. data is valid during the
 * call. damaged() gets what fails its checksum; where the store leads, that has been moved to the
 * table 'damaged'. */
typedef void store_load_fn(void *ctx, uint32_t kind, uint64_t number, const char *name,
                           const void *data, size_t len);
typedef void store_damaged_fn(void *ctx, uint32_t kind, uint64_t number, const char *name,
                              const char *why);
int store_load(struct store *s, uint32_t skip_kind, store_load_fn *each, store_damaged_fn *damaged,
               void *ctx, struct err *err);

/* What was set aside: by load, or by store_set_aside(). Valid during the call. In no order. */
struct store_aside {
    uint32_t kind;
    uint64_t number;
    const char *name; /* NULL: numbered */
    const char *why;
    const void *data;
    size_t len;
};
typedef void store_aside_fn(void *ctx, const struct store_aside *row);
int store_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err);

/* One record (committed state only), on the caller's thread: of tools, and before the loop serves
 * anybody. *data is the caller's. -ENOENT; -ERR_STORE: not now, the server cannot be reached (known
 * within a second or so). */
int store_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
              struct err *err);

/* The same of several numbered records, on a worker: one call at a time, in order of calling,
 * beside commits. The array is the store's until done(), which always comes, also after
 * store_close(). Once 'most' bytes of data have been read the rest is left unread; the first is
 * always read. */
struct store_read {
    uint32_t kind;
    uint64_t number;
    bool was_read; /* by done(); all below is of a record that was read */
    int rc;        /* as of store_get() */
    void *data;    /* the caller's, to be freed */
    size_t len;
    struct err err;
};
void store_read(struct store *s, struct store_read *reads, size_t count, size_t most, loop_fn *done,
                void *ctx);

/* A batch under construction. Bytes are copied. The last change of a record wins. */
struct store_batch *store_batch_new(void);
void store_batch_free(struct store_batch *b);
bool store_batch_empty(const struct store_batch *b);
uint64_t store_batch_bytes(const struct store_batch *b);
void store_put(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
               const void *data, size_t len);
void store_delete(struct store_batch *b, uint32_t kind, uint64_t number, const char *name);
/* Moves the record, as it is in the store, to the table 'damaged'; none there: nothing. */
void store_set_aside(struct store_batch *b, uint32_t kind, uint64_t number, const char *name,
                     const char *why);

/* Takes the batch. Commits run one at a time in order of calling. The synchronous one waits for
 * those before it, tries once (and once more with the reserve, or a new connection), and leaves
 * the caller to decide; -ERR_LEAD: the lead is lost, or was never taken. */
void store_commit(struct store *s, struct store_batch *b, loop_fn *done, void *ctx);
int store_commit_sync(struct store *s, struct store_batch *b, struct err *err);
/* 'more': bytes of records that are to be added; what is being committed counts as well. */
bool store_low(const struct store *s, uint64_t more);
/* How many bytes of records may still be added, roughly; UINT64_MAX: the server knows. */
uint64_t store_free(const struct store *s);
/* A commit has failed and is being repeated, or gets no answer: what is asked for now would wait
 * without end. */
bool store_is_stuck(const struct store *s);
