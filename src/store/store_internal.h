/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of store/. The database has one table per numbered kind (numbered_2: rows of kind 2 by
 * id, so that each kind grows at its own end), one for all named kinds, and one for damaged rows.
 *
 * One connection, used under store.lock: by the worker for the whole of a commit, by the owner's
 * thread to read. The list of tasks and 'refs' belong to the owner's thread.
 */
#pragma once

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>

#include "base/str.h"
#include "base/vec.h"
#include "store/store.h"

/* Of pages; the kernel's cache holds the rest. */
#define STORE_CACHE_KIB 1024
/* Of the log, 16 MiB: each page goes home once per so many. */
#define STORE_CHECKPOINT_PAGES 4096u
/* Between two attempts at a commit that fails. */
#define STORE_RETRY_MS 1000

/* Free space and the reserve file. Own lock, because it is asked for while a commit runs. */
struct store_space {
    char *dir, *reserve;
    atomic_bool low;
    pthread_mutex_t lock;
    bool have_reserve;
    int64_t checked_at_ms;
};
void store_space_open(struct store_space *sp, const char *dir);
void store_space_done(struct store_space *sp);
void store_space_check(struct store_space *sp);   /* looks again; makes the reserve when it can */
bool store_space_release(struct store_space *sp); /* gives the reserve up; false: there was none */

/* Prepared statements of one numbered kind. */
struct store_kind {
    uint32_t kind;
    sqlite3_stmt *put, *del, *get;
};

struct store {
    char *dir, *path;
    int lock_fd;
    struct loop *loop;
    struct store_events events;
    struct store_space *space;
    atomic_bool stuck;
    unsigned refs; /* the owner's, and one per posted task */

    pthread_mutex_t lock; /* everything below */
    pthread_cond_t wake;  /* ends the pause between two attempts, and store_close()'s wait */
    bool closing, dead;   /* dead: a sync failed, nothing is written any more */
    unsigned running;     /* tasks posted whose run has not ended */
    bool was_low;
    unsigned wal_pages;
    sqlite3 *db;
    sqlite3_stmt *begin, *commit, *put_named, *del_named;
    VEC(struct store_kind) kinds;
};

void store_unref(struct store *s);

/* A record's name on disk and its checksum. name NULL: numbered. */
uint32_t store_sum(uint32_t kind, uint64_t number, const char *name, const void *data, size_t len);

/* Opens the file, with our settings; the statements are made when first used. */
int store_db_open(const char *path, sqlite3 **db, struct err *err);
/* rc SQLITE_OK: the connection's last error. */
int store_db_error(sqlite3 *db, int rc, const char *path, const char *doing, struct err *err);
int store_db_tables(sqlite3 *db, uint32_t **kinds, size_t *count); /* numbered kinds, rising */
int store_db_make_kind(sqlite3 *db, uint32_t kind);                /* its table, unless there */
struct store_kind *store_kind_get(struct store *s, uint32_t kind); /* NULL: sqlite's error is set */
void store_statements_free(struct store *s);

/* -i: when the database does not pass its check, copies what can be read into a new one and keeps
 * the old one beside it. *saved counts the copied records; *aside (caller frees) is the old file's
 * new name, NULL when nothing was wrong. */
int store_salvage(const char *path, char **aside, size_t *saved, struct err *err);
/* Renames the database with its log; what had the new name before is replaced. */
int store_move_aside(const char *path, const char *to, struct err *err);

/* A batch: changes in order of their first mention, found by a table of slots. */
struct store_change {
    uint32_t kind;
    bool delete, named;
    uint64_t number;
    size_t name_at, data_at, len; /* in bytes */
};
struct store_batch {
    VEC(struct store_change) changes;
    struct str bytes;
    uint32_t *slots; /* index + 1; 0 is empty */
    size_t slot_count;
};
void store_batch_sort(struct store_batch *b); /* by place in the database; ends the adding */
