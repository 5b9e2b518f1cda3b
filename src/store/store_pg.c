/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_pg.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/url.h"

/* Makes the cluster's part of the schema's name: in lower case, because Slurm compares cluster
 * names without case, and without characters that need quotes in SQL. */
static int cluster_check(const char *cluster, char **out, struct err *err)
{
    _cleanup_free_ char *lower = mem_strdup(cluster ? cluster : "");
    size_t len = strlen(lower);
    if (len == 0 || len > 40)
        return err_set(err, -ERR_CONFIG,
                       "a store on PostgreSQL needs the cluster's name, 1 to 40 "
                       "bytes long");
    for (char *p = lower; *p; p++) {
        *p = (char)tolower((unsigned char)*p);
        if (!isalnum((unsigned char)*p) && !strchr("-_.", *p))
            return err_set(err, -ERR_CONFIG, "cluster '%s': letters, digits, - _ . only", cluster);
    }
    *out = take_ptr(lower);
    return 0;
}

static void pg_free(struct store_pg *pg)
{
    if (pg->url)
        mem_wipe(pg->url, strlen(pg->url));
    free(pg->url);
    free(pg->cluster);
    free(pg->holder);
    pthread_mutex_destroy(&pg->lock);
    free(pg);
}

static int pg_new(struct store *s, const struct store_where *where, struct err *err)
{
    const struct store_pq *pq = NULL;
    char *cluster = NULL;
    int rc = cluster_check(where->cluster, &cluster, err);
    if (rc == 0)
        rc = store_pq_get(&pq, err);
    if (rc) {
        free(cluster);
        return rc;
    }
    struct store_pg *pg = mem_new(struct store_pg);
    pg->pq = pq;
    pg->url = mem_strdup(where->at);
    pg->cluster = cluster;
    pg->holder = store_holder(where);
    pthread_mutex_init(&pg->lock, NULL);
    s->own = pg;
    return 0;
}

/* Needs only the URL; the caller closes the link. */
static int write_open(struct store *s, struct err *err)
{
    struct store_pg *pg = s->own;
    int rc = store_link_open(s, &pg->write, "opens", err);
    return rc ? err->code : 0;
}

static int reader_open(struct store *s, struct err *err)
{
    struct store_pg *pg = s->own;
    int rc = store_link_open(s, &pg->read, STORE_PG_READS, err);
    if (rc == 0)
        rc = store_link_prepare(&pg->read, err);
    pg->read.patience_ms = STORE_PG_READ_MS;
    return rc ? err->code : 0;
}

static int pg_open_links(struct store *s, unsigned flags, struct err *err)
{
    struct store_pg *pg = s->own;
    bool leads = flags & STORE_TAKE_LEAD;
    if ((flags & STORE_CLEAN) && !leads)
        return err_set(err, -ERR_LEAD, "%s: only who leads can start it empty", s->name);
    int rc = write_open(s, err);
    if (rc == 0)
        rc = store_pg_schema_open(&pg->write, flags & STORE_EXISTING, err);
    if (rc == 0 && leads)
        rc = store_pg_lead_take(&pg->write, flags & STORE_CLEAN, err);
    if (rc == 0 && leads && store_link_prepare(&pg->write, err))
        rc = err->code;
    if (rc == 0)
        rc = reader_open(s, err);
    if (rc == 0 && !leads)
        store_link_close(&pg->write);
    pg->write.tells_slow = true;
    return rc;
}

static void pg_close(struct store *s)
{
    struct store_pg *pg = s->own;
    if (s->epoch && s->settled && s->why.code != -ERR_LEAD)
        store_pg_lead_give(&pg->write);
    store_link_close(&pg->write);
    store_link_close(&pg->read);
    store_link_close(&pg->spare);
    pg_free(pg);
}

static int pg_open(struct store *s, const struct store_where *where, unsigned flags,
                   struct err *err)
{
    struct err why = {0};
    int rc = pg_new(s, where, &why);
    if (rc == 0) {
        rc = pg_open_links(s, flags, &why);
        if (rc)
            pg_close(s);
    }
    return rc ? err_set(err, why.code, "%s", why.text) : 0;
}

/* sign: NULL, or receives the number of the last commit if there is a leader. */
static int look_for_lead(const struct store_where *where, uint64_t *epoch, char **holder,
                         uint64_t *sign, struct err *err)
{
    struct store *s = mem_new(struct store);
    struct err why = {0};
    s->name = url_mask(where->at);
    int rc = pg_new(s, where, &why);
    if (rc == 0) {
        struct store_pg *pg = s->own;
        rc = write_open(s, &why);
        if (rc == 0)
            rc = store_pg_lead_look(&pg->write, epoch, holder, &why);
        if (rc == 0 && sign && *holder)
            rc = store_link_last_work(&pg->write, *epoch, sign, &why);
        store_link_close(&pg->write);
        pg_free(pg);
    }
    free(s->name);
    free(s);
    return rc ? err_set(err, why.code, "%s", why.text) : 0;
}

static int pg_lead(const struct store_where *where, uint64_t *epoch, char **holder, struct err *err)
{
    return look_for_lead(where, epoch, holder, NULL, err);
}

static int pg_lead_sign(const struct store_where *where, uint64_t *sign, struct err *err)
{
    _cleanup_free_ char *holder = NULL;
    uint64_t epoch = 0;
    return look_for_lead(where, &epoch, &holder, sign, err);
}

/* The server's disk space is unknown: if it is full, commits fail and store_is_stuck() is true. */
static bool pg_low(const struct store *s, uint64_t more)
{
    return false;
}

const struct store_driver store_pg_driver = {
    .open = pg_open,
    .close = pg_close,
    .lead = pg_lead,
    .lead_sign = pg_lead_sign,
    .commit = store_pg_commit,
    .rest_due = store_pg_rest_due,
    .rest = store_pg_rest,
    .load = store_pg_load,
    .load_aside = store_pg_load_aside,
    .get = store_pg_get,
    .low = pg_low,
};
