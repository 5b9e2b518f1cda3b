/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts the stored records to the controller's state. Damaged records are set aside and
 * reported. If an essential record is damaged, or if a record is of a newer version, the
 * controller does not start. */
#define LOG_ROOM "slurmctld"
#include <stdlib.h>

#include "base/mem.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/lead/restore.h"

#define SEE "see SAVED STATE in slurmctld(8)"

struct bad {
    uint32_t kind;
    uint64_t number;
    char *name;
    struct err why;
    bool moved; /* the store has moved it */
};

struct restore {
    struct ctld *c;
    size_t good, before;
    VEC(struct bad) bad;
};

static void format_key(uint32_t kind, uint64_t number, const char *name, struct str *out)
{
    static const char *const kinds[] = {[RECORD_META] = "the state's own record",
                                        [RECORD_JOB] = "job",
                                        [RECORD_PAYLOAD] = "the script of job",
                                        [RECORD_NODE] = "node",
                                        [RECORD_PART] = "partition",
                                        [RECORD_MADE] = "the record of nodes in no file",
                                        [RECORD_GIVEN_UP] = "the end of job",
                                        [RECORD_SHUTDOWN] = "the announced shutdown",
                                        [RECORD_ARRAY] = "job array",
                                        [RECORD_RESV] = "reservation",
                                        [RECORD_TRIGGER] = "trigger",
                                        [RECORD_EVENT] = "event",
                                        [RECORD_CONSUMER] = "event consumer",
                                        [RECORD_ATTEMPT] = "ended attempt"};
    if (kind < sizeof(kinds) / sizeof(kinds[0]) && kinds[kind])
        str_puts(out, kinds[kind]);
    else
        str_printf(out, "kind %u", kind);
    if (name)
        str_printf(out, " %s", name);
    else if (kind != RECORD_META && kind != RECORD_MADE && kind != RECORD_SHUTDOWN)
        str_printf(out, " %llu", (unsigned long long)number);
}

static void add_bad(struct restore *r, uint32_t kind, uint64_t number, const char *name,
                    const struct err *why, bool moved)
{
    struct bad b = {.kind = kind, .number = number, .name = mem_strdup(name), .why = *why};
    b.moved = moved;
    vec_push(&r->bad, b);
}

static void on_record(void *ctx, uint32_t kind, uint64_t number, const char *name, const void *data,
                      size_t len)
{
    struct restore *r = ctx;
    struct err err = {0};
    if (control_restore(r->c->control, (enum record_kind)kind, number, name, data, len, &err) == 0)
        r->good++;
    else
        add_bad(r, kind, number, name, &err, false);
}

static void on_damaged(void *ctx, uint32_t kind, uint64_t number, const char *name, const char *why)
{
    struct err err = {0};
    err_set(&err, -ERR_STORE_DAMAGED, "%s", why);
    add_bad(ctx, kind, number, name, &err, true);
}

static void on_aside(void *ctx, const struct store_aside *row)
{
    struct restore *r = ctx;
    control_set_aside(r->c->control, (enum record_kind)row->kind, row->number, row->name, true);
    r->before++;
}

/* -i accepts the loss. */
static int check_damage(const struct restore *r, struct err *err)
{
    const char *place = store_name(r->c->store);
    _cleanup_str_ struct str key = STR_INIT;
    if (r->c->options->ignore_damage)
        return 0;
    vec_foreach (&r->bad, b) {
        if (b->why.code != -ERR_VERSION)
            continue;
        format_key(b->kind, b->number, b->name, &key);
        return err_set(err, -ERR_VERSION,
                       "%s: %s: %s: start the version that wrote it, or slurmctld -i to set such "
                       "records aside",
                       place, str_cstr(&key), b->why.text);
    }
    if (!control_lacks_meta(r->c->control))
        return 0;
    return err_set(err, -ERR_STORE_DAMAGED,
                   "%s: the state's own record, which says what job ids were given, is damaged or "
                   "missing: put a copy back, or start slurmctld -i to go on above all ids that "
                   "are there; " SEE,
                   place);
}

/* In one commit, before any other write. */
static int set_damaged_aside(const struct restore *r, struct err *err)
{
    struct store_batch *batch = store_batch_new();
    vec_foreach (&r->bad, b)
        if (!b->moved)
            store_set_aside(batch, b->kind, b->number, b->name, b->why.text);
    if (!store_batch_empty(batch))
        return store_commit_sync(r->c->store, batch, err);
    store_batch_free(batch);
    return 0;
}

static void log_damage(const struct restore *r)
{
    vec_foreach (&r->bad, b) {
        _cleanup_str_ struct str key = STR_INIT;
        format_key(b->kind, b->number, b->name, &key);
        log_error("%s: %s was set aside: %s", store_name(r->c->store), str_cstr(&key), b->why.text);
        control_set_aside(r->c->control, (enum record_kind)b->kind, b->number, b->name, false);
    }
    if (r->bad.len)
        log_error("%zu records were set aside, in the table 'damaged' of %s; everything else is "
                  "served; " SEE,
                  r->bad.len, store_name(r->c->store));
    else if (r->before)
        log_info("%zu records were set aside by earlier starts, in the table 'damaged' of %s",
                 r->before, store_name(r->c->store));
}

static int load_records(struct restore *r, struct err *err)
{
    struct store *s = r->c->store;
    if (store_was_damaged(s))
        control_lost_records(r->c->control);
    int rc = store_load(s, RECORD_PAYLOAD, on_record, on_damaged, r, err);
    if (rc == 0)
        rc = store_load_aside(s, on_aside, r, err);
    if (rc == 0)
        rc = check_damage(r, err);
    if (rc == 0)
        rc = set_damaged_aside(r, err);
    if (rc == 0)
        log_damage(r);
    return rc;
}

int restore_state(struct ctld *c, struct err *err)
{
    int64_t begin_ms = loop_mono_ms();
    struct restore r = {.c = c};
    int rc = load_records(&r, err);
    vec_foreach (&r.bad, b)
        free(b->name);
    vec_done(&r.bad);
    if (rc)
        return err_prefix(err, "the saved state");
    log_info("%zu records of state read from %s in %lld ms", r.good, store_name(c->store),
             (long long)(loop_mono_ms() - begin_ms));
    return 0;
}
