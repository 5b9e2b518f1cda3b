/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "cmd/sluice/state.h"
#include "cmd/sluice/state_line.h"
#include "control/env.h"

#define BATCH_BYTES (8u << 20)

struct reader {
    FILE *in;
    char *text;
    size_t room, len;
    unsigned long number; /* line number, from 1 */
    uint32_t sum;         /* checksum of the lines before the last one read */
    uint32_t sum_with;
    struct arena arenas[2]; /* for this line and the one before */
    struct state_line line, before;
};

static void reader_done(struct reader *r)
{
    free(r->text);
    arena_done(&r->arenas[0]);
    arena_done(&r->arenas[1]);
}

static int reader_init(struct reader *r, FILE *in, struct err *err)
{
    *r = (struct reader){.in = in};
    arena_init(&r->arenas[0], 0);
    arena_init(&r->arenas[1], 0);
    return fseek(in, 0, SEEK_SET) ? err_set(err, -errno, "%s", strerror(errno)) : 0;
}

/* Returns a positive number at the end of the file. */
static int line_get(struct reader *r, struct err *err)
{
    errno = 0;
    ssize_t len = getline(&r->text, &r->room, r->in);
    if (len < 0)
        return ferror(r->in) || errno ? err_set(err, -EIO, "%s", strerror(errno ? errno : EIO)) : 1;
    r->number++;
    r->sum = r->sum_with;
    r->sum_with = crc32c(r->sum, r->text, (size_t)len);
    if (r->text[len - 1] != '\n')
        return err_set(err, -ERR_PARSE, "line %lu: it is cut short", r->number);
    r->len = (size_t)len - 1;
    return 0;
}

/* Reads the next line and checks its order. Returns a positive number at the end of the file. */
static int line_next(struct reader *r, struct err *err)
{
    struct arena *arena = &r->arenas[r->number & 1];
    int rc = line_get(r, err);
    if (rc)
        return rc;
    arena_reset(arena, 0);
    r->before = r->line;
    r->line = (struct state_line){0};
    rc = state_line_parse(r->text, r->len, arena, &r->line, err);
    if (rc)
        return err_prefix(err, "line %lu", r->number);
    if ((r->number == 1) != (r->line.sort == STATE_HEAD))
        return err_set(err, -ERR_PARSE, "line %lu: %s", r->number,
                       r->number == 1 ? "a saved state begins with " STATE_LINES_BEGIN "...}"
                                      : "a second head");
    if (r->number == 1)
        return 0;
    int order = state_line_order(&r->before, &r->line);
    _cleanup_str_ struct str who = STR_INIT;
    state_line_name(&r->line, &who);
    if (order == 0 && r->line.sort != STATE_ASIDE)
        return err_set(err, -ERR_PARSE, "line %lu: %s is there twice", r->number, str_cstr(&who));
    if (order > 0)
        return err_set(err, -ERR_PARSE, "line %lu: it is not in its place: lines were moved",
                       r->number);
    return 0;
}

/* --- the check ---------------------------------------------------------------------------------
 */

static int check_head(const struct reader *r, const char *cluster, struct err *err)
{
    if (str_case_eq(r->line.cluster, cluster))
        return 0;
    return err_set(err, -ERR_CONFIG, "it is the state of cluster %s, but ClusterName is %s",
                   r->line.cluster, cluster);
}

static int check_end(struct reader *r, const struct state_count *count, bool edited,
                     struct err *err)
{
    const struct state_line *end = &r->line;
    uint32_t sum = r->sum;
    unsigned long number = r->number;
    struct err why = {0};
    if (line_get(r, &why) <= 0)
        return err_set(err, -ERR_PARSE, "line %lu: there is something behind the end", r->number);
    if (!edited && (end->records != count->records || end->asides != count->asides))
        return err_set(err, -ERR_PARSE,
                       "line %lu: %llu records and %llu set aside were written, but there are %llu "
                       "and %llu: lines are missing, or were added (if that is meant: --edited)",
                       number, (unsigned long long)end->records, (unsigned long long)end->asides,
                       (unsigned long long)count->records, (unsigned long long)count->asides);
    if (!edited && end->sum != sum)
        return err_set(err, -ERR_PARSE,
                       "line %lu: its sum does not fit: it is not as it was written (if that is "
                       "meant: --edited)",
                       number);
    return 0;
}

static int check_all(struct reader *r, const char *cluster, bool edited, struct err *err)
{
    struct state_count count = {0};
    int rc = line_next(r, err);
    if (rc == 0)
        rc = check_head(r, cluster, err);
    if (rc > 0)
        return err_set(err, -ERR_PARSE, "it is empty");
    while (rc == 0 && (rc = line_next(r, err)) == 0) {
        if (r->line.sort == STATE_END)
            return check_end(r, &count, edited, err);
        if (r->line.sort == STATE_ASIDE)
            count.asides++;
        else
            count.records++;
    }
    if (rc > 0)
        return err_set(err, -ERR_PARSE, "it is cut short: its end is missing after line %lu",
                       r->number);
    return rc;
}

int state_check(FILE *in, const char *cluster, bool edited, struct err *err)
{
    struct reader r;
    int rc = reader_init(&r, in, err);
    if (rc == 0)
        rc = check_all(&r, cluster, edited, err);
    reader_done(&r);
    return rc;
}

/* --- the store ---------------------------------------------------------------------------------
 */

static void count_record(void *ctx, uint32_t kind, uint64_t number, const char *name,
                         const void *data, size_t len)
{
    ((struct state_count *)ctx)->records++;
}

static void count_damaged(void *ctx, uint32_t kind, uint64_t number, const char *name,
                          const char *why)
{
    ((struct state_count *)ctx)->records++;
}

static void count_aside(void *ctx, const struct store_aside *row)
{
    ((struct state_count *)ctx)->asides++;
}

int state_check_empty(struct store *s, struct err *err)
{
    struct state_count count = {0};
    int rc = store_load(s, UINT32_MAX, count_record, count_damaged, &count, err);
    if (rc == 0)
        rc = store_load_aside(s, count_aside, &count, err);
    if (rc || (!count.records && !count.asides))
        return rc;
    return err_set(err, -ERR_STORE,
                   "%s is not empty (%llu records, %llu set aside): a state is imported into an "
                   "empty place only; move what is there away, or name another place in slurm.conf",
                   store_name(s), (unsigned long long)count.records,
                   (unsigned long long)count.asides);
}

/* Stores the record as it was, and then sets it aside with the reason. */
static int import_aside(const struct state_line *l, struct store *s, struct err *err)
{
    struct store_batch *b = store_batch_new();
    store_put(b, l->kind, l->number, l->name, l->data, l->len);
    int rc = store_commit_sync(s, b, err);
    if (rc)
        return rc;
    b = store_batch_new();
    store_set_aside(b, l->kind, l->number, l->name, l->why);
    return store_commit_sync(s, b, err);
}

struct target {
    struct store *s;
    struct store_batch *batch, *last;
    size_t bytes;
};

static int import_record(const struct state_line *l, struct target *t, struct err *err)
{
    bool meta = !l->name && l->kind == RECORD_META && l->number == 0;
    store_put(meta ? t->last : t->batch, l->kind, l->number, l->name, l->data, l->len);
    t->bytes += l->len;
    if (t->bytes < BATCH_BYTES)
        return 0;
    t->bytes = 0;
    struct store_batch *full = t->batch;
    t->batch = store_batch_new();
    return store_commit_sync(t->s, full, err);
}

static int import_all(struct reader *r, struct target *t, struct state_count *count,
                      struct err *err)
{
    int rc = 0;
    while (rc == 0 && (rc = line_next(r, err)) == 0 && r->line.sort != STATE_END) {
        if (r->line.sort == STATE_HEAD)
            continue;
        bool aside = r->line.sort == STATE_ASIDE;
        rc = aside ? import_aside(&r->line, t->s, err) : import_record(&r->line, t, err);
        if (aside)
            count->asides++;
        else
            count->records++;
    }
    if (rc == 0)
        rc = store_commit_sync(t->s, take_ptr(t->batch), err);
    if (rc == 0)
        rc = store_commit_sync(t->s, take_ptr(t->last), err);
    return rc > 0 ? err_set(err, -ERR_PARSE, "it has changed meanwhile") : rc;
}

int state_import(FILE *in, struct store *s, struct state_count *count, struct err *err)
{
    struct reader r;
    struct target t = {.s = s, .batch = store_batch_new(), .last = store_batch_new()};
    *count = (struct state_count){0};
    int rc = reader_init(&r, in, err);
    if (rc == 0)
        rc = import_all(&r, &t, count, err);
    store_batch_free(t.batch);
    store_batch_free(t.last);
    reader_done(&r);
    return rc;
}
