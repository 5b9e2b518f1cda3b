/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations as text and as JSON. */
#include <string.h>

#include "base/timefmt.h"
#include "base/words.h"
#include "show/record.h"

#define NAME_TITLE "RESV_NAME"

static void put_time(struct str *out, const char *key, int64_t at)
{
    char text[TIME_TEXT_MAX];
    str_printf(out, "%s=%s", key,
               at >= TIME_UNLIMITED ? "UNLIMITED" : time_format_date(at, "Unknown", text));
}

/* Some cores of a node; only their number is fixed. */
static void put_core_ids(const Pb__ResvCores *c, struct str *out)
{
    str_putc(out, '0');
    if (c->count > 1)
        str_printf(out, "-%u", c->count - 1);
}

static void put_gres(const Pb__ResvGres *g, char before_count, struct str *out)
{
    str_printf(out, "%s%s%s%c%llu", g->name, g->type ? ":" : "", g->type ? g->type : "",
               before_count, (unsigned long long)g->count);
}

/* Appends the reserved devices of the node. Returns the number of its elements in the list. */
static size_t put_node_gres(const Pb__ResvRecord *r, size_t at, struct str *out)
{
    size_t n = 0;
    for (;
         at + n < r->n_node_gres && strcmp(r->node_gres[at + n]->node, r->node_gres[at]->node) == 0;
         n++) {
        str_puts(out, n ? "," : " Gres=");
        put_gres(r->node_gres[at + n], ':', out);
    }
    return n;
}

/* Both lists are sorted by node; a node may be in only one of them. */
static void put_parts(const Pb__ResvRecord *r, struct show_style style, struct str *out)
{
    size_t at = 0;
    for (size_t i = 0; i < r->n_cores || at < r->n_node_gres; i++) {
        const char *node = i < r->n_cores ? r->cores[i]->node : r->node_gres[at]->node;
        record_break(style, out);
        str_printf(out, "  NodeName=%s", node);
        if (i < r->n_cores) {
            str_puts(out, " CoreIDs=");
            put_core_ids(r->cores[i], out);
        }
        if (at < r->n_node_gres && strcmp(r->node_gres[at]->node, node) == 0)
            at += put_node_gres(r, at, out);
    }
}

static bool is_same_gres(const Pb__ResvGres *a, const Pb__ResvGres *b)
{
    return strcmp(a->name, b->name) == 0 &&
           (a->type ? b->type && strcmp(a->type, b->type) == 0 : !b->type);
}

/* "cpu=4,gres/gpu:a100=2": the sum over all nodes. */
static void put_tres(const Pb__ResvRecord *r, struct str *out)
{
    if (r->total_cpus)
        str_printf(out, "cpu=%u", r->total_cpus);
    for (size_t i = 0; i < r->n_node_gres; i++) {
        Pb__ResvGres sum = *r->node_gres[i];
        bool first = true;
        for (size_t k = 0; k < r->n_node_gres; k++) {
            if (k == i || !is_same_gres(&sum, r->node_gres[k]))
                continue;
            first = first && k > i;
            sum.count += r->node_gres[k]->count;
        }
        if (!first)
            continue;
        str_puts(out, out->len ? ",gres/" : "gres/");
        put_gres(&sum, '=', out);
    }
}

/* "cpu=2,gres/gpu:a100=2", as requested. */
static void put_wanted_per_node(const Pb__ResvRecord *r, struct str *out)
{
    if (r->cores_per_node)
        str_printf(out, "cpu=%u", r->cores_per_node);
    words_foreach (r->gres_per_node ? r->gres_per_node : "", w) {
        const char *last = NULL;
        for (size_t i = 0; i < w.len; i++)
            last = w.at[i] == ':' ? w.at + i : last;
        if (last)
            str_printf(out, "%sgres/%.*s=%.*s", out->len ? "," : "", (int)(last - w.at), w.at,
                       (int)(w.at + w.len - last - 1), last + 1);
    }
}

void show_resv_text(const Pb__ResvRecord *r, struct show_style style, struct str *out)
{
    _cleanup_str_ struct str tres = STR_INIT, per_node = STR_INIT;
    char text[TIME_TEXT_MAX];
    int64_t length = r->end_at >= TIME_UNLIMITED ? TIME_UNLIMITED : r->end_at - r->start_at;
    record_pair(out, "ReservationName", r->name);
    put_time(out, " StartTime", r->start_at);
    put_time(out, " EndTime", r->end_at);
    str_printf(out, " Duration=%s", time_format_limit(length, text));
    record_break(style, out);
    record_pair(out, "Nodes", r->nodes && *r->nodes ? r->nodes : NULL);
    str_printf(out, " NodeCnt=%u CoreCnt=%u", r->node_count, r->total_cores);
    record_pair(out, " Features", r->features);
    record_pair(out, " PartitionName", r->partition);
    record_pair(out, " Flags", r->flags ? r->flags : "");
    put_parts(r, style, out);
    record_break(style, out);
    put_tres(r, &tres);
    record_pair(out, "TRES", tres.len ? str_cstr(&tres) : NULL);
    put_wanted_per_node(r, &per_node);
    if (per_node.len)
        record_pair(out, " TRESPerNode", str_cstr(&per_node));
    record_break(style, out);
    record_pair(out, "Users", r->users);
    record_pair(out, " Groups", r->groups);
    record_pair(out, " Accounts", r->accounts);
    if (r->allowed_partitions && *r->allowed_partitions)
        record_pair(out, " AllowedPartitions", r->allowed_partitions);
    record_pair(out, " Licenses", r->licenses);
    str_printf(out, " State=%s BurstBuffer=(null) Watts=n/a", r->active ? "ACTIVE" : "INACTIVE");
    record_break(style, out);
    record_pair(out, "MaxStartDelay",
                r->max_start_delay_sec ? time_format_limit(r->max_start_delay_sec, text) : NULL);
    record_end(style, out);
}

static json_t *core_specs(const Pb__ResvRecord *r)
{
    json_t *all = json_array();
    for (size_t i = 0; i < r->n_cores; i++) {
        _cleanup_str_ struct str ids = STR_INIT;
        put_core_ids(r->cores[i], &ids);
        json_array_append_new(all, json_pack("{s:o, s:o}", "node", json_out_text(r->cores[i]->node),
                                             "core", json_out_text(str_cstr(&ids))));
    }
    return all;
}

static json_t *resv_tres(const Pb__ResvRecord *r)
{
    _cleanup_str_ struct str tres = STR_INIT;
    put_tres(r, &tres);
    return json_out_text(str_cstr(&tres));
}

json_t *show_resv_json(const Pb__ResvRecord *r)
{
    json_t *o = json_object();
#define MEMBER(name, status, value) json_object_set_new(o, name, value);
#include "show/resv_members.def"
#undef MEMBER
    return o;
}

static void put_list_line(const Pb__ResvRecord *r, int width, struct str *out)
{
    char start[TIME_TEXT_MAX], end[TIME_TEXT_MAX], length[TIME_TEXT_MAX];
    bool never = r->end_at >= TIME_UNLIMITED;
    str_printf(out, "%-*s  %8s  %19s  %19s  %11s  %s\n", width, r->name,
               r->active ? "ACTIVE" : "INACTIVE", time_format_date(r->start_at, "Unknown", start),
               never ? "UNLIMITED" : time_format_date(r->end_at, "Unknown", end),
               time_format_limit(never ? TIME_UNLIMITED : r->end_at - r->start_at, length),
               r->nodes ? r->nodes : "");
}

void show_resv_list(const Pb__ResvRecord *const *resvs, size_t count, bool titles, struct str *out)
{
    size_t width = strlen(NAME_TITLE);
    if (!count) {
        str_puts(out, "No reservations in the system\n");
        return;
    }
    for (size_t i = 0; i < count; i++)
        width = strlen(resvs[i]->name) > width ? strlen(resvs[i]->name) : width;
    if (titles)
        str_printf(out, "%-*s  %8s  %19s  %19s  %11s  %s\n", (int)width, NAME_TITLE, "STATE",
                   "START_TIME", "END_TIME", "DURATION", "NODELIST");
    for (size_t i = 0; i < count; i++)
        put_list_line(resvs[i], (int)width, out);
}
