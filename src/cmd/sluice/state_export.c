/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/mem.h"
#include "base/vec.h"
#include "cmd/sluice/state.h"
#include "cmd/sluice/state_line.h"
#include "control/env.h"
#include "proto/ctl.pb-c.h"

struct writer {
    FILE *out;
    uint32_t sum;
    struct state_count count;
    struct str text;
    size_t damaged;
    struct err why; /* why the first damaged record is damaged */
};

static void write_state_line(struct writer *w, const struct state_line *line)
{
    str_clear(&w->text);
    state_line_format(line, &w->text);
    w->sum = crc32c(w->sum, w->text.data, w->text.len);
    (void)fwrite(w->text.data, 1, w->text.len, w->out); /* ferror() is checked at the end */
}

static void on_record(void *ctx, uint32_t kind, uint64_t number, const char *name, const void *data,
                      size_t len)
{
    struct writer *w = ctx;
    w->count.records++;
    write_state_line(w, &(struct state_line){.sort = name ? STATE_NAMED : STATE_NUMBERED,
                                             .kind = kind,
                                             .number = number,
                                             .name = name,
                                             .data = data,
                                             .len = len});
}

static void on_damaged(void *ctx, uint32_t kind, uint64_t number, const char *name, const char *why)
{
    struct writer *w = ctx;
    struct state_line line = {.kind = kind, .number = number, .name = name};
    _cleanup_str_ struct str who = STR_INIT;
    state_line_name(&line, &who);
    if (w->damaged++ == 0)
        err_set(&w->why, -ERR_STORE_DAMAGED, "%s: %s", str_cstr(&who), why);
}

/* --- records set aside -------------------------------------------------------------------------
 */

struct asides {
    struct arena arena;
    VEC(struct state_line) lines;
};

static void on_aside(void *ctx, const struct store_aside *row)
{
    struct asides *a = ctx;
    char *data = arena_alloc(&a->arena, row->len + 1);
    if (row->len)
        memcpy(data, row->data, row->len);
    struct state_line line = {.sort = STATE_ASIDE,
                              .kind = row->kind,
                              .number = row->number,
                              .name = row->name ? arena_strdup(&a->arena, row->name) : NULL,
                              .why = arena_strdup(&a->arena, row->why),
                              .data = data,
                              .len = row->len};
    vec_push(&a->lines, line);
}

static int by_order(const void *a, const void *b)
{
    return state_line_order(a, b);
}

static int put_asides(struct writer *w, struct store *s, struct err *err)
{
    struct asides all = {0};
    arena_init(&all.arena, 0);
    int rc = store_load_aside(s, on_aside, &all, err);
    if (rc == 0 && all.lines.len)
        qsort(all.lines.data, all.lines.len, sizeof(all.lines.data[0]), by_order);
    vec_foreach (&all.lines, line) {
        if (rc)
            break;
        w->count.asides++;
        write_state_line(w, line);
    }
    vec_done(&all.lines);
    arena_done(&all.arena);
    return rc;
}

/* --- the whole ---------------------------------------------------------------------------------
 */

/* The head has the format of the records. A newer format is rejected. */
static int put_head(struct writer *w, struct store *s, const char *cluster, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    _cleanup_free_ void *data = NULL;
    struct state_line head = {
        .sort = STATE_HEAD, .format = RECORD_FORMAT, .program = SLUICE_VERSION, .cluster = cluster};
    size_t len = 0;
    arena_init(&arena, 0);
    int rc = store_get(s, RECORD_META, 0, &data, &len, err);
    const Pb__StoreMeta *m =
        rc == 0 ? arena_unpack(&arena, &pb__store_meta__descriptor, data, len) : NULL;
    if (rc && rc != -ENOENT && rc != -ERR_STORE_DAMAGED)
        return rc;
    if (m && m->format > RECORD_FORMAT)
        return err_set(err, -ERR_VERSION,
                       "%s: its records were written by a newer version (%s%sformat %u, this "
                       "program knows %u): export it with that version",
                       store_name(s), m->program ? m->program : "", m->program ? ", " : "",
                       m->format, RECORD_FORMAT);
    if (m && m->cluster)
        head.cluster = m->cluster;
    if (m && m->has_format)
        head.format = m->format;
    write_state_line(w, &head);
    return 0;
}

static int put_all(struct writer *w, struct store *s, const char *cluster, struct err *err)
{
    int rc = put_head(w, s, cluster, err);
    if (rc == 0)
        rc = put_asides(w, s, err);
    if (rc == 0)
        rc = store_load(s, UINT32_MAX, on_record, on_damaged, w, err);
    if (rc == 0 && w->damaged)
        return err_set(err, -ERR_STORE_DAMAGED,
                       "%s: %zu records are damaged (the first: %s): start slurmctld once, which "
                       "sets them aside, and export again",
                       store_name(s), w->damaged, w->why.text);
    if (rc)
        return rc;
    write_state_line(w, &(struct state_line){.sort = STATE_END,
                                             .records = w->count.records,
                                             .asides = w->count.asides,
                                             .sum = w->sum});
    return 0;
}

int state_export(struct store *s, const char *cluster, FILE *out, struct state_count *count,
                 struct err *err)
{
    struct writer w = {.out = out};
    int rc = put_all(&w, s, cluster, err);
    str_done(&w.text);
    if (rc == 0 && (fflush(out) || ferror(out)))
        rc = err_set(err, errno ? -errno : -EIO, "%s", strerror(errno ? errno : EIO));
    if (rc == 0)
        *count = w.count;
    return rc;
}
