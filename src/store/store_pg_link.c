/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/symbols.h"
#include "store/store_pg.h"
#include "store/store_pg_link.h"

#define SLICE_MS 100      /* milliseconds until a wait notices that the store closes */
#define NAME_MAX_BYTES 63 /* bytes of an application_name */

static const struct {
    const char *name, *sql;
} statements[STORE_PG_STATEMENTS] = {
#define STATEMENT(id, sql) {#id, sql},
#include "store/store_pg_statement.def"
#undef STATEMENT
};

static struct store_pg *pg_of(const struct store_link *l)
{
    return l->s->own;
}

static const struct store_pq *pq_of(const struct store_link *l)
{
    return pg_of(l)->pq;
}

/* Joins the lines of libpq's messages. */
static void text_flatten(const char *text, struct str *out)
{
    for (bool gap = false; *text; text++) {
        bool blank = *text == '\n' || *text == '\t' || *text == ' ';
        if (!blank && gap && out->len)
            str_putc(out, ' ');
        if (!blank)
            str_putc(out, *text);
        gap = blank;
    }
}

/* Whether the failure is temporary: the server or the network has a problem. Others (a missing
 * table, a missing privilege, a value out of range) would occur again. */
static bool may_pass(const char *state)
{
    static const char classes[][3] = {"08", "25", "28", "40", "53", "55", "57", "58"};
    for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++)
        if (!strncmp(state, classes[i], 2))
            return true;
    return !strcmp(state, "3D000") /* the database is being restored */ ||
           !strcmp(state, "SL003") /* raised by batch_begin() if synchronous_commit is off */;
}

static int code_of(const char *state)
{
    if (!strcmp(state, "SL001"))
        return -ERR_LEAD;
    if (!strcmp(state, "53100"))
        return -ERR_STORE_FULL;
    if (!strcmp(state, "XX001") || !strcmp(state, "XX002"))
        return -ERR_STORE_DAMAGED;
    return -ERR_STORE;
}

int store_link_error(struct store_link *l, const PGresult *r, const char *doing, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    const char *state = r ? pq->PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    const char *text = state ? pq->PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) : NULL;
    _cleanup_str_ struct str flat = STR_INIT;
    if (!state) { /* libpq's own error: the connection */
        l->lost = true;
        text_flatten(l->conn ? pq->PQerrorMessage(l->conn) : "out of memory", &flat);
        err_set(err, -ERR_STORE, "%s: cannot %s: %s", l->s->name, doing,
                flat.len ? str_cstr(&flat) : "the server does not answer");
        return 1;
    }
    text_flatten(text ? text : "", &flat);
    int code = code_of(state);
    if (code == -ERR_LEAD)
        err_set(err, code, "%s: %s", l->s->name, str_cstr(&flat));
    else
        err_set(err, code, "%s: cannot %s: %s (SQLSTATE %s)", l->s->name, doing, str_cstr(&flat),
                state);
    if (!strncmp(state, "57P", 3) || !strncmp(state, "08", 2))
        l->lost = true;
    if (!strcmp(state, "SL002"))
        return STORE_LINK_MADE;
    return may_pass(state) ? 1 : code;
}

static void tell_slow(struct store_link *l)
{
    struct err why = {0};
    l->slow = true;
    l->s->stuck = true;
    err_set(&why, -ERR_STORE, "%s: the server has not answered for %d seconds; waiting", l->s->name,
            STORE_PG_SLOW_MS / 1000);
    store_trouble(l->s, &why);
}

static void tell_answer(struct store_link *l)
{
    struct err why = {0};
    l->slow = false;
    err_set(&why, 0, "%s: the server answers again", l->s->name);
    store_trouble(l->s, &why);
}

static bool has_silence_limit_passed(struct store_link *l, int64_t since_ms)
{
    int64_t now = loop_mono_ms();
    if (l->s->closing && !l->closing_at_ms)
        l->closing_at_ms = now;
    if (l->closing_at_ms && now - l->closing_at_ms >= STORE_PG_CLOSE_MS)
        return true;
    if (l->tells_slow && !l->slow && now - since_ms >= STORE_PG_SLOW_MS)
        tell_slow(l);
    return now - since_ms >= (l->patience_ms ? l->patience_ms : STORE_PG_ANSWER_MS);
}

static bool link_wait(struct store_link *l, short events)
{
    int64_t since_ms = loop_mono_ms();
    for (;;) {
        struct pollfd p = {.fd = pq_of(l)->PQsocket(l->conn), .events = events};
        int n = poll(&p, 1, SLICE_MS);
        if (n > 0)
            break;
        if ((n < 0 && errno != EINTR) || has_silence_limit_passed(l, since_ms))
            return false;
    }
    if (l->slow)
        tell_answer(l);
    return true;
}

PGresult *store_link_next(struct store_link *l)
{
    const struct store_pq *pq = pq_of(l);
    while (pq->PQisBusy(l->conn)) {
        int left = pq->PQflush(l->conn);
        if (left < 0)
            break; /* PQgetResult() reports the reason */
        if (!link_wait(l, POLLIN | (left ? POLLOUT : 0))) {
            l->lost = true;
            return NULL;
        }
        if (!pq->PQconsumeInput(l->conn))
            break;
    }
    return pq->PQgetResult(l->conn);
}

static bool result_is_good(const struct store_pq *pq, const PGresult *r)
{
    ExecStatusType status = r ? pq->PQresultStatus(r) : PGRES_FATAL_ERROR;
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

static int fail_link(struct store_link *l, const PGresult *r, const char *doing, struct err *err)
{
    int rc = store_link_error(l, r, doing, err);
    store_link_close(l);
    return rc;
}

static void params_split(const struct store_param *params, size_t count, const char **values,
                         int *lengths, int *formats)
{
    for (size_t i = 0; i < count; i++) {
        values[i] = params[i].data;
        lengths[i] = (int)params[i].len;
        formats[i] = params[i].binary;
    }
}

#define PARAMS_MAX 4

int store_link_query(struct store_link *l, const char *sql, const struct store_param *params,
                     size_t count, const char *doing, PGresult **result, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];
    params_split(params, count, values, lengths, formats);
    PGresult *r = NULL;
    if (pq->PQsendQueryParams(l->conn, sql, (int)count, NULL, values, lengths, formats, 0))
        r = store_link_next(l);
    int rc = result_is_good(pq, r) ? 0 : store_link_error(l, r, doing, err);
    for (PGresult *more; r && !l->lost && (more = store_link_next(l));)
        pq->PQclear(more);
    if (rc == 0 && result)
        *result = r;
    else
        pq->PQclear(r);
    return rc;
}

int store_link_pipeline_begin(struct store_link *l, struct err *err)
{
    return pq_of(l)->PQenterPipelineMode(l->conn) ? 0 : fail_link(l, NULL, "use it", err);
}

int store_link_send(struct store_link *l, enum store_pg_statement st,
                    const struct store_param *params, size_t count, struct err *err)
{
    const char *values[PARAMS_MAX];
    int lengths[PARAMS_MAX], formats[PARAMS_MAX];
    params_split(params, count, values, lengths, formats);
    if (pq_of(l)->PQsendQueryPrepared(l->conn, statements[st].name, (int)count, values, lengths,
                                      formats, 1))
        return 0;
    return fail_link(l, NULL, "send to it", err);
}

/* Expects one successful result and the NULL after it. */
static int pipeline_result(struct store_link *l, const char *doing, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    PGresult *r = store_link_next(l);
    int rc = result_is_good(pq, r) ? 0 : fail_link(l, r, doing, err);
    pq->PQclear(r);
    if (rc == 0)
        pq->PQclear(store_link_next(l));
    return rc;
}

int store_link_pipeline_end(struct store_link *l, size_t sent, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    if (!pq->PQpipelineSync(l->conn))
        return fail_link(l, NULL, "send to it", err);
    for (size_t i = 0; i < sent; i++) {
        int rc = pipeline_result(l, "write to it", err);
        if (rc)
            return rc;
    }
    /* All requests have been executed, whatever happens to the connection now. */
    PGresult *r = store_link_next(l);
    bool synced = r && pq->PQresultStatus(r) == PGRES_PIPELINE_SYNC;
    pq->PQclear(r);
    if (!synced || !pq->PQexitPipelineMode(l->conn))
        store_link_close(l);
    return 0;
}

int store_link_run(struct store_link *l, enum store_pg_statement st,
                   const struct store_param *params, size_t count, PGresult **result,
                   struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    int rc = store_link_send(l, st, params, count, err);
    if (rc)
        return rc;
    PGresult *r = store_link_next(l);
    if (!result_is_good(pq, r)) {
        rc = fail_link(l, r, "read it", err);
        pq->PQclear(r);
        return rc;
    }
    pq->PQclear(store_link_next(l));
    if (result)
        *result = r;
    else
        pq->PQclear(r);
    return 0;
}

int store_link_prepare(struct store_link *l, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    int rc = store_link_pipeline_begin(l, err);
    for (int i = 0; rc == 0 && i < STORE_PG_STATEMENTS; i++)
        if (!pq->PQsendPrepare(l->conn, statements[i].name, statements[i].sql, 0, NULL))
            rc = fail_link(l, NULL, "send to it", err);
    if (rc == 0)
        rc = store_link_pipeline_end(l, STORE_PG_STATEMENTS, err);
    return rc;
}

/* Opening. */

static void notice_ignore(void *arg, const char *message)
{
}

/* Waits for at most this time; the connection may still be in progress afterwards. */
static void connect_within(const struct store_pq *pq, PGconn *conn, int64_t ms)
{
    int64_t end_ms = loop_mono_ms() + ms;
    for (PostgresPollingStatusType want = PGRES_POLLING_WRITING;
         want != PGRES_POLLING_OK && want != PGRES_POLLING_FAILED; want = pq->PQconnectPoll(conn)) {
        int64_t left_ms = end_ms - loop_mono_ms();
        struct pollfd p = {.fd = pq->PQsocket(conn),
                           .events = want == PGRES_POLLING_READING ? POLLIN : POLLOUT};
        if (left_ms <= 0 || poll(&p, 1, (int)left_ms) <= 0)
            return;
    }
}

/* Our settings come first, so that those in the URL override them. A server whose host is gone is
 * noticed within seconds; of several hosts the writable one is used. */
static PGconn *connect_start(const struct store_pg *pg, int64_t within_ms)
{
    static const char *const keys[] = {"connect_timeout",
                                       "keepalives_idle",
                                       "keepalives_interval",
                                       "keepalives_count",
                                       "tcp_user_timeout",
                                       "target_session_attrs",
                                       "dbname",
                                       NULL};
    const char *const values[] = {"3", "5", "2", "3", "15000", "read-write", pg->url, NULL};
    if (within_ms == 0)
        return pg->pq->PQconnectdbParams(keys, values, 1);
    PGconn *conn = pg->pq->PQconnectStartParams(keys, values, 1);
    if (conn && pg->pq->PQstatus(conn) != CONNECTION_BAD)
        connect_within(pg->pq, conn, within_ms);
    return conn;
}

/* The name of sessions with that purpose, by which old sessions are found. */
static void application_name(const struct store_pg *pg, const char *purpose, char *out)
{
    snprintf(out, NAME_MAX_BYTES + 1, "sluice/%s/%s", purpose, pg->cluster);
}

/* Plans are made once, for any number of rows, and use the keys whatever the table's present size
 * is. The server notices within seconds if the leader's host is gone. */
static const char settings_sql[] =
    "SELECT set_config('search_path', $1, false), set_config('application_name', $2, false),"
    " set_config('plan_cache_mode', 'force_generic_plan', false), set_config('jit', 'off', false),"
    " set_config('enable_seqscan', 'off', false), set_config('enable_bitmapscan', 'off', false),"
    " set_config('enable_hashjoin', 'off', false), set_config('enable_mergejoin', 'off', false),"
    " set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),"
    " set_config('tcp_keepalives_idle', '5', false),"
    " set_config('tcp_keepalives_interval', '2', false),"
    " set_config('tcp_keepalives_count', '3', false)";

static int settings_apply(struct store_link *l, const char *purpose, struct err *err)
{
    const struct store_pg *pg = pg_of(l);
    char name[NAME_MAX_BYTES + 1];
    _cleanup_free_ char *path = mem_printf("\"sluice_%s\"", pg->cluster);
    application_name(pg, purpose, name);
    const struct store_param params[] = {{.data = path}, {.data = name}};
    return store_link_query(l, settings_sql, params, 2, "set the session up", NULL, err);
}

int store_link_name(struct store_link *l, const char *purpose, struct err *err)
{
    char name[NAME_MAX_BYTES + 1];
    application_name(pg_of(l), purpose, name);
    const struct store_param param = {.data = name};
    return store_link_query(l, "SELECT set_config('application_name', $1, false)", &param, 1,
                            "set the session up", NULL, err);
}

/* Refuses a server that may lose confirmed data. */
static int durability_check(struct store_link *l, struct err *err)
{
    static const char *const names[] = {"synchronous_commit", "fsync"};
    PGresult *r = NULL;
    int rc = store_link_query(
        l, "SELECT current_setting('synchronous_commit'), current_setting('fsync')", NULL, 0,
        "read its settings", &r, err);
    for (int i = 0; rc == 0 && i < 2; i++)
        if (!strcmp(pq_of(l)->PQgetvalue(r, 0, i), "off"))
            rc = err_set(err, -ERR_CONFIG,
                         "%s: %s is off on this server: what it has confirmed could be lost; set "
                         "%s = on in postgresql.conf (or ALTER ROLE ... RESET %s) and reload it",
                         l->s->name, names[i], names[i], names[i]);
    pq_of(l)->PQclear(r);
    return rc;
}

int store_link_open(struct store *s, struct store_link *l, const char *purpose, struct err *err)
{
    struct store_pg *pg = s->own;
    l->s = s;
    l->lost = false;
    l->closing_at_ms = 0;
    l->conn = connect_start(pg, l->patience_ms);
    if (!l->conn || pg->pq->PQstatus(l->conn) != CONNECTION_OK)
        return fail_link(l, NULL, "connect to it", err);
    pg->pq->PQsetNoticeProcessor(l->conn, notice_ignore, NULL);
    pg->pq->PQsetnonblocking(l->conn, 1);
    int rc = settings_apply(l, purpose, err);
    if (rc == 0)
        rc = durability_check(l, err);
    if (rc)
        store_link_close(l);
    return rc;
}

void store_link_close(struct store_link *l)
{
    if (l->conn)
        pq_of(l)->PQfinish(take_ptr(l->conn));
}

int store_link_end_others(struct store_link *l, uint64_t epoch, struct err *err)
{
    char purpose[24], name[NAME_MAX_BYTES + 1];
    snprintf(purpose, sizeof(purpose), "%llu", (unsigned long long)epoch);
    application_name(pg_of(l), purpose, name);
    const struct store_param param = {.data = name};
    return store_link_query(l,
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                            " WHERE application_name = $1 AND datname = current_database()"
                            " AND pid <> pg_backend_pid()",
                            &param, 1, "end the sessions of the last leader", NULL, err);
}

int store_link_last_work(struct store_link *l, uint64_t epoch, uint64_t *at, struct err *err)
{
    char purpose[24], name[NAME_MAX_BYTES + 1];
    PGresult *r = NULL;
    snprintf(purpose, sizeof(purpose), "%llu", (unsigned long long)epoch);
    application_name(pg_of(l), purpose, name);
    const struct store_param param = {.data = name};
    int rc = store_link_query(
        l,
        "SELECT coalesce(extract(epoch FROM max(state_change)) * 1000000, 0)::bigint"
        " FROM pg_stat_activity WHERE application_name = $1 AND datname = current_database()",
        &param, 1, "see whether the leader is at work", &r, err);
    if (rc == 0)
        *at = strtoull(pq_of(l)->PQgetvalue(r, 0, 0), NULL, 10);
    pq_of(l)->PQclear(r);
    return rc;
}

#define LIBRARY "libpq.so.5"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct store_pq table;
static struct err missing;

static const struct symbol functions[] = {
#define PQ(name) {#name, offsetof(struct store_pq, name)},
#include "store/store_pq.def"
#undef PQ
};

static void load_library(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        err_set(&missing, -ERR_NOT_SUPPORTED,
                "a store on PostgreSQL needs the library libpq (Debian: package libpq5): %s",
                dlerror());
        return;
    }
    const char *name =
        symbols_find(library, functions, sizeof(functions) / sizeof(functions[0]), &table);
    if (name)
        err_set(&missing, -ERR_NOT_SUPPORTED,
                "a store on PostgreSQL needs " LIBRARY
                " of version 14 or newer: this one has no %s",
                name);
}

int store_pq_get(const struct store_pq **pq, struct err *err)
{
    pthread_once(&once, load_library);
    if (missing.code)
        return err_set(err, missing.code, "%s", missing.text);
    *pq = &table;
    return 0;
}
