/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of store/: what the drivers share. store.c opens, closes and reads for the loop,
 * store_commit.c orders and repeats commits, store_batch.c gathers changes; a driver does one
 * attempt at one thing.
 *
 * Threads. A driver's commit() and rest() never run at the same time as one another or close(), on
 * a worker or (without a loop, or synchronous) on the owner's thread. load() and get() never run at
 * the same time as one another or close(): on the owner's thread, and get() for store_read() on a
 * worker. They may run beside a commit: a driver with one connection for both has a lock of its
 * own. low() runs on the owner's thread.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/str.h"
#include "base/vec.h"
#include "store/store.h"

/* Between two attempts at a commit that fails: the first pause, doubled up to the last. */
#define STORE_RETRY_FIRST_MS 50
#define STORE_RETRY_MS 1000

struct store_load {
    uint32_t skip_kind;
    store_load_fn *each;
    store_damaged_fn *damaged; /* may be NULL */
    void *ctx;
};

struct store_driver {
    /* Takes the lead when the flags ask for it and sets s->epoch. A failure leaves nothing open. */
    int (*open)(struct store *s, const struct store_where *where, unsigned flags, struct err *err);
    void (*close)(struct store *s);
    int (*lead)(const struct store_where *where, uint64_t *epoch, char **holder, struct err *err);
    int (*lead_sign)(const struct store_where *where, uint64_t *sign,
                     struct err *err); /* or NULL */

    /* One attempt. 0: durable. Positive: not now, or it is not known whether; repeat it with the
     * same number. -ERR_LEAD: the lead is lost. Other negative: nothing can be written any more.
     * Numbers rise with each batch. */
    int (*commit)(struct store *s, const struct store_batch *b, uint64_t number, struct err *err);
    /* Work that is due after a commit but that nobody waits for; the same codes, never repeated.
     * Both NULL: there is none. */
    bool (*rest_due)(const struct store *s);
    int (*rest)(struct store *s, struct err *err);

    int (*load)(struct store *s, const struct store_load *l, struct err *err);
    int (*load_aside)(struct store *s, store_aside_fn *each, void *ctx, struct err *err);
    int (*get)(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
               struct err *err);
    /* There is no room for so many bytes of records. */
    bool (*low)(const struct store *s, uint64_t more);
    /* See store_free(); NULL: unknown. */
    uint64_t (*free)(const struct store *s);
};
extern const struct store_driver store_sqlite_driver, store_pg_driver;

struct store {
    const struct store_driver *driver;
    void *own;  /* the driver's */
    char *name; /* see store_name() */
    struct loop *loop;
    struct store_events events;
    uint64_t epoch; /* 0: it does not lead */
    bool was_damaged;
    bool settled; /* see store_lead_is_settled() */
    atomic_bool stuck, closing;
    _Atomic uint64_t under_way; /* bytes of the batches that were posted and are not durable */
    unsigned refs;              /* the owner's, and one per posted task; of the owner's thread */

    pthread_mutex_t lock; /* everything below */
    pthread_cond_t wake;  /* ends the pause between two attempts, and store_close()'s wait */
    unsigned running;     /* tasks posted, commits and reads, whose run has not ended */
    uint64_t number;      /* of the last batch */
    bool ended;           /* a commit has failed for ever or was given up: none may follow it */
    bool lost_told;
    struct err why; /* it ended */
};

/* The loop's workers: reads do not wait for commits, which a server may keep for long. */
#define STORE_LANE_COMMIT 1
#define STORE_LANE_READ 5

/* A task: posted with a reference to the store, which its done() gives back by store_unref(). Its
 * run ends by store_task_ended(), on which store_close() waits. Without a loop it runs at once. */
void store_task_post(struct store *s, unsigned lane, loop_fn *run, loop_fn *done, void *task);
void store_task_ended(struct store *s);
void store_unref(struct store *s);
/* From a driver or a worker. code 0: it is over. */
void store_trouble(struct store *s, const struct err *why);

/* The text of where->holder, or of its default. The caller frees. */
char *store_holder(const struct store_where *where);
/* What a damaged() callback is told. */
#define STORE_WHY_DAMAGED(s)                                                                       \
    ((s)->epoch ? "its checksum does not fit; it was moved to the table 'damaged'"                 \
                : "its checksum does not fit")

/* A record's checksum. name NULL: numbered. */
uint32_t store_sum(uint32_t kind, uint64_t number, const char *name, const void *data, size_t len);

/* A batch: changes in order of their first mention, found by a table of slots. */
struct store_change {
    uint32_t kind;
    bool delete, aside, named; /* aside: 'data' is why */
    uint64_t number;
    size_t name_at, data_at, len; /* in bytes */
};
struct store_batch {
    VEC(struct store_change) changes;
    struct str bytes;
    uint32_t *slots; /* index + 1; 0 is empty */
    size_t slot_count;
};
/* Numbered changes by kind and number, then named ones by kind and name; ends the adding. */
void store_batch_sort(struct store_batch *b);
/* NULL: numbered. */
const char *store_change_name(const struct store_batch *b, const struct store_change *c);
/* Never NULL, even when there are no bytes. */
const void *store_change_data(const struct store_batch *b, const struct store_change *c);
