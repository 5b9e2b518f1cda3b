/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reservations, their shares of nodes, and their jobs. */
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
    free(r->gres);
    resv_clear_gres(r);
    vec_done(&r->node_gres);
    vec_done(&r->cores);
    vec_done(&r->stock);
    free(r->core_count);
    free(r->gres_total);
    free(r->gres_per_node);
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

/* Returns the units of this number of cores of the node. */
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
        license_read_pools(c, r->licenses, &needs, NULL); /* those that exist */
    vec_foreach (&needs.list, n)
        vec_push(&r->stock, ((struct resv_license){.at = n->at, .count = n->count}));
    license_needs_done(&needs);
}

void resv_clear_gres(struct resv *r)
{
    vec_foreach (&r->node_gres, g) {
        free(g->name);
        free(g->type);
    }
    vec_clear(&r->node_gres);
}

void resv_keep_gres(const struct cluster *c, struct resv *r, size_t at, uint32_t kind,
                    uint64_t count)
{
    const struct gres_kind *k = &c->gres_kinds.data[kind];
    vec_push(&r->node_gres,
             ((struct resv_gres){at, mem_strdup(k->name), mem_strdup(k->type), count}));
}

/* Resolves the GRES that the nodes have. GPUs that are allocated in parts are excluded: which of
 * them are whole changes with the jobs. */
static void find_gres(const struct cluster *c, struct resv *r, const struct hostlist *names)
{
    char name[HOSTLIST_NAME_MAX + 1];
    size_t kinds = c->gres_kinds.len;
    r->gres_mask = 0;
    if (!r->node_gres.len)
        return;
    r->gres = mem_new_array(uint64_t, c->nodes.len * kinds + 1);
    vec_foreach (&r->node_gres, g) {
        const struct node *n = g->at < hostlist_count(names)
                                   ? cluster_find_node(c, hostlist_nth(names, g->at, name))
                                   : NULL;
        long kind = gres_kind_find(c, g->name, g->type);
        r->gres_mask |= gres_kinds_of(c, g->name);
        if (n && kind >= 0 && gres_find(n, (uint32_t)kind) && !gres_parts_has(n, (uint32_t)kind))
            r->gres[n->index * kinds + (size_t)kind] += g->count;
    }
}

void resv_resolve(const struct cluster *c, struct resv *r)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    bitset_free(r->nodes);
    free(take_ptr(r->units));
    free(take_ptr(r->gres));
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
    find_gres(c, r, names);
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

/* Sorts by node; usually the list is already sorted. */
static void sort_gres(struct resv *r)
{
    struct resv_gres *g = r->node_gres.data;
    for (size_t i = 1; i < r->node_gres.len; i++)
        for (size_t k = i; k > 0 && g[k - 1].at > g[k].at; k--) {
            struct resv_gres later = g[k - 1];
            g[k - 1] = g[k];
            g[k] = later;
        }
}

static void move_gres(struct resv *r, const struct hostlist *before, const struct hostlist *names)
{
    char name[HOSTLIST_NAME_MAX + 1];
    size_t stay = 0;
    vec_foreach (&r->node_gres, g) {
        long at = g->at < hostlist_count(before)
                      ? hostlist_find(names, hostlist_nth(before, g->at, name))
                      : -1;
        if (at < 0) {
            free(g->name);
            free(g->type);
            continue;
        }
        g->at = (size_t)at;
        r->node_gres.data[stay++] = *g;
    }
    r->node_gres.len = stay;
    sort_gres(r);
}

uint64_t resv_wanted_cores(const struct resv *r)
{
    uint64_t sum = 0;
    words_foreach (r->core_count, w)
        sum += strtoul(w.at, NULL, 10);
    return sum;
}

static uint64_t count_resv_cores(const struct cluster *c, const char *name)
{
    const struct node *n = cluster_find_node(c, name);
    return n ? (uint64_t)n->units * n->cpus_per_unit / (n->row->threads ? n->row->threads : 1) : 0;
}

/* Nodes that stay keep their cores; new nodes share the rest of CoreCnt. */
static void move_cores(const struct cluster *c, struct resv *r, const struct hostlist *before,
                       const struct hostlist *names)
{
    char name[HOSTLIST_NAME_MAX + 1];
    size_t count = hostlist_count(names), added = 0;
    uint64_t wanted = resv_wanted_cores(r), kept = 0;
    _cleanup_free_ uint32_t *had = mem_new_array(uint32_t, count + 1);
    _cleanup_free_ bool *is_new = mem_new_array(bool, count + 1);
    if (!r->core_count)
        return;
    for (size_t i = 0; i < count; i++) {
        long at = hostlist_find(before, hostlist_nth(names, i, name));
        is_new[i] = at < 0;
        added += is_new[i];
        had[i] = at >= 0 && (size_t)at < r->cores.len ? r->cores.data[at] : 0;
        kept += had[i];
    }
    uint64_t left = wanted > kept && added ? wanted - kept : 0;
    vec_clear(&r->cores);
    for (size_t i = 0, k = 0; i < count; i++) {
        uint64_t share = is_new[i] ? left / added + (k++ < left % added) : had[i];
        uint64_t most = count_resv_cores(c, hostlist_nth(names, i, name));
        vec_push(&r->cores, (uint32_t)(share < most ? share : most));
    }
}

bool resv_follow_part(const struct cluster *c, struct resv *r)
{
    const struct part *p = r->flags & RESV_PART_NODES ? cluster_find_part(c, r->part) : NULL;
    if (!p)
        return false;
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    _cleanup_hostlist_ struct hostlist *had = NULL;
    _cleanup_free_ char *before = take_ptr(r->node_names);
    if (!before || !*before || hostlist_parse(before, &had, NULL) != 0)
        had = hostlist_new();
    bitset_foreach (p->nodes, i)
        hostlist_push(names, c->nodes.data[i]->name);
    move_gres(r, had, names);
    move_cores(c, r, had, names);
    if (r->cores_per_node)
        vec_clear(&r->cores);
    for (size_t i = 0; r->cores_per_node && i < hostlist_count(names); i++)
        vec_push(&r->cores, r->cores_per_node);
    resv_set_nodes(c, r, p->nodes);
    return !str_eq(before, r->node_names);
}

void resv_count(const struct cluster *c, const struct resv *r, uint32_t *cores, uint32_t *cpus)
{
    *cores = *cpus = 0;
    bitset_foreach (r->nodes, i) {
        const struct node *n = c->nodes.data[i];
        uint32_t units = r->units ? r->units[i] : r->gres ? 0 : n->units;
        uint32_t threads = n->row->threads;
        *cpus += units * n->cpus_per_unit;
        *cores += units * n->cpus_per_unit / (threads ? threads : 1);
    }
}

void resv_format_kept(const struct cluster *c, const struct resv *r, struct str *out)
{
    uint32_t cores, cpus;
    size_t before = out->len;
    resv_count(c, r, &cores, &cpus);
    if (r->units)
        str_printf(out, "cpu=%u", cpus);
    for (size_t kind = 0; r->gres && kind < c->gres_kinds.len; kind++) {
        const struct gres_kind *k = &c->gres_kinds.data[kind];
        uint64_t sum = 0;
        bitset_foreach (r->nodes, i)
            sum += r->gres[(size_t)i * c->gres_kinds.len + kind];
        if (sum)
            str_printf(out, "%sgres/%s%s%s=%llu", out->len > before ? "," : "", k->name,
                       k->type ? ":" : "", k->type ? k->type : "", (unsigned long long)sum);
    }
}

void resv_format_nodes(const struct cluster *c, const struct resv *r, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    bitset_foreach (r->nodes, i)
        hostlist_push(names, c->nodes.data[i]->name);
    hostlist_format(names, out);
}

#define DAY_SEC INT64_C(86400)
#define HOUR_SEC INT64_C(3600)

static bool is_day(const struct resv *r, int week_day)
{
    bool weekend = week_day == 0 || week_day == 6;
    return !(r->flags & (weekend ? RESV_WEEKDAY : RESV_WEEKEND));
}

/* Skips whole days at once, and then tries a few. */
static void skip_repeats(const struct resv *r, int64_t at, struct resv_time *out)
{
    int64_t length = out->end - out->begin, over = at - out->end;
    int64_t step = r->flags & RESV_WEEKLY ? 7 : 1;
    const struct time_zone *zone = r->zone ? r->zone : &time_zone_utc;
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
        out->begin = zone->shift_days(r->start_at, (int)days, &week_day);
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
