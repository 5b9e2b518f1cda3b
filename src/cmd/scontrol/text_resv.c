/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "scontrol show reservation". */
#include "base/timefmt.h"
#include "cmd/scontrol/text_record.h"

static void put_time(struct str *out, const char *key, int64_t at)
{
    char text[TIME_TEXT_MAX];
    str_printf(out, "%s=%s", key,
               at >= TIME_UNLIMITED ? "UNLIMITED" : time_format_date(at, "Unknown", text));
}

static void put_cores(const Pb__ResvRecord *r, struct text_style style, struct str *out)
{
    for (size_t i = 0; i < r->n_cores; i++) {
        text_break(style, out);
        str_printf(out, "  NodeName=%s CoreIDs=0", r->cores[i]->node);
        if (r->cores[i]->count > 1)
            str_printf(out, "-%u", r->cores[i]->count - 1);
    }
}

void text_resv(const Pb__ResvRecord *r, struct text_style style, struct str *out)
{
    char text[TIME_TEXT_MAX];
    int64_t length = r->end_at >= TIME_UNLIMITED ? TIME_UNLIMITED : r->end_at - r->start_at;
    text_pair(out, "ReservationName", r->name);
    put_time(out, " StartTime", r->start_at);
    put_time(out, " EndTime", r->end_at);
    str_printf(out, " Duration=%s", time_format_limit(length, text));
    text_break(style, out);
    text_pair(out, "Nodes", r->nodes && *r->nodes ? r->nodes : NULL);
    str_printf(out, " NodeCnt=%u CoreCnt=%u", r->node_count, r->total_cores);
    text_pair(out, " Features", r->features);
    text_pair(out, " PartitionName", r->partition);
    text_pair(out, " Flags", r->flags ? r->flags : "");
    put_cores(r, style, out);
    text_break(style, out);
    if (r->total_cpus)
        str_printf(out, "TRES=cpu=%u", r->total_cpus);
    else
        str_puts(out, "TRES=(null)");
    text_break(style, out);
    text_pair(out, "Users", r->users);
    text_pair(out, " Groups", r->groups);
    text_pair(out, " Accounts", r->accounts);
    text_pair(out, " Licenses", r->licenses);
    str_printf(out, " State=%s BurstBuffer=(null) Watts=n/a", r->active ? "ACTIVE" : "INACTIVE");
    text_break(style, out);
    text_pair(out, "MaxStartDelay",
              r->max_start_delay_sec ? time_format_limit(r->max_start_delay_sec, text) : NULL);
    text_end(style, out);
}
