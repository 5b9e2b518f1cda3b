/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/mem.h"
#include "base/str.h"
#include "store/store_internal.h"

#define TROUBLE_EVERY 60 /* attempts between two reports of the same failure */

struct task {
    struct store *s;
    struct store_batch *batch; /* NULL: a checkpoint */
    loop_fn *done;
    void *ctx;
    bool durable, checkpoint_due;
};

static int prepare(sqlite3 *db, const char *sql, sqlite3_stmt **st)
{
    if (*st)
        return SQLITE_OK;
    return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, st, NULL);
}

static int prepare_kind(sqlite3 *db, const char *fmt, uint32_t kind, sqlite3_stmt **st)
{
    char sql[160]; /* the only part of a statement ever filled in, and it is a number */
    snprintf(sql, sizeof(sql), fmt, kind);
    return prepare(db, sql, st);
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

struct store_kind *store_kind_get(struct store *s, uint32_t kind)
{
    vec_foreach (&s->kinds, k)
        if (k->kind == kind)
            return k;
    struct store_kind k = {.kind = kind};
    int rc = prepare_kind(s->db, "INSERT OR REPLACE INTO numbered_%u(id, sum, data) VALUES(?,?,?)",
                          kind, &k.put);
    if (rc == SQLITE_OK)
        rc = prepare_kind(s->db, "DELETE FROM numbered_%u WHERE id = ?", kind, &k.del);
    if (rc == SQLITE_OK)
        rc = prepare_kind(s->db, "SELECT sum, data FROM numbered_%u WHERE id = ?", kind, &k.get);
    if (rc != SQLITE_OK) {
        sqlite3_finalize(k.put);
        sqlite3_finalize(k.del);
        return NULL;
    }
    vec_push(&s->kinds, k);
    return &vec_last(&s->kinds);
}

void store_statements_free(struct store *s)
{
    vec_foreach (&s->kinds, k) {
        sqlite3_finalize(k->put);
        sqlite3_finalize(k->del);
        sqlite3_finalize(k->get);
    }
    vec_done(&s->kinds);
    sqlite3_finalize(take_ptr(s->begin));
    sqlite3_finalize(take_ptr(s->commit));
    sqlite3_finalize(take_ptr(s->put_named));
    sqlite3_finalize(take_ptr(s->del_named));
}

static int step(sqlite3_stmt *st)
{
    int rc = sqlite3_step(st);
    if (rc == SQLITE_DONE || rc == SQLITE_ROW)
        rc = SQLITE_OK;
    sqlite3_reset(st);
    return rc;
}

static int change_write_numbered(struct store *s, const struct store_change *c, const void *data)
{
    struct store_kind *k = store_kind_get(s, c->kind);
    if (!k) { /* the first record of its kind */
        int rc = store_db_make_kind(s->db, c->kind);
        if (rc != SQLITE_OK)
            return rc;
        k = store_kind_get(s, c->kind);
        if (!k)
            return sqlite3_extended_errcode(s->db);
    }
    sqlite3_stmt *st = c->delete ? k->del : k->put;
    sqlite3_bind_int64(st, 1, (sqlite3_int64)c->number);
    if (!c->delete) {
        sqlite3_bind_int64(st, 2, store_sum(c->kind, c->number, NULL, data, c->len));
        sqlite3_bind_blob64(st, 3, data, c->len, SQLITE_STATIC);
    }
    return step(st);
}

static int change_write_named(struct store *s, const struct store_change *c, const char *name,
                              const void *data)
{
    int rc = prepare(s->db, "INSERT OR REPLACE INTO named(kind, name, sum, data) VALUES(?,?,?,?)",
                     &s->put_named);
    if (rc == SQLITE_OK)
        rc = prepare(s->db, "DELETE FROM named WHERE kind = ? AND name = ?", &s->del_named);
    if (rc != SQLITE_OK)
        return rc;
    sqlite3_stmt *st = c->delete ? s->del_named : s->put_named;
    sqlite3_bind_int64(st, 1, c->kind);
    sqlite3_bind_text(st, 2, name, -1, SQLITE_STATIC);
    if (!c->delete) {
        sqlite3_bind_int64(st, 3, store_sum(c->kind, 0, name, data, c->len));
        sqlite3_bind_blob64(st, 4, data, c->len, SQLITE_STATIC);
    }
    return step(st);
}

/* A record may be empty, which for a bound blob needs a pointer all the same. */
static const void *change_data(const struct store_batch *b, const struct store_change *c)
{
    return c->len ? b->bytes.data + c->data_at : "";
}

static int batch_write(struct store *s, const struct store_batch *b)
{
    int rc = prepare(s->db, "BEGIN IMMEDIATE", &s->begin);
    if (rc == SQLITE_OK)
        rc = prepare(s->db, "COMMIT", &s->commit);
    if (rc == SQLITE_OK)
        rc = step(s->begin);
    for (size_t i = 0; rc == SQLITE_OK && i < b->changes.len; i++) {
        const struct store_change *c = &b->changes.data[i];
        rc = c->named ? change_write_named(s, c, b->bytes.data + c->name_at, change_data(b, c))
                      : change_write_numbered(s, c, change_data(b, c));
    }
    return rc == SQLITE_OK ? step(s->commit) : rc;
}

static void batch_undo(struct store *s)
{
    /* A table made in this transaction goes, and the statements prepared for it with it. */
    store_statements_free(s);
    if (!sqlite3_get_autocommit(s->db))
        sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
}

/* What may pass when space or access comes back. A failed sync is not among it: the kernel may
 * have dropped what it could not write, and would call the next sync a success. */
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

static void trouble(struct store *s, const struct err *why)
{
    if (s->events.on_trouble)
        s->events.on_trouble(s->events.ctx, why);
}

/* Reports each change between enough and too little space once. */
static void space_report(struct store *s)
{
    bool low = s->space->low;
    if (low == s->was_low)
        return;
    s->was_low = low;
    struct err why = {0};
    if (low)
        err_set(&why, -ERR_STORE_FULL,
                "less than %u MiB are free for %s: new jobs are refused until there is space",
                STORE_RESERVE >> 20, s->dir);
    else
        err_set(&why, 0, "there is space again for %s: new jobs are accepted", s->dir);
    trouble(s, &why);
}

static void pause_ms(struct store *s, long ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ms % 1000 * 1000000;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!s->closing && !pthread_cond_timedwait(&s->wake, &s->lock, &until))
        ;
}

static void fatal(struct store *s, const struct err *why)
{
    s->dead = true;
    if (s->events.on_fatal)
        s->events.on_fatal(s->events.ctx, why);
}

/* One attempt, and a second one with the reserve's space. Positive: may pass. */
static int commit_try(struct store *s, const struct store_batch *b, struct err *err)
{
    if (s->dead)
        return err_set(err, -ERR_STORE, "%s: an earlier write failed", s->path);
    int rc = batch_write(s, b);
    if ((rc & 0xff) == SQLITE_FULL && store_space_release(s->space)) {
        batch_undo(s);
        space_report(s);
        rc = batch_write(s, b);
    }
    if (rc == SQLITE_OK) {
        store_space_check(s->space);
        space_report(s);
        return 0;
    }
    store_db_error(s->db, rc, s->path, "write to it", err);
    batch_undo(s);
    if (may_pass(rc))
        return 1;
    fatal(s, err);
    return err->code;
}

static bool commit_until_done(struct store *s, const struct store_batch *b)
{
    for (unsigned attempt = 0;; attempt++) {
        struct err err = {0};
        int rc = commit_try(s, b, &err);
        s->stuck = rc > 0;
        if (rc <= 0)
            return rc == 0;
        if (attempt % TROUBLE_EVERY == 0) {
            err_prefix(&err, "nothing is answered until the state can be saved");
            trouble(s, &err);
        }
        if (s->closing)
            return false;
        pause_ms(s, STORE_RETRY_MS);
    }
}

/* Brings the log's pages home. SQLite's automatic one would keep a failed sync to itself. */
static void checkpoint(struct store *s)
{
    if (s->dead)
        return;
    int rc = sqlite3_wal_checkpoint_v2(s->db, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL);
    s->wal_pages = 0; /* so that a failure is repeated after the next commit that makes it grow */
    if (rc == SQLITE_OK)
        return;
    struct err err = {0};
    store_db_error(s->db, 0, s->path, "move the log into it", &err);
    if (!may_pass(rc)) {
        fatal(s, &err);
        return;
    }
    if ((rc & 0xff) == SQLITE_FULL)
        store_space_release(s->space);
    trouble(s, &err);
}

/* On the worker, or at once without a loop. */
static void task_run(void *arg)
{
    struct task *t = arg;
    struct store *s = t->s;
    if (t->batch)
        store_batch_sort(t->batch);
    pthread_mutex_lock(&s->lock);
    if (!t->batch) {
        checkpoint(s);
    } else {
        t->durable = commit_until_done(s, t->batch);
        t->checkpoint_due = s->wal_pages >= STORE_CHECKPOINT_PAGES;
        store_batch_free(take_ptr(t->batch));
    }
    s->running--;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

static void task_done(void *arg);

static void task_post(struct store *s, struct task *t)
{
    t->s = s;
    s->refs++;
    pthread_mutex_lock(&s->lock);
    s->running++;
    pthread_mutex_unlock(&s->lock);
    if (s->loop) {
        loop_work_post(s->loop, 1, task_run, task_done, t);
    } else {
        task_run(t);
        task_done(t);
    }
}

static void task_done(void *arg)
{
    struct task *t = arg;
    /* A task of its own, so that the commit's messages need not wait for it. */
    if (t->checkpoint_due && !t->s->closing)
        task_post(t->s, mem_new(struct task));
    store_unref(t->s);
    struct task copy = *t;
    free(t);
    if (copy.durable)
        copy.done(copy.ctx);
}

void store_commit(struct store *s, struct store_batch *b, loop_fn *done, void *ctx)
{
    struct task *t = mem_new(struct task);
    t->batch = b;
    t->done = done;
    t->ctx = ctx;
    task_post(s, t);
}

bool store_is_stuck(const struct store *s)
{
    return s->stuck;
}

int store_commit_sync(struct store *s, struct store_batch *b, struct err *err)
{
    struct err why = {0};
    store_batch_sort(b);
    pthread_mutex_lock(&s->lock);
    while (s->running > 0)
        pthread_cond_wait(&s->wake, &s->lock);
    int rc = commit_try(s, b, &why);
    if (rc == 0 && s->wal_pages >= STORE_CHECKPOINT_PAGES)
        checkpoint(s);
    pthread_mutex_unlock(&s->lock);
    store_batch_free(b);
    return rc == 0 ? 0 : err_set(err, why.code, "%s", why.text);
}
