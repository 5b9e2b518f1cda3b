/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/store_sqlite.h"

/* A row with a wrong checksum, which is moved after the scan. */
struct damaged_row {
    uint32_t kind;
    uint64_t number;
    char *name;
};
struct load {
    sqlite3 *db;
    const struct store_load *to;
    VEC(struct damaged_row) bad;
};

int store_db_tables(sqlite3 *db, uint32_t **kinds, size_t *count)
{
    VEC(uint32_t) found = {0};
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT CAST(substr(name, 10) AS INTEGER) FROM sqlite_master"
                                " WHERE type = 'table' AND name GLOB 'numbered_[0-9]*'"
                                " ORDER BY 1",
                                -1, &st, NULL);
    while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        vec_push(&found, (uint32_t)sqlite3_column_int64(st, 0));
    int end = sqlite3_finalize(st);
    if (rc == SQLITE_OK)
        rc = end;
    if (rc != SQLITE_OK) {
        vec_done(&found);
        return rc;
    }
    *kinds = found.data;
    *count = found.len;
    return SQLITE_OK;
}

static void row_check(struct load *l, sqlite3_stmt *st, int column, uint32_t kind, uint64_t number,
                      const char *name)
{
    const void *data = sqlite3_column_blob(st, column + 1);
    size_t len = (size_t)sqlite3_column_bytes(st, column + 1);
    if (sqlite3_column_int64(st, column) == store_sum(kind, number, name, data, len)) {
        l->to->each(l->to->ctx, kind, number, name, data ? data : "", len);
        return;
    }
    struct damaged_row row = {.kind = kind, .number = number, .name = mem_strdup(name)};
    vec_push(&l->bad, row);
}

/* Checksums of rows do not detect missing rows: a flipped bit in a page's row list can hide one.
 * Damage in scripts and free pages, which are not loaded, would make a later commit fail. The
 * check takes 0.7 s for 1 GiB in the page cache. */
static int pages_check(sqlite3 *db)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL);
    bool good = false;
    if (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(st, 0);
        good = word && !strcmp(word, "ok");
    }
    int end = sqlite3_finalize(st);
    if (rc == SQLITE_OK)
        rc = end;
    return rc == SQLITE_OK && !good ? SQLITE_CORRUPT : rc;
}

static int load_numbered(struct load *l, uint32_t kind)
{
    char sql[80];
    snprintf(sql, sizeof(sql), "SELECT id, sum, data FROM numbered_%u ORDER BY id", kind);
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(l->db, sql, -1, &st, NULL);
    while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW)
        row_check(l, st, 1, kind, (uint64_t)sqlite3_column_int64(st, 0), NULL);
    int end = sqlite3_finalize(st);
    return rc == SQLITE_OK ? end : rc;
}

static int load_named(struct load *l, uint32_t skip_kind)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(l->db,
                                "SELECT kind, name, sum, data FROM named WHERE kind <> ?"
                                " ORDER BY kind, name",
                                -1, &st, NULL);
    if (rc == SQLITE_OK)
        sqlite3_bind_int64(st, 1, skip_kind);
    while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(st, 1);
        row_check(l, st, 2, (uint32_t)sqlite3_column_int64(st, 0), 0, name ? name : "");
    }
    int end = sqlite3_finalize(st);
    return rc == SQLITE_OK ? end : rc;
}

/* ?1: its number or name, ?2: the kind of a named record, ?3: the reason. */
static int run_bound(sqlite3 *db, const char *sql, uint32_t kind, uint64_t number, const char *name,
                     const char *why)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    if (name)
        sqlite3_bind_text(st, 1, name, -1, SQLITE_STATIC);
    else
        sqlite3_bind_int64(st, 1, (sqlite3_int64)number);
    if (sqlite3_bind_parameter_count(st) > 1)
        sqlite3_bind_int64(st, 2, kind);
    if (sqlite3_bind_parameter_count(st) > 2)
        sqlite3_bind_text(st, 3, why, -1, SQLITE_STATIC);
    sqlite3_step(st);
    return sqlite3_finalize(st);
}

int store_db_set_aside(sqlite3 *db, uint32_t kind, uint64_t number, const char *name,
                       const char *why)
{
    char copy[224], drop[80];
    if (name) {
        snprintf(copy, sizeof(copy),
                 "INSERT INTO damaged SELECT kind, NULL, name, sum, data, ?3,"
                 " strftime('%%s','now') FROM named WHERE name = ?1 AND kind = ?2");
        snprintf(drop, sizeof(drop), "DELETE FROM named WHERE name = ?1 AND kind = ?2");
    } else {
        snprintf(copy, sizeof(copy),
                 "INSERT INTO damaged SELECT ?2, id, NULL, sum, data, ?3,"
                 " strftime('%%s','now') FROM numbered_%u WHERE id = ?1",
                 kind);
        snprintf(drop, sizeof(drop), "DELETE FROM numbered_%u WHERE id = ?1", kind);
    }
    int rc = run_bound(db, copy, kind, number, name, why);
    return rc == SQLITE_OK ? run_bound(db, drop, kind, number, name, NULL) : rc;
}

static int damaged_move_all(struct load *l)
{
    sqlite3 *db = l->db;
    int rc = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < l->bad.len; i++)
        rc = store_db_set_aside(db, l->bad.data[i].kind, l->bad.data[i].number, l->bad.data[i].name,
                                "checksum");
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
        sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return rc;
}

/* Named records come first, because numbered ones refer to them. */
static int load_all(struct load *l, uint32_t skip_kind)
{
    _cleanup_free_ uint32_t *kinds = NULL;
    size_t count = 0;
    int rc = store_db_tables(l->db, &kinds, &count);
    if (rc == SQLITE_OK)
        rc = pages_check(l->db);
    if (rc == SQLITE_OK)
        rc = load_named(l, skip_kind);
    for (size_t i = 0; rc == SQLITE_OK && i < count; i++)
        if (kinds[i] != skip_kind)
            rc = load_numbered(l, kinds[i]);
    return rc;
}

int store_sqlite_load(struct store *s, const struct store_load *to, struct err *err)
{
    struct store_sqlite *q = s->own;
    struct load l = {.db = q->db, .to = to};
    int code = 0;
    pthread_mutex_lock(&q->lock);
    int rc = load_all(&l, to->skip_kind);
    if (rc != SQLITE_OK)
        code = store_db_error(q->db, rc, q->path, "read it", err);
    else if (s->epoch && l.bad.len) {
        q->wrote = true;
        if (damaged_move_all(&l) != SQLITE_OK)
            code = store_db_error(q->db, 0, q->path, "set damaged records aside", err);
    }
    pthread_mutex_unlock(&q->lock);
    vec_foreach (&l.bad, row) {
        if (code == 0 && to->damaged)
            to->damaged(to->ctx, row->kind, row->number, row->name, STORE_WHY_DAMAGED(s));
        free(row->name);
    }
    vec_done(&l.bad);
    return code;
}

int store_sqlite_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err)
{
    struct store_sqlite *q = s->own;
    sqlite3_stmt *st = NULL;
    int code = 0;
    pthread_mutex_lock(&q->lock);
    int rc = sqlite3_prepare_v2(q->db, "SELECT kind, number, name, why, data FROM damaged", -1, &st,
                                NULL);
    while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
        const char *why = (const char *)sqlite3_column_text(st, 3);
        struct store_aside row = {.kind = (uint32_t)sqlite3_column_int64(st, 0),
                                  .number = (uint64_t)sqlite3_column_int64(st, 1),
                                  .name = (const char *)sqlite3_column_text(st, 2),
                                  .why = why ? why : "",
                                  .data = sqlite3_column_blob(st, 4),
                                  .len = (size_t)sqlite3_column_bytes(st, 4)};
        if (!row.data)
            row.data = "";
        each(ctx, &row);
    }
    int end = sqlite3_finalize(st);
    if (rc != SQLITE_OK || end != SQLITE_OK)
        code = store_db_error(q->db, rc ? rc : end, q->path, "read what was set aside", err);
    pthread_mutex_unlock(&q->lock);
    return code;
}

/* NULL without an error: no record of that kind was ever stored. */
static sqlite3_stmt *get_statement(struct store_sqlite *q, uint32_t kind, int *rc)
{
    struct store_kind *k = store_kind_get(q, kind);
    if (k)
        return k->get;
    *rc = sqlite3_errcode(q->db) == SQLITE_ERROR ? SQLITE_OK : sqlite3_extended_errcode(q->db);
    return NULL;
}

int store_sqlite_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
                     struct err *err)
{
    struct store_sqlite *q = s->own;
    pthread_mutex_lock(&q->lock);
    int rc = SQLITE_OK, code = 0;
    sqlite3_stmt *st = get_statement(q, kind, &rc);
    if (st) {
        sqlite3_bind_int64(st, 1, (sqlite3_int64)number);
        rc = sqlite3_step(st);
    }
    if (rc == SQLITE_ROW) {
        const void *blob = sqlite3_column_blob(st, 1);
        size_t n = (size_t)sqlite3_column_bytes(st, 1);
        if (sqlite3_column_int64(st, 0) == store_sum(kind, number, NULL, blob, n)) {
            char *copy = mem_alloc(n + 1);
            if (n)
                memcpy(copy, blob, n);
            *data = copy;
            *len = n;
        } else {
            code = err_set(err, -ERR_STORE_DAMAGED, "%s: record %u/%llu fails its checksum",
                           q->path, kind, (unsigned long long)number);
        }
    } else if (rc == SQLITE_OK || rc == SQLITE_DONE) {
        code = err_set(err, -ENOENT, "%s: no record %u/%llu", q->path, kind,
                       (unsigned long long)number);
    } else {
        code = store_db_error(q->db, 0, q->path, "read it", err);
    }
    if (st)
        sqlite3_reset(st);
    pthread_mutex_unlock(&q->lock);
    return code;
}
