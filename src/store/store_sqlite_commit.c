/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/store_sqlite.h"

#define LOG_MARGIN 16 /* log pages of a commit of a few records */

int store_db_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **st)
{
    if (*st)
        return SQLITE_OK;
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL);
}

static int prepare_kind(sqlite3 *db, const char *fmt, uint32_t kind, sqlite3_stmt **st)
{
    char sql[160]; /* the only variable part of a statement, which is a number */
    snprintf(sql, sizeof(sql), fmt, kind);
    return store_db_prepare(db, sql, st);
}

int store_db_make_kind(sqlite3 *db, uint32_t kind)
{
    sqlite3_stmt *st = NULL;
    int rc = prepare_kind(db,
                          "CREATE TABLE IF NOT EXISTS numbered_%u(id INTEGER PRIMARY KEY,"
                          " sum INTEGER NOT NULL, data BLOB NOT NULL)",
                          kind, &st);
    if (rc == SQLITE_OK)
        sqlite3_step(st);
    return sqlite3_finalize(st);
}

struct store_kind *store_kind_get(struct store_sqlite *q, uint32_t kind)
{
    vec_foreach (&q->kinds, k)
        if (k->kind == kind)
            return k;
    struct store_kind k = {.kind = kind};
    int rc = prepare_kind(q->db, "INSERT OR REPLACE INTO numbered_%u(id, sum, data) VALUES(?,?,?)",
                          kind, &k.put);
    if (rc == SQLITE_OK)
        rc = prepare_kind(q->db, "DELETE FROM numbered_%u WHERE id = ?", kind, &k.del);
    if (rc == SQLITE_OK)
        rc = prepare_kind(q->db, "SELECT sum, data FROM numbered_%u WHERE id = ?", kind, &k.get);
    if (rc != SQLITE_OK) {
        sqlite3_finalize(k.put);
        sqlite3_finalize(k.del);
        return NULL;
    }
    vec_push(&q->kinds, k);
    return &vec_last(&q->kinds);
}

void store_statements_free(struct store_sqlite *q)
{
    vec_foreach (&q->kinds, k) {
        sqlite3_finalize(k->put);
        sqlite3_finalize(k->del);
        sqlite3_finalize(k->get);
    }
    vec_done(&q->kinds);
    sqlite3_finalize(take_ptr(q->begin));
    sqlite3_finalize(take_ptr(q->commit));
    sqlite3_finalize(take_ptr(q->put_named));
    sqlite3_finalize(take_ptr(q->del_named));
}

static int step_statement(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    if (rc == SQLITE_DONE || rc == SQLITE_ROW)
        rc = SQLITE_OK;
    sqlite3_reset(st);
    return rc;
}

static int change_write_numbered(struct store_sqlite *q, const struct store_change *c,
                                 const void *data)
{
    struct store_kind *k = store_kind_get(q, c->kind);
    if (!k) { /* the first record of its kind */
        int rc = store_db_make_kind(q->db, c->kind);
        if (rc != SQLITE_OK)
            return rc;
        k = store_kind_get(q, c->kind);
        if (!k)
            return sqlite3_extended_errcode(q->db);
    }
    sqlite3_stmt *st = c->delete ? k->del : k->put;
    sqlite3_bind_int64(st, 1, (sqlite3_int64)c->number);
    if (!c->delete) {
        sqlite3_bind_int64(st, 2, store_sum(c->kind, c->number, NULL, data, c->len));
        sqlite3_bind_blob64(st, 3, data, c->len, SQLITE_STATIC);
    }
    return step_statement(st);
}

static int change_write_named(struct store_sqlite *q, const struct store_change *c,
                              const char *name, const void *data)
{
    int rc = store_db_prepare(q->db,
                              "INSERT OR REPLACE INTO named(kind, name, sum, data) VALUES(?,?,?,?)",
                              &q->put_named);
    if (rc == SQLITE_OK)
        rc =
            store_db_prepare(q->db, "DELETE FROM named WHERE kind = ? AND name = ?", &q->del_named);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_stmt *st = c->delete ? q->del_named : q->put_named;
    sqlite3_bind_int64(st, 1, c->kind);
    sqlite3_bind_text(st, 2, name, -1, SQLITE_STATIC);
    if (!c->delete) {
        sqlite3_bind_int64(st, 3, store_sum(c->kind, 0, name, data, c->len));
        sqlite3_bind_blob64(st, 4, data, c->len, SQLITE_STATIC);
    }
    return step_statement(st);
}

/* If its kind has no table, there is no such record. */
static int change_set_aside(struct store_sqlite *q, const struct store_batch *b,
                            const struct store_change *c)
{
    _cleanup_free_ char *why = mem_strndup(store_change_data(b, c), c->len);
    if (!c->named && !store_kind_get(q, c->kind))
        return sqlite3_errcode(q->db) == SQLITE_ERROR ? SQLITE_OK : sqlite3_extended_errcode(q->db);
    return store_db_set_aside(q->db, c->kind, c->number, store_change_name(b, c), why);
}

static int batch_write(struct store_sqlite *q, const struct store_batch *b)
{
    int rc = store_db_prepare(q->db, "BEGIN IMMEDIATE", &q->begin);
    if (rc == SQLITE_OK)
        rc = store_db_prepare(q->db, "COMMIT", &q->commit);
    if (rc == SQLITE_OK)
        rc = step_statement(q->begin);
    for (size_t i = 0; rc == SQLITE_OK && i < b->changes.len; i++) {
        const struct store_change *c = &b->changes.data[i];
        rc = c->aside   ? change_set_aside(q, b, c)
             : c->named ? change_write_named(q, c, store_change_name(b, c), store_change_data(b, c))
                        : change_write_numbered(q, c, store_change_data(b, c));
    }
    return rc == SQLITE_OK ? step_statement(q->commit) : rc;
}

static void batch_undo(struct store_sqlite *q)
{
    /* Drops a table created in this transaction, and the statements prepared for it. */
    store_statements_free(q);
    if (!sqlite3_get_autocommit(q->db))
        sqlite3_exec(q->db, "ROLLBACK", NULL, NULL, NULL);
}

/* Failures that may end when space or access returns. A failed sync is not one of them: the kernel
 * may have dropped the data and would report success for the next sync. */
static bool may_pass(int rc)
{
    switch (rc) {
    case SQLITE_IOERR_FSYNC:
    case SQLITE_IOERR_DIR_FSYNC:
    case SQLITE_IOERR_CORRUPTFS:
        return false;
    }
    switch (rc & 0xff) {
    case SQLITE_FULL:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_READONLY:
    case SQLITE_BUSY:
    case SQLITE_NOMEM:
        return true;
    }
    return false;
}

/* Reports each change between sufficient and insufficient space once. */
static void space_report(struct store *s, struct store_sqlite *q)
{
    bool low = q->space->low;
    if (low == q->was_low)
        return;
    q->was_low = low;
    struct err why = {0};
    if (low)
        err_set(&why, -ERR_STORE_FULL,
                "less than %u MiB are free for %s: new jobs are refused until there is space",
                STORE_RESERVE >> 20, q->dir);
    else
        err_set(&why, 0, "there is space again for %s: new jobs are accepted", q->dir);
    store_trouble(s, &why);
}

/* Moves the log's pages to the database. give_back: also returns the log file's space, first of
 * all pages of a failed transaction beyond its end. Returns SQLite's code. */
static int log_home(struct store_sqlite *q, bool give_back)
{
    if (give_back) {
        _cleanup_free_ char *log = mem_printf("%s-wal", q->path);
        off_t used = STORE_LOG_HEAD + (off_t)q->log_pages * STORE_LOG_FRAME;
        struct stat st;
        if (stat(log, &st) == 0 && st.st_size > used && truncate(log, used))
            return SQLITE_IOERR_TRUNCATE;
    }
    int rc = sqlite3_wal_checkpoint_v2(
        q->db, NULL, give_back ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE, NULL,
        NULL);
    q->wal_pages = 0; /* so that a failure is retried after the next commit that extends the log */
    if (rc == SQLITE_OK && give_back)
        q->log_pages = 0;
    if (give_back)
        q->log_size = 0;
    return rc;
}

/* There is no space: gives up the reserve's space, then the log's, however often that has failed
 * before, and writes the batch once more. */
static int write_with_less(struct store *s, struct store_sqlite *q, const struct store_batch *b)
{
    batch_undo(q);
    store_space_release(q->space);
    space_report(s, q);
    int rc = log_home(q, true);
    return rc == SQLITE_OK || may_pass(rc) ? batch_write(q, b) : rc;
}

/* A write beyond the end of a file makes its sync wait for the new size as well. The log is
 * therefore extended with zeros, which SQLite takes for the end of the log; the next commit's sync
 * covers them. Large commits would gain little and write twice as much. */
static void extend_log(struct store_sqlite *q, unsigned written)
{
    static const char zeros[64u << 10];
    off_t needed = STORE_LOG_HEAD + (off_t)(q->log_pages + LOG_MARGIN) * STORE_LOG_FRAME;
    struct stat st;

    if (written > LOG_MARGIN || needed <= q->log_size || store_space_is_scarce(q->space))
        return;
    _cleanup_free_ char *log = mem_printf("%s-wal", q->path);
    _cleanup_close_ int fd = open(log, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0 || fstat(fd, &st))
        return;
    q->log_size = st.st_size;
    if (needed <= st.st_size)
        return;
    q->log_size += STORE_LOG_AHEAD; /* also after a failure, which is not retried at once */
    for (off_t at = st.st_size; at < q->log_size; at += (off_t)sizeof(zeros))
        if (pwrite(fd, zeros, sizeof(zeros), at) != (ssize_t)sizeof(zeros))
            return;
}

static int commit_locked(struct store *s, struct store_sqlite *q, const struct store_batch *b,
                         struct err *err)
{
    unsigned had = q->wal_pages;
    q->wrote = true;
    int rc = batch_write(q, b);
    if ((rc & 0xff) == SQLITE_FULL)
        rc = write_with_less(s, q, b);
    if (rc == SQLITE_OK) {
        store_space_measure(q->space, q->db, q->path);
        store_space_check(q->space);
        space_report(s, q);
        extend_log(q, q->wal_pages - had);
        return 0;
    }
    store_db_error(q->db, rc, q->path, "write to it", err);
    batch_undo(q);
    if (may_pass(rc))
        return 1;
    q->dead = true;
    return err->code;
}

/* The directory's lock is the lead: no check is needed, and no answer can be lost. */
int store_sqlite_commit(struct store *s, const struct store_batch *b, uint64_t number,
                        struct err *err)
{
    struct store_sqlite *q = s->own;
    if (store_batch_empty(b))
        return 0;
    pthread_mutex_lock(&q->lock);
    int rc = commit_locked(s, q, b, err);
    pthread_mutex_unlock(&q->lock);
    return rc;
}

bool store_sqlite_rest_due(const struct store *s)
{
    const struct store_sqlite *q = s->own;
    if (store_space_is_scarce(q->space) && q->log_pages >= STORE_SCARCE_PAGES)
        return true;
    return q->wal_pages >= STORE_CHECKPOINT_PAGES;
}

/* Returns 0 if the caller need not be told, or not again. */
static int rest_failed(struct store_sqlite *q, int rc, struct err *err)
{
    store_db_error(q->db, rc, q->path, "move the log into it", err);
    int code = may_pass(rc) ? 1 : err->code;
    q->dead = q->dead || code < 0;
    if ((rc & 0xff) == SQLITE_FULL)
        store_space_release(q->space);
    if (code > 0 && q->rest_told)
        return 0;
    q->rest_told = true;
    return code;
}

/* SQLite's automatic checkpoint would hide a failed sync. */
int store_sqlite_rest(struct store *s, struct err *err)
{
    struct store_sqlite *q = s->own;
    pthread_mutex_lock(&q->lock);
    bool scarce = store_space_is_scarce(q->space);
    int code = 0, rc = log_home(q, scarce);
    if (rc != SQLITE_OK)
        code = rest_failed(q, rc, err);
    else
        q->rest_told = false;
    store_space_measure(q->space, q->db, q->path);
    if (rc == SQLITE_OK && scarce)
        store_space_check(q->space);
    space_report(s, q);
    pthread_mutex_unlock(&q->lock);
    return code;
}
