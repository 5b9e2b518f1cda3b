/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Private to the PostgreSQL driver. It has two connections ("links"): commits use one, on the
 * thread that commits; reads use the other, on the thread that reads, so that reads never wait for
 * a commit. After any failure a link is closed and opened again, so its state is always known.
 *
 * A commit is one pipeline and one round trip: BEGIN, batch_begin(epoch, number), one statement
 * per kind of change with all its rows in arrays, COMMIT. batch_begin() locks the row 'lead' FOR
 * SHARE and refuses a different epoch; then it writes the batch's number and refuses a number that
 * is not above the last. A batch that is repeated because its answer was lost is therefore either
 * committed now, or refused as already committed; and a first attempt that lingers on an abandoned
 * connection cannot take effect after later batches.
 */
#pragma once

#include "store/store_internal.h"
#include "store/store_pg_link.h"

/* Time without any byte from the server until the delay is reported, until a commit is repeated
 * over a new connection, in total when closing, and for reading a record. */
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
    PGconn *conn;          /* NULL: closed */
    int64_t patience_ms;   /* time limit without a byte; 0: STORE_PG_ANSWER_MS */
    bool tells_slow;       /* reports slow answers: the link for commits */
    bool slow;             /* the slow answer was reported */
    bool lost;             /* closed because of the connection, not because of a refusal */
    int64_t closing_at_ms; /* time at which closing was noticed; 0: not closing */
};

struct store_pg {
    const struct store_pq *pq;
    char *url, *cluster, *holder;
    struct store_link write, read;
    uint64_t tried; /* number of the last batch sent */
    int64_t read_again_ms;
    atomic_bool spare_wanted; /* the reader requests that rest() opens a connection */
    pthread_mutex_t lock;     /* protects 'spare' */
    struct store_link spare;
};

struct store_param {
    const void *data;
    size_t len;
    bool binary;
};

/* Purpose of a read session; the purpose of the leader's session is its epoch. */
#define STORE_PG_READS "reads"

/* An additional positive code: batch_begin() has refused a number that is not above the last. */
#define STORE_LINK_MADE 2

/* store_pg_link.c. Functions that return int return 0, a positive value for temporary failures, or
 * a negative code. Every failure closes the link, except in store_link_query(). */
int store_link_open(struct store *s, struct store_link *l, const char *purpose, struct err *err);
void store_link_close(struct store_link *l);
int store_link_prepare(struct store_link *l, struct err *err);
/* Executes one statement, over a link without a running pipeline. result may be NULL. */
int store_link_query(struct store_link *l, const char *sql, const struct store_param *params,
                     size_t count, const char *doing, PGresult **result, struct err *err);
int store_link_run(struct store_link *l, enum store_pg_statement st,
                   const struct store_param *params, size_t count, PGresult **result,
                   struct err *err);
/* A pipeline: begin, any number of sends, then store_link_pipeline_end() with that number. */
int store_link_pipeline_begin(struct store_link *l, struct err *err);
int store_link_send(struct store_link *l, enum store_pg_statement st,
                    const struct store_param *params, size_t count, struct err *err);
int store_link_pipeline_end(struct store_link *l, size_t sent, struct err *err);
/* Waits for the next result; NULL: there is none, or the link was given up (lost is set). */
PGresult *store_link_next(struct store_link *l);
/* Sets err from a result (NULL: from the connection), and returns the code. */
int store_link_error(struct store_link *l, const PGresult *r, const char *doing, struct err *err);
/* Ends the sessions of this cluster's leader with that epoch, except this one. */
int store_link_end_others(struct store_link *l, uint64_t epoch, struct err *err);

/* Returns when the session of the leader with that epoch last began or ended a statement, in
 * microseconds; 0: it has no session. */
int store_link_last_work(struct store_link *l, uint64_t epoch, uint64_t *at, struct err *err);

/* Renames the session. */
int store_link_name(struct store_link *l, const char *purpose, struct err *err);

/* store_pg_schema.c. Failures are negative codes; err must not be NULL. */
/* existing: -ENOENT if it does not exist; otherwise it is created. */
int store_pg_schema_open(struct store_link *l, bool existing, struct err *err);
int store_pg_lead_take(struct store_link *l, bool clean, struct err *err);
void store_pg_lead_give(struct store_link *l);
int store_pg_lead_look(struct store_link *l, uint64_t *epoch, char **holder, struct err *err);

/* store_pg_commit.c, store_pg_read.c: functions of the driver, and the begin of a writing
 * transaction inside a pipeline. number 0: no batch. */
int store_pg_batch_begin(struct store_link *l, uint64_t number, size_t *sent, struct err *err);
int store_pg_commit(struct store *s, const struct store_batch *b, uint64_t number, struct err *err);
bool store_pg_rest_due(const struct store *s);
int store_pg_rest(struct store *s, struct err *err);
int store_pg_load(struct store *s, const struct store_load *l, struct err *err);
int store_pg_load_aside(struct store *s, store_aside_fn *each, void *ctx, struct err *err);
/* Inside the running transaction; the strings must stay valid until the pipeline has ended. */
int store_pg_set_aside(struct store_link *l, uint32_t kind, uint64_t number, const char *name,
                       const void *why, size_t why_len, struct err *err);
int store_pg_get(struct store *s, uint32_t kind, uint64_t number, void **data, size_t *len,
                 struct err *err);

/* Converts eight bytes to and from network order. */
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
