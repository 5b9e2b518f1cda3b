/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reservations there are, what they take of which nodes, and their jobs. */
#include "cluster/resv/resv.h"

#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "base/timefmt.h"
#include "base/words.h"
#include "cluster/cluster.h"

struct resv *resv_find(const struct cluster *c, const char *name)
{
    vec_foreach (&c->resvs, r)
        if (str_eq((*r)->name, name))
            return *r;
    return NULL;
}

struct resv *resv_new(const char *name)
{
    struct resv *r = mem_new(struct resv);
    r->name = mem_strdup(name);
    return r;
}

void resv_free(struct resv *r)
{
    if (!r)
        return;
    free(r->name);
    free(r->node_names);
    bitset_free(r->nodes);
    free(r->units);
    vec_done(&r->cores);
    vec_done(&r->stock);
    free(r->core_count);
    free(r->part);
    free(r->features);
    free(r->users);
    free(r->accounts);
    free(r->groups);
    free(r->allowed_parts);
    free(r->licenses);
    str_done(&r->newer);
    free(r);
}

void resv_add(struct cluster *c, struct resv *r)
{
    vec_push(&c->resvs, r);
    c->stamp++;
}

void resv_take(struct cluster *c, struct resv *r)
{
    for (size_t i = 0; i < c->resvs.len; i++)
        if (c->resvs.data[i] == r) {
            vec_remove(&c->resvs, i);
            break;
        }
    c->stamp++;
}

/* --- nodes -------------------------------------------------------------------------------------
 */

/* Units that so many cores of the node are. */
static uint32_t units_of(const struct node *n, uint32_t cores)
{
    uint64_t units = (uint64_t)cores * (n->row->threads ? n->row->threads : 1) / n->cpus_per_unit;
    return units < n->units ? (uint32_t)units : n->units;
}

static void find_licenses(const struct cluster *c, struct resv *r)
{
    struct license_needs needs = {0};
    vec_clear(&r->stock);
    if (r->licenses)
        license_read_pools(c, r->licenses, &needs, NULL); /* those that there are */
    vec_foreach (&needs.list, n)
        vec_push(&r->stock, ((struct resv_license){.at = n->at, .count = n->count}));
    license_needs_done(&needs);
}

void resv_resolve(const struct cluster *c, struct resv *r)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    bitset_free(r->nodes);
    free(take_ptr(r->units));
    r->nodes = bitset_new(c->nodes.len);
    find_licenses(c, r);
    if (!r->node_names || !*r->node_names || hostlist_parse(r->node_names, &names, NULL) != 0)
        return;
    if (r->cores.len)
        r->units = mem_new_array(uint32_t, c->nodes.len + 1);
    for (size_t i = 0; i < hostlist_count(names); i++) {
        const struct node *n = cluster_find_node(c, hostlist_nth(names, i, name));
        if (!n)
            continue;
        bitset_set(r->nodes, n->index);
        if (i < r->cores.len)
            r->units[n->index] = units_of(n, r->cores.data[i]);
    }
}

void resv_set_nodes(const struct cluster *c, struct resv *r, const struct bitset *nodes)
{
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    struct str text = STR_INIT;
    bitset_foreach (nodes, i)
        hostlist_push(names, c->nodes.data[i]->name);
    hostlist_format(names, &text);
    free(r->node_names);
    r->node_names = str_take(&text);
    resv_resolve(c, r);
}

bool resv_follow_part(const struct cluster *c, struct resv *r)
{
    const struct part *p = r->flags & RESV_PART_NODES ? cluster_find_part(c, r->part) : NULL;
    if (!p)
        return false;
    _cleanup_free_ char *before = take_ptr(r->node_names);
    resv_set_nodes(c, r, p->nodes);
    return !str_eq(before, r->node_names);
}

void resv_count(const struct cluster *c, const struct resv *r, uint32_t *cores, uint32_t *cpus)
{
    *cores = *cpus = 0;
    bitset_foreach (r->nodes, i) {
        const struct node *n = c->nodes.data[i];
        uint32_t units = r->units ? r->units[i] : n->units, threads = n->row->threads;
        *cpus += units * n->cpus_per_unit;
        *cores += units * n->cpus_per_unit / (threads ? threads : 1);
    }
}

#define DAY_SEC INT64_C(86400)
#define HOUR_SEC INT64_C(3600)

static bool is_day(const struct resv *r, int week_day)
{
    bool weekend = week_day == 0 || week_day == 6;
    return !(r->flags & (weekend ? RESV_WEEKDAY : RESV_WEEKEND));
}

/* Whole days are skipped at once, a few are tried. */
static void skip_repeats(const struct resv *r, int64_t at, struct resv_time *out)
{
    int64_t length = out->end - out->begin, over = at - out->end;
    int64_t step = r->flags & RESV_WEEKLY ? 7 : 1;
    int week_day;
    if (over < 0)
        return;
    if (r->flags & RESV_HOURLY) {
        out->begin += (over / HOUR_SEC + 1) * HOUR_SEC;
        out->end = out->begin + length;
        return;
    }
    int64_t days = over / DAY_SEC / step * step;
    do {
        out->begin = time_shift_days(r->start_at, (int)days, &week_day);
        out->end = out->begin + length;
        days += step;
    } while (out->end <= at || !is_day(r, week_day));
}

bool resv_occurs(const struct resv *r, int64_t at, struct resv_time *out)
{
    *out = (struct resv_time){r->start_at, r->end_at};
    if (r->flags & RESV_TIME_FLOAT) {
        out->begin = at + r->float_sec;
        if (r->float_length_sec)
            out->end =
                r->float_length_sec == RESV_NEVER ? RESV_NEVER : out->begin + r->float_length_sec;
        return out->end > out->begin;
    }
    if (out->end > at)
        return true;
    if (!(r->flags & RESV_REPEATS))
        return false;
    skip_repeats(r, at, out);
    return true;
}

bool resv_overlaps(const struct resv *r, int64_t from, int64_t until)
{
    struct resv_time t;
    return resv_occurs(r, from, &t) && t.begin < until;
}

bool resv_is_at(const struct resv *r, int64_t from, int64_t at)
{
    struct resv_time t;
    return resv_occurs(r, r->flags & RESV_TIME_FLOAT ? from : at, &t) && t.begin <= at &&
           at < t.end;
}

bool resv_advance(struct resv *r, int64_t now)
{
    struct resv_time t;
    if (r->flags & RESV_TIME_FLOAT)
        return r->float_length_sec || r->end_at > now;
    if (!resv_occurs(r, now, &t))
        return false;
    r->start_at = t.begin;
    r->end_at = t.end;
    return true;
}

int64_t resv_period(const struct resv *r)
{
    return r->flags & RESV_HOURLY    ? HOUR_SEC
           : r->flags & RESV_WEEKLY  ? 7 * DAY_SEC
           : r->flags & RESV_REPEATS ? DAY_SEC
                                     : RESV_NEVER;
}

static const struct {
    uint32_t flag;
    const char *shown, *other;
    enum resv_change change;
} rows[] = {
#define RESV_FLAG(id, bit, shown, other, change) {RESV_##id, shown, other, RESV_CHANGE_##change},
#include "cluster/resv/resv_flag.def"
#undef RESV_FLAG
};
#define ROWS (sizeof rows / sizeof rows[0])

static bool is_word(const char *word, const char *text, size_t len)
{
    return *word && strlen(word) == len && strncasecmp(word, text, len) == 0;
}

static uint32_t find_flag(const char *text, size_t len)
{
    for (size_t i = 0; i < ROWS; i++)
        if (is_word(rows[i].shown, text, len) || is_word(rows[i].other, text, len))
            return rows[i].flag;
    return 0;
}

static int parse_purge(const char *value, size_t len, int64_t *sec, struct err *err)
{
    _cleanup_free_ char *text = mem_strndup(value, len);
    int64_t got;
    int rc = time_parse_limit(text, &got, err);
    if (rc == 0 && (got <= 0 || got == TIME_UNLIMITED))
        rc = err_set(err, -ERR_PARSE, "PURGE_COMP=%s: not a time", text);
    if (rc == 0)
        *sec = (got + 59) / 60 * 60;
    return rc;
}

int resv_parse_flags(const char *list, uint32_t *flags, int64_t *purge_sec, struct err *err)
{
    uint32_t got = 0;
    int64_t purge = *purge_sec;
    words_foreach (list, w) {
        size_t word = strcspn(w.at, ",=");
        uint32_t flag = find_flag(w.at, word);
        if (w.len && (!flag || (word < w.len && flag != RESV_PURGE_COMP)))
            return err_set(err, -ERR_PARSE, "Flags: unknown flag %.*s", (int)w.len, w.at);
        if (flag == RESV_PURGE_COMP) {
            purge = RESV_PURGE_SEC;
            int rc = word < w.len ? parse_purge(w.at + word + 1, w.len - word - 1, &purge, err) : 0;
            if (rc)
                return rc;
        }
        got |= flag;
    }
    *flags = got;
    *purge_sec = purge;
    return 0;
}

void resv_format_flags(const struct resv *r, struct str *out)
{
    char text[TIME_TEXT_MAX];
    const char *comma = "";
    for (size_t i = 0; i < ROWS; i++) {
        if (!(r->flags & rows[i].flag))
            continue;
        str_printf(out, "%s%s", comma, rows[i].shown);
        if (rows[i].flag == RESV_PURGE_COMP)
            str_printf(out, "=%s", time_format_limit(r->purge_sec, text));
        comma = ",";
    }
}

int resv_check_change(uint32_t flags, bool added, struct err *err)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (!(flags & rows[i].flag) || rows[i].change == RESV_CHANGE_ALWAYS ||
            (added && rows[i].change == RESV_CHANGE_ADDED))
            continue;
        return err_set(err, -ERR_CANNOT_UPDATE, "%s: Flags%s=%s of a reservation that is there",
                       err_text(ERR_CANNOT_UPDATE), added ? "+" : "-", rows[i].shown);
    }
    return 0;
}
