/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The schema of a cluster, created on first use, and the row with the lead. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store_pg.h"

#define LOCK_WAIT                                                                                  \
    "250ms" /* time for the previous leader's running commit before its session is ended */
#define TAKE_TRIES 20
/* "SLUI": number of the advisory lock while the schema is created */
#define LOCK_NUMBER 1397509449
#define TEXT(x) TEXT_(x)
#define TEXT_(x) #x

/* 'lead' and 'last_batch' have one row each. 'about' has the format. If two controllers start at
 * once, one waits at the advisory lock. Names are stored as bytes, because a text must be valid in
 * the database's encoding. */
static const char schema_sql[] =
    "CREATE TABLE about(format integer NOT NULL);"
    "INSERT INTO about VALUES (" TEXT(
        STORE_FORMAT) ");"
                      "CREATE TABLE lead(one boolean PRIMARY KEY DEFAULT true CHECK (one), epoch "
                      "bigint NOT NULL,"
                      " holder text NOT NULL, since timestamptz NOT NULL);"
                      "INSERT INTO lead(epoch, holder, since) VALUES (0, '', now());"
                      "CREATE TABLE last_batch(one boolean PRIMARY KEY DEFAULT true CHECK (one),"
                      " epoch bigint NOT NULL, number bigint NOT NULL) WITH (fillfactor = 10);"
                      "INSERT INTO last_batch(epoch, number) VALUES (0, 0);"

                      "CREATE FUNCTION records_make() RETURNS void LANGUAGE plpgsql AS $f$ BEGIN"
                      " CREATE TABLE numbered(kind bigint NOT NULL, number bigint NOT NULL, sum "
                      "bigint NOT NULL,"
                      "  data bytea NOT NULL, PRIMARY KEY (kind, number)) WITH (fillfactor = 80);"
                      " CREATE TABLE named(kind bigint NOT NULL, name bytea NOT NULL, sum bigint "
                      "NOT NULL,"
                      "  data bytea NOT NULL, PRIMARY KEY (kind, name)) WITH (fillfactor = 80);"
                      " CREATE TABLE damaged(kind bigint NOT NULL, number bigint, name bytea, sum "
                      "bigint, data bytea,"
                      "  why text NOT NULL DEFAULT 'checksum', found_at timestamptz NOT NULL "
                      "DEFAULT now());"
                      "END $f$;"

                      /* Every writing transaction begins with this function. Number 0: no batch,
                         or no changes. */
                      "CREATE FUNCTION batch_begin(my_epoch bigint, my_number bigint) RETURNS void"
                      " LANGUAGE plpgsql AS $f$"
                      "DECLARE now_leads lead;"
                      "BEGIN"
                      " SELECT * INTO now_leads FROM lead FOR SHARE;"
                      " IF now_leads.epoch IS DISTINCT FROM my_epoch THEN"
                      "  RAISE EXCEPTION USING ERRCODE = 'SL001', MESSAGE ="
                      "   format('the lead was lost (epoch %s): %s leads since %s (epoch %s)', "
                      "my_epoch,"
                      "    coalesce(nullif(now_leads.holder, ''), 'nobody'),"
                      "    to_char(now_leads.since, 'YYYY-MM-DD\"T\"HH24:MI:SS'), now_leads.epoch);"
                      " END IF;"
                      " IF current_setting('synchronous_commit') = 'off' THEN"
                      "  RAISE EXCEPTION USING ERRCODE = 'SL003', MESSAGE = 'synchronous_commit is "
                      "off: what is"
                      " confirmed could be lost; set synchronous_commit = on and reload the "
                      "server';"
                      " END IF;"
                      " IF my_number > 0 THEN"
                      "  UPDATE last_batch SET epoch = my_epoch, number = my_number"
                      "   WHERE (epoch, number) < (my_epoch, my_number);"
                      "  IF NOT FOUND THEN"
                      "   RAISE EXCEPTION USING ERRCODE = 'SL002', MESSAGE ="
                      "    format('batch %s of epoch %s is not above the last', my_number, "
                      "my_epoch);"
                      "  END IF;"
                      " END IF;"
                      "END $f$;"

                      /* Waits for the leader's running commit; later ones fail. Returns 0 if that
                       * takes too long. clean: records are moved aside, the lead and its epochs
                       * stay. */
                      "CREATE FUNCTION lead_take(new_holder text, clean boolean) RETURNS bigint"
                      " LANGUAGE plpgsql AS $f$"
                      "DECLARE new_epoch bigint; t text;"
                      "BEGIN"
                      " PERFORM set_config('lock_timeout', '" LOCK_WAIT "', true);"
                      " BEGIN"
                      "  UPDATE lead SET epoch = epoch + 1, holder = new_holder, since = now()"
                      "   RETURNING epoch INTO STRICT new_epoch;"
                      " EXCEPTION WHEN lock_not_available THEN"
                      "  RETURN 0;"
                      " END;"
                      " IF clean THEN"
                      "  FOREACH t IN ARRAY ARRAY['numbered', 'named', 'damaged'] LOOP"
                      "   EXECUTE format('DROP TABLE IF EXISTS %I', t || '_old');"
                      "   EXECUTE format('ALTER TABLE %I RENAME TO %I', t, t || '_old');"
                      "  END LOOP;"
                      "  PERFORM records_make();"
                      " END IF;"
                      " RETURN new_epoch;"
                      "END $f$;"

                      "CREATE FUNCTION lead_give(my_epoch bigint) RETURNS void LANGUAGE sql AS"
                      " $f$ UPDATE lead SET holder = '' WHERE epoch = my_epoch $f$;"

                      "SELECT records_make();";

static const struct store_pq *pq_of(const struct store_link *l)
{
    return ((struct store_pg *)l->s->own)->pq;
}

static char *schema_name(const struct store_link *l)
{
    return mem_printf("sluice_%s", ((struct store_pg *)l->s->own)->cluster);
}

/* Nothing is retried while opening: a failure is a negative code. */
static int query_schema(struct store_link *l, const char *sql, const char *text, const char *doing,
                        PGresult **r, struct err *err)
{
    const struct store_param param = {.data = text};
    int rc = store_link_query(l, sql, &param, text ? 1 : 0, doing, r, err);
    return rc ? err->code : 0;
}

/* The script is constant text with identifiers that consist of letters, digits, '-', '_' and '.'
   only. */
static int script_run(struct store_link *l, const char *sql, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    pq->PQsetnonblocking(l->conn, 0);
    PGresult *r = pq->PQexec(l->conn, sql);
    ExecStatusType status = pq->PQresultStatus(r);
    bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
    if (!good)
        store_link_error(l, r, "make its tables", err);
    pq->PQclear(r);
    pq->PQsetnonblocking(l->conn, 1);
    return good ? 0 : err->code;
}

/* Returns 1 if the name exists. */
static int is_there(struct store_link *l, const char *sql, const char *name, struct err *err)
{
    PGresult *r = NULL;
    int rc = query_schema(l, sql, name, "look for its tables", &r, err);
    int there = rc ? rc : pq_of(l)->PQntuples(r) > 0;
    pq_of(l)->PQclear(r);
    return there;
}

#define SCHEMA_IS_THERE "SELECT 1 FROM pg_namespace WHERE nspname = $1"
#define TABLES_ARE_THERE                                                                           \
    "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"                       \
    " WHERE n.nspname = $1 AND c.relname = 'about'"

static int schema_make(struct store_link *l, const char *schema, struct err *err)
{
    int rc = script_run(l, "BEGIN; SELECT pg_advisory_xact_lock(" TEXT(LOCK_NUMBER) ")", err);
    int there = rc ? rc : is_there(l, SCHEMA_IS_THERE, schema, err);
    if (there == 0) {
        _cleanup_free_ char *sql = mem_printf("CREATE SCHEMA \"%s\"", schema);
        if (script_run(l, sql, err))
            return err_set(err, -ERR_STORE,
                           "%s: cannot make the schema %s: let the database's owner run 'CREATE "
                           "SCHEMA \"%s\" AUTHORIZATION ...', or GRANT CREATE ON DATABASE",
                           l->s->name, schema, schema);
    }
    if (there >= 0)
        there = is_there(l, TABLES_ARE_THERE, schema, err);
    if (there < 0)
        return there;
    rc = there ? 0 : script_run(l, schema_sql, err);
    return rc ? rc : script_run(l, "COMMIT", err);
}

static int format_check(struct store_link *l, struct err *err)
{
    PGresult *r = NULL;
    int rc = query_schema(l, "SELECT format FROM about", NULL, "read its format", &r, err);
    if (rc)
        return rc;
    long format = pq_of(l)->PQntuples(r) == 1 ? atol(pq_of(l)->PQgetvalue(r, 0, 0)) : 0;
    pq_of(l)->PQclear(r);
    if (format < 1)
        return err_set(err, -ERR_STORE_DAMAGED, "%s: the table 'about' is damaged", l->s->name);
    if (format > STORE_FORMAT)
        return err_set(err, -ERR_VERSION,
                       "%s was written by a newer version (format %ld, this program knows %d): "
                       "start that version; nothing was changed",
                       l->s->name, format, STORE_FORMAT);
    return 0;
}

int store_pg_schema_open(struct store_link *l, bool existing, struct err *err)
{
    _cleanup_free_ char *schema = schema_name(l);
    int there = is_there(l, TABLES_ARE_THERE, schema, err);
    if (there == 0 && existing)
        return err_set(err, -ENOENT, "%s: there is no saved state", l->s->name);
    int rc = there == 0 ? schema_make(l, schema, err) : 0;
    if (there < 0 || rc)
        return there < 0 ? there : rc;
    return format_check(l, err);
}

/* holder NULL: there is no leader at present. */
static int lead_read(struct store_link *l, uint64_t *epoch, char **holder, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    PGresult *r = NULL;
    int rc = query_schema(l, "SELECT epoch, holder FROM lead", NULL, "read who leads", &r, err);
    if (rc)
        return rc;
    bool led = pq->PQntuples(r) == 1 && *pq->PQgetvalue(r, 0, 1);
    *epoch = pq->PQntuples(r) == 1 ? strtoull(pq->PQgetvalue(r, 0, 0), NULL, 10) : 0;
    if (holder)
        *holder = led ? mem_strdup(pq->PQgetvalue(r, 0, 1)) : NULL;
    pq->PQclear(r);
    return 0;
}

/* A leader that holds the row for long is frozen or cut off in the middle of a commit. */
static int lead_free_up(struct store_link *l, struct err *err)
{
    uint64_t epoch = 0;
    int rc = lead_read(l, &epoch, NULL, err);
    return rc ? rc : store_link_end_others(l, epoch, err) ? err->code : 0;
}

/* s->epoch stays 0 if the row is locked. */
static int lead_try(struct store_link *l, bool clean, struct err *err)
{
    const struct store_pq *pq = pq_of(l);
    const struct store_pg *pg = l->s->own;
    const struct store_param params[] = {{.data = pg->holder}, {.data = clean ? "true" : "false"}};
    PGresult *r = NULL;
    _cleanup_free_ char *last_holder = NULL;
    uint64_t last_epoch = 0;
    if (lead_read(l, &last_epoch, &last_holder, err))
        return err->code;
    int rc = store_link_query(l, "SELECT lead_take($1::text, $2::boolean)", params, 2,
                              "take the lead", &r, err);
    if (rc == 0)
        l->s->epoch = strtoull(pq->PQgetvalue(r, 0, 0), NULL, 10);
    pq->PQclear(r);
    /* There was no other leader in between. */
    l->s->settled = !last_holder && l->s->epoch == last_epoch + 1;
    return rc ? err->code : 0;
}

int store_pg_lead_take(struct store_link *l, bool clean, struct err *err)
{
    int rc = lead_try(l, clean, err);
    for (int i = 0; rc == 0 && l->s->epoch == 0 && i < TAKE_TRIES; i++) {
        rc = lead_free_up(l, err);
        if (rc == 0)
            rc = lead_try(l, clean, err);
    }
    if (rc)
        return rc;
    if (l->s->epoch == 0)
        return err_set(err, -ERR_LEAD,
                       "%s: cannot take the lead: another session holds it and does not end; look "
                       "for it in pg_locks and pg_stat_activity",
                       l->s->name);
    char purpose[24];
    snprintf(purpose, sizeof(purpose), "%llu", (unsigned long long)l->s->epoch);
    return store_link_name(l, purpose, err) ? err->code : 0;
}

void store_pg_lead_give(struct store_link *l)
{
    char epoch[24];
    struct err ignored;
    snprintf(epoch, sizeof(epoch), "%llu", (unsigned long long)l->s->epoch);
    if (l->conn)
        query_schema(l, "SELECT lead_give($1)", epoch, "give the lead back", NULL, &ignored);
}

int store_pg_lead_look(struct store_link *l, uint64_t *epoch, char **holder, struct err *err)
{
    _cleanup_free_ char *schema = schema_name(l);
    int there = is_there(l, TABLES_ARE_THERE, schema, err);
    if (there > 0)
        return lead_read(l, epoch, holder, err);
    if (there == 0) {
        *epoch = 0;
        *holder = NULL;
    }
    return there;
}
