/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reservations as text and as JSON. */
#include <string.h>

#include "base/timefmt.h"
#include "show/record.h"

#define NAME_TITLE "RESV_NAME"

static void put_time(struct str *out, const char *key, int64_t at)
{
    char text[TIME_TEXT_MAX];
    str_printf(out, "%s=%s", key,
               at >= TIME_UNLIMITED ? "UNLIMITED" : time_format_date(at, "Unknown", text));
}

/* Some cores of a node: which ones they are is not fixed. */
static void put_core_ids(const Pb__ResvCores *c, struct str *out)
{
    str_putc(out, '0');
    if (c->count > 1)
        str_printf(out, "-%u", c->count - 1);
}

static void put_parts(const Pb__ResvRecord *r, struct show_style style, struct str *out)
{
    for (size_t i = 0; i < r->n_cores; i++) {
        record_break(style, out);
        str_printf(out, "  NodeName=%s CoreIDs=", r->cores[i]->node);
        put_core_ids(r->cores[i], out);
    }
}

void show_resv_text(const Pb__ResvRecord *r, struct show_style style, struct str *out)
{
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
    if (r->total_cpus)
        str_printf(out, "TRES=cpu=%u", r->total_cpus);
    else
        str_puts(out, "TRES=(null)");
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
    if (r->total_cpus)
        str_printf(&tres, "cpu=%u", r->total_cpus);
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
