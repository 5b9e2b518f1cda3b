/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of the PostgreSQL driver. Two connections ("links"): commits go over one, on the thread
 * that commits; reads over the other, on the thread that reads, so that they never wait for a
 * commit. A link that has failed in any way is closed and made anew: there is no half-known state.
 *
 * A commit is one pipeline, one round trip: BEGIN, batch_begin(epoch, number), a statement per kind
 * of change with all its rows in arrays, COMMIT. batch_begin() locks the row 'lead' FOR SHARE and
 * refuses another epoch, then writes the batch's number and refuses one that is not above the last.
 * So a batch repeated because its answer was lost is either not there yet, or refused as made; and
 * one whose first attempt lingers on a connection that was given up cannot come after later ones.
 */
#pragma once

#include "store/store_internal.h"
#include "store/store_pq.h"

/* Without any byte from the server: until it is told of, until a commit is repeated over a new
 * connection, in all when closing, and for a record that is read. */
#define STORE_PG_SLOW_MS 3000
#define STORE_PG_ANSWER_MS 30000
#define STORE_PG_CLOSE_MS 2000
#define STORE_PG_READ_MS 1000

enum store_pg_statement {
#define STATEMENT(id, sql) STORE_PG_##id,
#include "store/store_pg_statement.def"
#undef STATEMENT
    STORE_PG_STATEMENTS
};

struct store_link {
    struct store *s;
    PGconn *conn;          /* NULL: none */
    int64_t patience_ms;   /* without a byte; 0: STORE_PG_ANSWER_MS */
    bool tells_slow;       /* it is the one that commits */
    bool slow;             /* it was told */
    bool lost;             /* why it was closed: the connection, not a refusal */
    int64_t closing_at_ms; /* when closing was seen; 0: not */
};

struct store_pg {
    const struct store_pq *pq;
    char *url, *cluster, *holder;
    struct store_link write, read;
    uint64_t tried; /* number of the last batch that was sent */
    int64_t read_again_ms;
    atomic_bool spare_wanted; /* by the reader, of rest() */
    pthread_mutex_t lock;     /* of 'spare' */
    struct store_link spare;
};

struct store_param {
    const void *data;
    size_t len;
    bool binary;
};

#define STORE_PG_READS "reads" /* purpose of a session; that of the leader's is its epoch */

/* A positive code of its own: batch_begin() has refused a number that is not above the last. */
#define STORE_LINK_MADE 2

/* store_pg_link.c. Functions that return int: 0, positive for what may pass, or a negative code.
 * The link is closed after every failure but that of store_link_query(). */
int store_link_open(struct store *s, struct store_link *l, const char *purpose, struct err *err);
void store_link_close(struct store_link *l);
int store_link_prepare(struct store_link *l, struct err *err);
/* One statement of its own, over a link without a pipeline under way. *result may be NULL. */
int store_link_query(struct store_link *l, const char *sql, const struct store_param *params,
                     size_t count, const char *doing, PGresult **result, struct err *err);
int store_link_run(struct store_link *l, enum store_pg_statement st,
                   const struct store_param *params, size_t count, PGresult **result,
                   struct err *err);
/* A pipeline: begin, any sends, then store_link_pipeline_end() with the number of sends. */
int store_link_pipeline_begin(struct store_link *l, struct err *err);
int store_link_send(struct store_link *l, enum store_pg_statement st,
                    const struct store_param *params, size_t count, struct err *err);
int store_link_pipeline_end(struct store_link *l, size_t sent, struct err *err);
/* The next result, waited for; NULL: there is none, or it was given up (lost is set). */
PGresult *store_link_next(struct store_link *l);
/* err from a result (NULL: the connection's), and the code to return. */
int store_link_error(struct store_link *l, const PGresult *r, const char *doing, struct err *err);
/* Ends the sessions of this cluster's leader of that epoch, other than this one. */
int store_link_end_others(struct store_link *l, uint64_t epoch, struct err *err);

/* When the session of that epoch's leader last began or ended a statement, in microseconds; 0: it
 * has none. */
int store_link_last_work(struct store_link *l, uint64_t epoch, uint64_t *at, struct err *err);

/* What the session calls itself from now on. */
int store_link_name(struct store_link *l, const char *purpose, struct err *err);

/* store_pg_schema.c. Failures are negative codes; err is not NULL. */
/* existing: -ENOENT when it is not there; else it is made. */
int store_pg_schema_open(struct store_link *l, bool existing, struct err *err);
int store_pg_lead_take(struct store_link *l, bool clean, struct err *err);
void store_pg_lead_give(struct store_link *l);
int store_pg_lead_look(struct store_link *l, uint64_t *epoch, char **holder, struct err *err);

/* store_pg_commit.c, store_pg_read.c: the driver's, and the head of a transaction that writes
 * within a pipeline. number 0: no batch. */
int store_pg_batch_begin(struct store_link *l, uint64_t number, size_t *sent, struct err *err);
int store_pg_commit(struct store *s, const struct store_batch *b, uint64_t number, struct err *err);
bool store_pg_rest_due(const struct store *s);
int store_pg_rest(struct store *s, struct err *err);
int store_pg_load(struct store *s, const struct store_load *l, struct err *err);
int store_pg_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err);
/* Of the transaction under way; the texts until the pipeline has ended. */
int store_pg_set_aside(struct store_link *l, uint32_t kind, uint64_t number, const char *name,
                       const void *why, size_t why_len, struct err *err);
int store_pg_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
                 struct err *err);

/* Eight bytes as the server sends and takes them. */
static inline void store_pg_put64(unsigned char *out, uint64_t n)
{
    for (int i = 0; i < 8; i++)
        out[i] = (unsigned char)(n >> (56 - 8 * i));
}
static inline uint64_t store_pg_get64(const void *in)
{
    const unsigned char *p = in;
    uint64_t n = 0;
    for (int i = 0; i < 8; i++)
        n = n << 8 | p[i];
    return n;
}
