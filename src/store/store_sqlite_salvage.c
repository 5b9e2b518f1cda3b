/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "store/store_sqlite.h"

struct salvage {
    sqlite3 *from, *to;
    size_t saved;
    int write_rc; /* the first error of a write */
};

/* Whether SQLite finds the file damaged. Errors that prevent the check (another user of the file)
 * are reported when the file is opened. */
static bool db_is_damaged(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;
    bool damaged = false;
    int rc = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(st);
    if (rc == SQLITE_ROW) {
        const char *word = (const char *)sqlite3_column_text(st, 0);
        damaged = !word || strcmp(word, "ok") != 0;
    } else {
        damaged = (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
    }
    sqlite3_finalize(st);
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(db);
    return damaged;
}

/* Copies the rows of a query unchanged, with their checksums: errors are found when they are
 * loaded. Returns SQLite's result of the query; *last is the id (first column) of the last row. */
static int rows_copy(struct salvage *v, const char *query, sqlite3_int64 bound, sqlite3_stmt *put,
                     sqlite3_int64 *last)
{
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(v->from, query, -1, &st, NULL);
    if (rc != SQLITE_OK)
        return rc;
    if (sqlite3_bind_parameter_count(st) > 0)
        sqlite3_bind_int64(st, 1, bound);
    while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(st); i++)
            sqlite3_bind_value(put, i + 1, sqlite3_column_value(st, i));
        if (last)
            *last = sqlite3_column_int64(st, 0);
        sqlite3_step(put);
        int put_rc = sqlite3_reset(put);
        if (put_rc == SQLITE_OK)
            v->saved += (size_t)sqlite3_changes(v->to);
        else if (v->write_rc == SQLITE_OK)
            v->write_rc = put_rc;
    }
    sqlite3_finalize(st);
    return rc;
}

/* Finds an id from which reading is possible behind a damaged range: tries increasing distances
 * until a seek succeeds. False: there is none. */
static bool next_readable(struct salvage *v, uint32_t kind, sqlite3_int64 from, sqlite3_int64 *next)
{
    char sql[96];
    snprintf(sql, sizeof(sql), "SELECT id, data FROM numbered_%u WHERE id >= ? ORDER BY id LIMIT 1",
             kind);
    sqlite3_stmt *st = NULL;
    if (sqlite3_prepare_v2(v->from, sql, -1, &st, NULL) != SQLITE_OK)
        return false;
    bool found = false;
    for (int i = 0; i < 62 && from <= INT64_MAX - (sqlite3_int64)(INT64_C(1) << i) && !found; i++) {
        sqlite3_bind_int64(st, 1, from + (sqlite3_int64)(INT64_C(1) << i));
        int rc = sqlite3_step(st);
        if (rc == SQLITE_ROW) { /* in a damaged tree any row may be returned */
            *next = sqlite3_column_int64(st, 0);
            found = *next > from;
        }
        sqlite3_reset(st);
        if (rc == SQLITE_DONE)
            break;
    }
    sqlite3_finalize(st);
    return found;
}

/* Reads in ascending order up to the damage, finds a place behind it, reads in descending order
 * back to the damage, and continues from that place: all readable leaves are copied. */
static void table_copy(struct salvage *v, uint32_t kind)
{
    char up[96], down[96], put_sql[96];
    snprintf(up, sizeof(up), "SELECT id, sum, data FROM numbered_%u WHERE id > ? ORDER BY id",
             kind);
    snprintf(down, sizeof(down),
             "SELECT id, sum, data FROM numbered_%u WHERE id < ? ORDER BY id DESC", kind);
    snprintf(put_sql, sizeof(put_sql), "INSERT OR IGNORE INTO numbered_%u VALUES(?,?,?)", kind);
    sqlite3_stmt *put = NULL;
    if (store_db_make_kind(v->to, kind) != SQLITE_OK ||
        sqlite3_prepare_v2(v->to, put_sql, -1, &put, NULL) != SQLITE_OK) {
        v->write_rc = sqlite3_errcode(v->to);
        return;
    }
    sqlite3_int64 at = -1, next = 0, from = -1;
    while (v->write_rc == SQLITE_OK && rows_copy(v, up, at, put, &at) != SQLITE_DONE) {
        /* Rows out of order must not lead back to a range already copied. */
        from = at = at > from ? at : from + 1;
        if (!next_readable(v, kind, at, &next)) {
            rows_copy(v, down, INT64_MAX, put, NULL);
            break;
        }
        rows_copy(v, down, next, put, NULL);
        at = next - 1;
    }
    sqlite3_finalize(put);
}

static void named_copy(struct salvage *v)
{
    sqlite3_stmt *put = NULL;
    if (sqlite3_prepare_v2(v->to, "INSERT OR IGNORE INTO named VALUES(?,?,?,?)", -1, &put, NULL) !=
        SQLITE_OK) {
        v->write_rc = sqlite3_errcode(v->to);
        return;
    }
    if (rows_copy(v, "SELECT kind, name, sum, data FROM named ORDER BY kind, name", 0, put, NULL) !=
        SQLITE_DONE)
        rows_copy(v, "SELECT kind, name, sum, data FROM named ORDER BY kind DESC, name DESC", 0,
                  put, NULL);
    sqlite3_finalize(put);
}

static void copy_everything(struct salvage *v)
{
    _cleanup_free_ uint32_t *kinds = NULL;
    size_t count = 0;
    if (store_db_tables(v->from, &kinds, &count) != SQLITE_OK)
        return;
    for (size_t i = 0; i < count; i++)
        table_copy(v, kinds[i]);
    named_copy(v);
}

int store_salvage(const char *path, char **aside, size_t *saved, struct err *err)
{
    if (access(path, F_OK) || !db_is_damaged(path))
        return 0;
    _cleanup_free_ char *to = NULL;
    for (int i = 0; !to || !access(to, F_OK); i++) {
        free(to);
        to = mem_printf("%s.damaged-%d", path, i);
    }
    int rc = store_move_aside(path, to, err);
    if (rc)
        return rc;

    struct salvage v = {0};
    rc = store_db_open(path, &v.to, err);
    if (rc)
        return rc;
    if (sqlite3_exec(v.to, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        v.write_rc = sqlite3_errcode(v.to);
    if (sqlite3_open_v2(to, &v.from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) ==
            SQLITE_OK &&
        sqlite3_exec(v.from, "PRAGMA locking_mode = EXCLUSIVE; PRAGMA query_only = ON", NULL, NULL,
                     NULL) == SQLITE_OK)
        copy_everything(&v);
    sqlite3_db_config(v.from, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(v.from);

    if (v.write_rc == SQLITE_OK)
        v.write_rc = sqlite3_exec(v.to, "COMMIT", NULL, NULL, NULL);
    if (v.write_rc != SQLITE_OK)
        rc = store_db_error(v.to, 0, path, "copy what can be read into it", err);
    sqlite3_close(v.to);
    if (rc) { /* undo, so that the next attempt finds it */
        store_move_aside(to, path, NULL);
        return rc;
    }
    *aside = take_ptr(to);
    *saved = v.saved;
    return 0;
}
