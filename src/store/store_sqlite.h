/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of the SQLite driver: a file "state.db" with a write-ahead log, full sync and an exclusive
 * lock. It has one table per numbered kind (numbered_2: rows of kind 2 by id, so that each kind
 * grows at its own end), one for all named kinds, and one for damaged rows.
 *
 * One connection, used under 'lock': by one worker for the whole of a commit, by another one or the
 * owner's thread to read.
 */
#pragma once

#include <sqlite3.h>

#include "store/store_internal.h"

/* Of pages; the kernel's cache holds the rest. */
#define STORE_CACHE_KIB 1024
/* Of the log, 16 MiB: each page goes home once per so many. */
#define STORE_CHECKPOINT_PAGES 4096u
/* The same while space is scarce, 1 MiB. */
#define STORE_SCARCE_PAGES 256u
#define STORE_PAGE 4096u
/* Bytes by which the log's file grows before they are used. */
#define STORE_LOG_AHEAD (1u << 20)
#define STORE_LOG_HEAD 32u
#define STORE_LOG_FRAME (STORE_PAGE + 24u)

/* Free space and the reserve file. Own lock, because it is asked for while a commit runs. */
struct store_space {
    char *dir, *reserve;
    atomic_bool low;
    _Atomic uint64_t free, owed, spare; /* bytes: on the disk; by which the log's way home makes the
                                           database grow; unused within the database */
    pthread_mutex_t lock;
    bool have_reserve;
    int64_t checked_at_ms;
    /* Under the connection's lock: asked after each commit. NULL: not prepared yet. */
    sqlite3_stmt *page_count, *unused_count;
};
void store_space_open(struct store_space *sp, const char *dir);
void store_space_done(struct store_space *sp);
void store_space_check(struct store_space *sp);    /* looks again; makes the reserve when it can */
bool store_space_release(struct store_space *sp);  /* gives the reserve up; false: there was none */
uint64_t store_space_free(struct store_space *sp); /* for records: each is written twice */
bool store_space_low(struct store_space *sp, uint64_t more);
bool store_space_is_scarce(const struct store_space *sp); /* the log gives back what it can */
/* After a commit or a checkpoint, under the connection's lock: what the database will need. */
void store_space_measure(struct store_space *sp, sqlite3 *db, const char *path);
void store_space_free_statements(struct store_space *sp); /* before the connection is closed */

/* Prepared statements of one numbered kind. */
struct store_kind {
    uint32_t kind;
    sqlite3_stmt *put, *del, *get;
};

struct store_sqlite {
    char *dir, *path;
    int lock_fd;
    struct store_space *space;

    pthread_mutex_t lock; /* everything below */
    bool dead;            /* a sync failed, nothing is written any more */
    bool had_log, wrote;  /* a log that was there stays, unless something was written */
    bool was_low;
    unsigned wal_pages; /* of the log, since it was last brought home */
    unsigned log_pages; /* at most so many of its file are in use */
    off_t log_size;     /* of its file, at least; 0: look */
    bool rest_told;     /* that the log does not go home */
    sqlite3 *db;
    sqlite3_stmt *begin, *commit, *put_named, *del_named;
    VEC(struct store_kind) kinds;
};

/* The lock file of a directory. -ERR_LEAD: another process holds it, and err names it. */
int store_lock_take(const char *dir, const char *holder, int *lock_fd, struct err *err);
/* 0: *holder (the caller frees) is who holds it, NULL when nobody does. */
int store_lock_look(const char *dir, char **holder, struct err *err);

/* Opens the file, with our settings; the statements are made when first used. */
int store_db_open(const char *path, sqlite3 **db, struct err *err);
int store_db_prepare(sqlite3 *db, const char *sql,
                     sqlite3_stmt **st);                       /* unless it is; SQLite's code */
int store_db_number(sqlite3 *db, const char *sql, int *value); /* SQLite's code */
/* rc SQLITE_OK: the connection's last error. */
int store_db_error(sqlite3 *db, int rc, const char *path, const char *doing, struct err *err);
int store_db_tables(sqlite3 *db, uint32_t **kinds, size_t *count); /* numbered kinds, rising */
int store_db_make_kind(sqlite3 *db, uint32_t kind);                /* its table, unless there */
/* Within a transaction: the record goes to the table 'damaged'. name NULL: numbered. */
int store_db_set_aside(sqlite3 *db, uint32_t kind, uint64_t number, const char *name,
                       const char *why);
/* NULL: sqlite's error is set. */
struct store_kind *store_kind_get(struct store_sqlite *q, uint32_t kind);
void store_statements_free(struct store_sqlite *q);

/* The driver's functions that have files of their own. */
int store_sqlite_commit(struct store *s, const struct store_batch *b, uint64_t number,
                        struct err *err);
bool store_sqlite_rest_due(const struct store *s);
int store_sqlite_rest(struct store *s, struct err *err);
int store_sqlite_load(struct store *s, const struct store_load *l, struct err *err);
int store_sqlite_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err);
int store_sqlite_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
                     struct err *err);

/* -i: when the database does not pass its check, copies what can be read into a new one and keeps
 * the old one beside it. *saved counts the copied records; *aside (caller frees) is the old file's
 * new name, NULL when nothing was wrong. */
int store_salvage(const char *path, char **aside, size_t *saved, struct err *err);
/* Renames the database with its log; what had the new name before is replaced. */
int store_move_aside(const char *path, const char *to, struct err *err);
