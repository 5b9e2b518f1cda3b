/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to the SQLite driver: a file "state.db" with a write-ahead log, full sync and an
 * exclusive lock. It has one table per numbered kind (numbered_2 has the rows of kind 2 by id, so
 * that each kind grows at its own end), one table for all named kinds, and one for damaged rows.
 *
 * There is one connection, used under 'lock': by one worker during a whole commit, and by another
 * worker or the owner's thread for reading.
 */
#pragma once

#include <sqlite3.h>

#include "store/store_internal.h"

/* Page cache of SQLite; the kernel's cache holds the rest. */
#define STORE_CACHE_KIB 1024
/* Size of the log, 16 MiB, after which its pages are moved to the database. */
#define STORE_CHECKPOINT_PAGES 4096u
/* The same while space is scarce, 1 MiB. */
#define STORE_SCARCE_PAGES 256u
#define STORE_PAGE 4096u
/* Bytes by which the log file is extended in advance. */
#define STORE_LOG_AHEAD (1u << 20)
#define STORE_LOG_HEAD 32u
#define STORE_LOG_FRAME (STORE_PAGE + 24u)

/* Free space and the reserve file, with a lock of their own, because they are queried during
   commits. */
struct store_space {
    char *dir, *reserve;
    atomic_bool low;
    /* Bytes: free on the disk; growth of the database when the log is moved there; unused inside
       the database. */
    _Atomic uint64_t free, owed, spare;
    pthread_mutex_t lock;
    bool have_reserve;
    int64_t checked_at_ms;
    /* Used after each commit under the connection's lock. NULL: not prepared yet. */
    sqlite3_stmt *page_count, *unused_count;
};
void store_space_open(struct store_space *sp, const char *dir);
void store_space_done(struct store_space *sp);
/* Updates the free space; restores the reserve if possible. */
void store_space_check(struct store_space *sp);
bool store_space_release(struct store_space *sp); /* deletes the reserve; false: there was none */
/* Bytes available for records, each of which is written twice. */
uint64_t store_space_free(struct store_space *sp);
bool store_space_low(struct store_space *sp, uint64_t more);
/* Whether the log should return its space. */
bool store_space_is_scarce(const struct store_space *sp);
/* After a commit or a checkpoint, under the connection's lock: measures how much the database will
   grow. */
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

    pthread_mutex_t lock; /* protects the members below */
    bool dead;            /* a sync has failed; nothing is written any longer */
    bool had_log, wrote;  /* an existing log stays, unless something was written */
    bool was_low;
    unsigned wal_pages; /* pages in the log since it was last moved to the database */
    unsigned log_pages; /* upper bound of the pages used in the log file */
    off_t log_size;     /* lower bound of the log file's size; 0: unknown */
    bool rest_told;     /* the failure to move the log was reported */
    sqlite3 *db;
    sqlite3_stmt *begin, *commit, *put_named, *del_named;
    VEC(struct store_kind) kinds;
};

/* Opens the file with our settings; statements are prepared on first use. */
int store_db_open(const char *path, sqlite3 **db, struct err *err);
/* Prepares the statement unless it is prepared; returns SQLite's code. */
int store_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **st);
int store_db_number(sqlite3 *db, const char *sql, int *value); /* returns SQLite's code */
/* rc SQLITE_OK: uses the connection's last error. */
int store_db_error(sqlite3 *db, int rc, const char *path, const char *doing, struct err *err);
int store_db_tables(sqlite3 *db, uint32_t **kinds, size_t *count); /* numbered kinds, ascending */
/* Creates its table if it is missing. */
int store_db_make_kind(sqlite3 *db, uint32_t kind);
/* Inside a transaction: moves the record to the table 'damaged'. name NULL: numbered record. */
int store_db_set_aside(sqlite3 *db, uint32_t kind, uint64_t number, const char *name,
                       const char *why);
/* NULL: SQLite's error is set. */
struct store_kind *store_kind_get(struct store_sqlite *q, uint32_t kind);
void store_statements_free(struct store_sqlite *q);

/* Functions of the driver in separate files. */
int store_sqlite_commit(struct store *s, const struct store_batch *b, uint64_t number,
                        struct err *err);
bool store_sqlite_rest_due(const struct store *s);
int store_sqlite_rest(struct store *s, struct err *err);
int store_sqlite_load(struct store *s, const struct store_load *l, struct err *err);
int store_sqlite_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err);
int store_sqlite_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
                     struct err *err);

/* -i: if the database fails its check, copies the readable data into a new database and keeps the
 * old file beside it. *saved is the number of copied records; *aside (freed by the caller) is the
 * old file's new name, NULL if the database was undamaged. */
int store_salvage(const char *path, char **aside, size_t *saved, struct err *err);
/* Renames the database with its log, replacing existing files. */
int store_move_aside(const char *path, const char *to, struct err *err);
