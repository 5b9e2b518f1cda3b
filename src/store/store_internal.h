/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to src/store: shared by the drivers. store.c opens, closes and reads for the loop,
 * store_commit.c orders and retries commits, store_batch.c collects changes; a driver makes one
 * attempt at a time.
 *
 * Threads: a driver's commit(), rest() and close() never run concurrently; commit() and rest() run
 * on a worker or (without a loop, or synchronously) on the owner's thread. load(), get() and
 * close() never run concurrently either: they run on the owner's thread, get() for store_read() on
 * a worker. load() and get() may run concurrently with a commit: a driver with one connection for
 * both has its own lock. low() runs on the owner's thread.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"
#include "base/vec.h"
#include "store/store.h"

/* The pause between two attempts of a failing commit: first value, doubled up to the last. */
#define STORE_RETRY_FIRST_MS 50
#define STORE_RETRY_MS 1000

struct store_load {
    uint32_t skip_kind;
    store_load_fn *each;
    store_damaged_fn *damaged; /* may be NULL */
    void *ctx;
};

struct store_driver {
    /* Takes the lead if the flags request it and sets s->epoch. A failure leaves nothing open. */
    int (*open)(struct store *s, const struct store_where *where, unsigned flags, struct err *err);
    void (*close)(struct store *s);
    int (*lead)(const struct store_where *where, uint64_t *epoch, char **holder, struct err *err);
    int (*lead_sign)(const struct store_where *where, uint64_t *sign,
                     struct err *err); /* may be NULL */

    /* Makes one attempt. Returns 0: durable. Positive: temporary failure, or unknown result;
     * repeat with the same number. -ERR_LEAD: the lead is lost. Other negative values: nothing can
     * be written any longer. Numbers increase with each batch. */
    int (*commit)(struct store *s, const struct store_batch *b, uint64_t number, struct err *err);
    /* Work after a commit that no caller waits for; the same codes, never repeated. Both NULL:
     * none. */
    bool (*rest_due)(const struct store *s);
    int (*rest)(struct store *s, struct err *err);

    int (*load)(struct store *s, const struct store_load *l, struct err *err);
    int (*load_aside)(struct store *s, store_aside_fn *each, void *ctx, struct err *err);
    int (*get)(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
               struct err *err);
    /* Whether there is no space for this number of bytes of records. */
    bool (*low)(const struct store *s, uint64_t more);
    /* See store_free(); NULL: unknown. */
    uint64_t (*free)(const struct store *s);
};
extern const struct store_driver store_sqlite_driver, store_pg_driver;

struct store {
    const struct store_driver *driver;
    void *own;  /* private to the driver */
    char *name; /* see store_name() */
    struct loop *loop;
    struct store_events events;
    uint64_t epoch; /* 0: it does not lead */
    bool was_damaged;
    bool settled; /* see store_lead_is_settled() */
    atomic_bool stuck, closing;
    _Atomic uint64_t under_way; /* bytes of the posted batches that are not durable yet */
    /* References of the owner and of each posted task; used on the owner's thread. */
    unsigned refs;

    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t wake;  /* ends the pause between two attempts, and the wait of store_close() */
    /* Number of posted tasks, commits and reads, that have not finished running. */
    unsigned running;
    uint64_t number; /* number of the last batch */
    /* A commit has failed permanently or was given up: no further commit is allowed. */
    bool ended;
    bool lost_told;
    struct err why; /* the reason */
};

/* Lanes of the loop's workers: reads do not wait for commits, which a server may delay for
   long. */
#define STORE_LANE_COMMIT 1
#define STORE_LANE_READ 5

/* Posts a task with a reference to the store, which its done() releases with store_unref(). Its
 * run() ends with store_task_ended(), which store_close() waits for. Without a loop it runs at
 * once. */
void store_task_post(struct store *s, unsigned lane, loop_fn *run, loop_fn *done, void *task);
void store_task_ended(struct store *s);
void store_unref(struct store *s);
/* Called by a driver or a worker. code 0: resolved. */
void store_trouble(struct store *s, const struct err *why);

/* Returns where->holder, or its default. The caller frees it. */
char *store_holder(const struct store_where *where);
/* The text passed to a damaged() callback. */
#define STORE_WHY_DAMAGED(s)                                                                       \
    ((s)->epoch ? "its checksum does not fit; it was moved to the table 'damaged'"                 \
                : "its checksum does not fit")

/* Returns a record's checksum. name NULL: numbered record. */
uint32_t store_sum(uint32_t kind, uint64_t number, const char *name, const void *data, size_t len);

/* A batch: changes in order of their first occurrence, found by a hash table of slots. */
struct store_change {
    uint32_t kind;
    bool delete, aside, named; /* aside: 'data' is the reason */
    uint64_t number;
    size_t name_at, data_at, len; /* in bytes */
};
struct store_batch {
    VEC(struct store_change) changes;
    struct str bytes;
    uint32_t *slots; /* index + 1; 0: empty */
    size_t slot_count;
};
/* Sorts the batch: numbered changes by kind and number, then named ones by kind and name. No
   change may be added afterwards. */
void store_batch_sort(struct store_batch *b);
/* NULL: numbered record. */
const char *store_change_name(const struct store_batch *b, const struct store_change *c);
/* Never NULL, even if there are no bytes. */
const void *store_change_data(const struct store_batch *b, const struct store_change *c);
