/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads records row by row as they arrive. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_pg.h"

/* A row with a wrong checksum, which is moved after the scan. */
struct damaged_row {
    uint64_t kind, number;
    char *name;
};
struct load {
    struct store_link *link;
    const struct store_pq *pq;
    const struct store_load *to;
    VEC(struct damaged_row) bad;
};

/* The columns are kind, key, sum, data. named: the key is a name. */
static void row_check(struct load *l, const PGresult *r, bool named)
{
    uint32_t kind = (uint32_t)store_pg_get64(l->pq->PQgetvalue(r, 0, 0));
    const char *key = l->pq->PQgetvalue(r, 0, 1), *data = l->pq->PQgetvalue(r, 0, 3);
    size_t len = (size_t)l->pq->PQgetlength(r, 0, 3);
    _cleanup_free_ char *name =
        named ? mem_strndup(key, (size_t)l->pq->PQgetlength(r, 0, 1)) : NULL;
    uint64_t number = named ? 0 : store_pg_get64(key);
    if (store_pg_get64(l->pq->PQgetvalue(r, 0, 2)) == store_sum(kind, number, name, data, len)) {
        l->to->each(l->to->ctx, kind, number, name, data, len);
        return;
    }
    struct damaged_row row = {.kind = kind, .number = number, .name = take_ptr(name)};
    vec_push(&l->bad, row);
}

static int rows_read(struct load *l, enum store_pg_statement st, bool named, struct err *err)
{
    struct store_link *link = l->link;
    unsigned char skip[8];
    store_pg_put64(skip, l->to->skip_kind);
    const struct store_param param = {skip, 8, true};
    int rc = store_link_send(link, st, &param, 1, err);
    if (rc)
        return rc;
    l->pq->PQsetSingleRowMode(link->conn);
    PGresult *r;
    while ((r = store_link_next(link)) && l->pq->PQresultStatus(r) == PGRES_SINGLE_TUPLE) {
        row_check(l, r, named);
        l->pq->PQclear(r);
    }
    if (!r || l->pq->PQresultStatus(r) != PGRES_TUPLES_OK) {
        rc = store_link_error(link, r, "read it", err);
        store_link_close(link);
    }
    l->pq->PQclear(r);
    if (rc == 0)
        l->pq->PQclear(store_link_next(link));
    return rc;
}

/* Uses one snapshot. Named records come first, because numbered ones refer to them. */
static int rows_read_all(struct load *l, struct err *err)
{
    int rc = store_link_run(l->link, STORE_PG_LOAD_BEGIN, NULL, 0, NULL, err);
    if (rc == 0) /* compiling the queries takes longer than running them */
        rc = store_link_run(l->link, STORE_PG_LOAD_PLAIN, NULL, 0, NULL, err);
    if (rc == 0)
        rc = rows_read(l, STORE_PG_LOAD_NAMED, true, err);
    if (rc == 0)
        rc = rows_read(l, STORE_PG_LOAD_BELOW, false, err);
    if (rc == 0)
        rc = rows_read(l, STORE_PG_LOAD_ABOVE, false, err);
    if (rc == 0)
        rc = store_link_run(l->link, STORE_PG_COMMIT, NULL, 0, NULL, err);
    return rc;
}

int store_pg_set_aside(struct store_link *l, uint32_t kind, uint64_t number, const char *name,
                       const void *why, size_t why_len, struct err *err)
{
    unsigned char bytes[2][8];
    store_pg_put64(bytes[0], kind);
    store_pg_put64(bytes[1], number);
    struct store_param params[] = {{bytes[0], 8, true}, {bytes[1], 8, true}, {why, why_len, true}};
    if (name)
        params[1] = (struct store_param){name, strlen(name), true};
    return store_link_send(l, name ? STORE_PG_DAMAGED_NAMED : STORE_PG_DAMAGED_NUMBERED, params, 3,
                           err);
}

static int damaged_move_all(struct load *l, struct err *err)
{
    size_t sent = 0;
    int rc = store_link_pipeline_begin(l->link, err);
    if (rc == 0)
        rc = store_pg_batch_begin(l->link, 0, &sent, err);
    for (size_t i = 0; rc == 0 && i < l->bad.len; i++)
        rc = store_pg_set_aside(l->link, (uint32_t)l->bad.data[i].kind, l->bad.data[i].number,
                                l->bad.data[i].name, "checksum", strlen("checksum"), err);
    if (rc == 0)
        rc = store_link_send(l->link, STORE_PG_COMMIT, NULL, 0, err);
    return rc ? rc : store_link_pipeline_end(l->link, sent + l->bad.len + 1, err);
}

/* Opens a connection if there is none: uses the one that rest() has opened, or a new one, which is
 * not retried for a second after a failure. */
static int reader_open(struct store *s, struct err *err)
{
    struct store_pg *pg = s->own;
    pthread_mutex_lock(&pg->lock);
    pg->read = pg->spare;
    pg->spare.conn = NULL;
    pthread_mutex_unlock(&pg->lock);
    pg->read.patience_ms = STORE_PG_READ_MS;
    if (pg->read.conn)
        return 0;
    int rc = 1;
    if (loop_mono_ms() < pg->read_again_ms)
        err_set(err, -ERR_STORE, "%s: the server cannot be reached", s->name);
    else
        rc = store_link_open(s, &pg->read, STORE_PG_READS, err);
    if (rc == 0)
        rc = store_link_prepare(&pg->read, err);
    if (rc) {
        pg->spare_wanted = true;
        pg->read_again_ms = loop_mono_ms() + STORE_PG_READ_MS;
    }
    return rc;
}

int store_pg_load(struct store *s, const struct store_load *to, struct err *err)
{
    struct store_pg *pg = s->own;
    struct load l = {.link = &pg->read, .pq = pg->pq, .to = to};
    struct err why = {0};
    int rc = pg->read.conn ? 0 : reader_open(s, &why);
    pg->read.patience_ms = 0;
    if (rc == 0)
        rc = rows_read_all(&l, &why);
    if (rc == 0 && l.bad.len && s->epoch)
        rc = damaged_move_all(&l, &why);
    pg->read.patience_ms = STORE_PG_READ_MS;
    vec_foreach (&l.bad, row) {
        if (rc == 0 && to->damaged)
            to->damaged(to->ctx, (uint32_t)row->kind, row->number, row->name, STORE_WHY_DAMAGED(s));
        free(row->name);
    }
    vec_done(&l.bad);
    return rc ? err_set(err, why.code, "%s", why.text) : 0;
}

static void aside_tell(const struct store_pq *pq, const PGresult *r, int i, store_aside_fn *each,
                       void *ctx)
{
    bool named = !pq->PQgetisnull(r, i, 2);
    _cleanup_free_ char *name =
        named ? mem_strndup(pq->PQgetvalue(r, i, 2), (size_t)pq->PQgetlength(r, i, 2)) : NULL;
    _cleanup_free_ char *why =
        mem_strndup(pq->PQgetvalue(r, i, 3), (size_t)pq->PQgetlength(r, i, 3));
    each(ctx, &(struct store_aside){
                  .kind = (uint32_t)store_pg_get64(pq->PQgetvalue(r, i, 0)),
                  .number = named ? 0 : store_pg_get64(pq->PQgetvalue(r, i, 1)),
                  .name = name,
                  .why = why,
                  .data = pq->PQgetvalue(r, i, 4),
                  .len = (size_t)pq->PQgetlength(r, i, 4),
              });
}

int store_pg_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err)
{
    struct store_pg *pg = s->own;
    struct err why = {0};
    PGresult *r = NULL;
    int rc = pg->read.conn ? 0 : reader_open(s, &why);
    if (rc == 0)
        rc = store_link_run(&pg->read, STORE_PG_LOAD_ASIDE, NULL, 0, &r, &why);
    if (rc)
        return err_set(err, why.code, "%s", why.text);
    for (int i = 0; i < pg->pq->PQntuples(r); i++)
        aside_tell(pg->pq, r, i, each, ctx);
    pg->pq->PQclear(r);
    return 0;
}

static int get_once(struct store *s, uint32_t kind, uint64_t number, PGresult **r, struct err *err)
{
    struct store_pg *pg = s->own;
    unsigned char bytes[2][8];
    store_pg_put64(bytes[0], kind);
    store_pg_put64(bytes[1], number);
    const struct store_param params[] = {{bytes[0], 8, true}, {bytes[1], 8, true}};
    int rc = pg->read.conn ? 0 : reader_open(s, err);
    return rc ? rc : store_link_run(&pg->read, STORE_PG_GET, params, 2, r, err);
}

int store_pg_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
                 struct err *err)
{
    struct store_pg *pg = s->own;
    const struct store_pq *pq = pg->pq;
    struct err why = {0};
    PGresult *r = NULL;
    bool was_open = pg->read.conn != NULL;
    int code = 0, rc = get_once(s, kind, number, &r, &why);
    if (rc > 0 && was_open && pg->read.lost) /* it broke while idle */
        rc = get_once(s, kind, number, &r, &why);
    if (rc)
        return err_set(err, why.code, "%s", why.text);
    if (pq->PQntuples(r) == 0) {
        code = err_set(err, -ENOENT, "%s: no record %u/%llu", s->name, kind,
                       (unsigned long long)number);
    } else {
        const char *bytes = pq->PQgetvalue(r, 0, 1);
        size_t n = (size_t)pq->PQgetlength(r, 0, 1);
        if (store_pg_get64(pq->PQgetvalue(r, 0, 0)) == store_sum(kind, number, NULL, bytes, n)) {
            char *copy = mem_alloc(n + 1);
            memcpy(copy, bytes, n);
            *data = copy;
            *len = n;
        } else {
            code = err_set(err, -ERR_STORE_DAMAGED, "%s: record %u/%llu fails its checksum",
                           s->name, kind, (unsigned long long)number);
        }
    }
    pq->PQclear(r);
    return code;
}
