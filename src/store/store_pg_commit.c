/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commits a batch as one transaction in one round trip. */
#include <stdio.h>
#include <string.h>

#include "store/store_pg.h"

/* Limits of one statement; further rows or bytes go into another statement of the same
   transaction. */
#define ROWS_MAX 8192
#define BYTES_MAX (16u << 20)

#define OID_INT8 20
#define OID_BYTEA 17

/* The rows of one statement: one array per column, in the server's binary format. */
struct rows {
    enum store_pg_statement statement;
    size_t columns, count, bytes;
    struct str column[4];
};

static void put32(struct str *out, uint32_t n)
{
    const unsigned char bytes[4] = {(unsigned char)(n >> 24), (unsigned char)(n >> 16),
                                    (unsigned char)(n >> 8), (unsigned char)n};
    str_append(out, bytes, 4);
}

/* One dimension, no NULLs; the number of elements is filled in later. */
static void array_begin(struct str *out, uint32_t oid)
{
    const uint32_t head[] = {1, 0, oid, 0, 1};
    str_clear(out);
    for (size_t i = 0; i < sizeof(head) / sizeof(head[0]); i++)
        put32(out, head[i]);
}

static void array_end(struct str *out, uint32_t count)
{
    for (int i = 0; i < 4; i++)
        out->data[12 + i] = (char)(count >> (24 - 8 * i));
}

static void array_number(struct str *out, uint64_t n)
{
    unsigned char bytes[8];
    store_pg_put64(bytes, n);
    put32(out, 8);
    str_append(out, bytes, 8);
}

static void array_bytes(struct str *out, const void *data, size_t len)
{
    put32(out, (uint32_t)len);
    str_append(out, data, len);
}

static void rows_begin(struct rows *r, const struct store_change *c)
{
    r->statement = c->delete ? (c->named ? STORE_PG_DELETE_NAMED : STORE_PG_DELETE_NUMBERED)
                             : (c->named ? STORE_PG_PUT_NAMED : STORE_PG_PUT_NUMBERED);
    r->columns = c->delete ? 2 : 4;
    r->count = r->bytes = 0;
    const uint32_t oids[] = {OID_INT8, c->named ? OID_BYTEA : OID_INT8, OID_INT8, OID_BYTEA};
    for (size_t i = 0; i < r->columns; i++)
        array_begin(&r->column[i], oids[i]);
}

static void rows_add(struct rows *r, const struct store_batch *b, const struct store_change *c)
{
    const char *name = store_change_name(b, c);
    array_number(&r->column[0], c->kind);
    if (name)
        array_bytes(&r->column[1], name, strlen(name));
    else
        array_number(&r->column[1], c->number);
    if (!c->delete) {
        const void *data = store_change_data(b, c);
        array_number(&r->column[2], store_sum(c->kind, c->number, name, data, c->len));
        array_bytes(&r->column[3], data, c->len);
    }
    r->count++;
    r->bytes += c->len;
}

static int rows_send(struct store_link *l, struct rows *r, size_t *sent, struct err *err)
{
    if (r->count == 0)
        return 0;
    struct store_param params[4];
    for (size_t i = 0; i < r->columns; i++) {
        array_end(&r->column[i], (uint32_t)r->count);
        params[i] = (struct store_param){r->column[i].data, r->column[i].len, true};
    }
    r->count = 0;
    (*sent)++;
    return store_link_send(l, r->statement, params, r->columns, err);
}

/* Sends all changes of one sort: puts or deletions, of numbered or of named records. */
static int changes_send(struct store_link *l, const struct store_batch *b, bool named, bool delete,
                        size_t *sent, struct err *err)
{
    struct rows r = {0};
    int rc = 0;
    vec_foreach (&b->changes, c) {
        if (c->aside || c->named != named || c->delete != delete || rc)
            continue;
        if (r.count == ROWS_MAX || r.bytes + c->len > BYTES_MAX)
            rc = rows_send(l, &r, sent, err);
        if (r.count == 0)
            rows_begin(&r, c);
        rows_add(&r, b, c);
    }
    if (rc == 0)
        rc = rows_send(l, &r, sent, err);
    for (size_t i = 0; i < 4; i++)
        str_done(&r.column[i]);
    return rc;
}

static int asides_send(struct store_link *l, const struct store_batch *b, size_t *sent,
                       struct err *err)
{
    int rc = 0;
    vec_foreach (&b->changes, c) {
        if (!c->aside || rc)
            continue;
        (*sent)++;
        rc = store_pg_set_aside(l, c->kind, c->number, store_change_name(b, c),
                                store_change_data(b, c), c->len, err);
    }
    return rc;
}

int store_pg_batch_begin(struct store_link *l, uint64_t number, size_t *sent, struct err *err)
{
    unsigned char epoch[8], bytes[8];
    store_pg_put64(epoch, l->s->epoch);
    store_pg_put64(bytes, number);
    const struct store_param params[] = {{epoch, 8, true}, {bytes, 8, true}};
    int rc = store_link_send(l, STORE_PG_BEGIN, NULL, 0, err);
    if (rc == 0)
        rc = store_link_send(l, STORE_PG_BATCH_BEGIN, params, 2, err);
    *sent = 2;
    return rc;
}

static int batch_send(struct store_link *l, const struct store_batch *b, uint64_t number,
                      struct err *err)
{
    size_t sent = 0;
    int rc = store_link_pipeline_begin(l, err);
    if (rc == 0) /* an empty batch is only the check, which may be repeated */
        rc = store_pg_batch_begin(l, store_batch_empty(b) ? 0 : number, &sent, err);
    for (int i = 0; rc == 0 && i < 4; i++)
        rc = changes_send(l, b, i & 2, i & 1, &sent, err);
    if (rc == 0)
        rc = asides_send(l, b, &sent, err);
    if (rc == 0)
        rc = store_link_send(l, STORE_PG_COMMIT, NULL, 0, err);
    if (rc == 0)
        rc = store_link_pipeline_end(l, sent + 1, err);
    return rc;
}

/* An abandoned session of ours may still be active: it is ended, so that its work is either done
 * or not. */
static int reopen_link(struct store *s, struct store_pg *pg, struct err *err)
{
    char purpose[24];
    snprintf(purpose, sizeof(purpose), "%llu", (unsigned long long)s->epoch);
    int rc = store_link_open(s, &pg->write, purpose, err);
    if (rc == 0) {
        rc = store_link_end_others(&pg->write, s->epoch, err);
        if (rc)
            store_link_close(&pg->write);
    }
    /* The server may lose confirmed data until its settings are corrected. */
    if (rc == -ERR_CONFIG)
        return 1;
    return rc ? rc : store_link_prepare(&pg->write, err);
}

static int attempt_commit(struct store *s, const struct store_batch *b, uint64_t number,
                          struct err *err)
{
    struct store_pg *pg = s->own;
    int rc = pg->write.conn ? 0 : reopen_link(s, pg, err);
    if (rc)
        return rc;
    bool repeated = pg->tried == number;
    pg->tried = number;
    rc = batch_send(&pg->write, b, number, err);
    /* The first attempt's answer was lost, but the batch is committed. */
    if (rc == STORE_LINK_MADE)
        rc = repeated ? 0 : err->code;
    return rc;
}

int store_pg_commit(struct store *s, const struct store_batch *b, uint64_t number, struct err *err)
{
    struct store_pg *pg = s->own;
    bool was_open = pg->write.conn != NULL;
    int rc = attempt_commit(s, b, number, err);
    /* A connection that broke while idle is not reported as a failure yet. */
    if (rc > 0 && was_open && pg->write.lost && !s->closing)
        rc = attempt_commit(s, b, number, err);
    return rc;
}

/* Opens a connection for the reader here, where waiting is harmless. */
bool store_pg_rest_due(const struct store *s)
{
    const struct store_pg *pg = s->own;
    return pg->spare_wanted;
}

int store_pg_rest(struct store *s, struct err *err)
{
    struct store_pg *pg = s->own;
    struct store_link made = {0};
    pg->spare_wanted = false;
    int rc = store_link_open(s, &made, STORE_PG_READS, err);
    if (rc == 0)
        rc = store_link_prepare(&made, err);
    if (rc == 0) {
        pthread_mutex_lock(&pg->lock);
        struct store_link old = pg->spare;
        pg->spare = made;
        pthread_mutex_unlock(&pg->lock);
        store_link_close(&old);
    }
    return 0; /* the reader will request it again */
}
