/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Burst buffers as text. */
#include "cluster/job/burst.h"
#include "base/timefmt.h"
#include "show/show.h"

static void put_pools(const Pb__BurstList *l, struct str *out)
{
    for (size_t i = 0; i < l->n_pools; i++) {
        const Pb__BurstPool *p = l->pools[i];
        char granularity[32], total[32], available[32], used[32];
        burst_format_size(p->granularity, granularity);
        burst_format_size(p->total, total);
        burst_format_size(p->total > p->used ? p->total - p->used : 0, available);
        burst_format_size(p->used, used);
        str_printf(out,
                   "  PoolName[%zu]=%s Granularity=%s TotalSpace=%s FreeSpace=%s UsedSpace=%s\n", i,
                   p->name, granularity, total, available, used);
    }
}

static const char *or_null(const char *text)
{
    return text && *text ? text : "(null)";
}

static void put_buffers(const Pb__BurstList *l, struct str *out)
{
    if (l->n_buffers)
        str_printf(out, "  Allocated Buffers:\n");
    for (size_t i = 0; i < l->n_buffers; i++) {
        const Pb__BurstBuffer *b = l->buffers[i];
        char at[TIME_TEXT_MAX], size[32];
        burst_format_size(b->size, size);
        str_printf(out, "    JobID=%u CreateTime=%s Pool=%s Size=%s State=%s UserID=%s(%u)\n",
                   b->job_id, time_format_date(b->create_at, "Unknown", at), or_null(b->pool), size,
                   b->state, or_null(b->user), b->uid);
    }
}

/* Prints a line for each user, in the order of their first buffers. */
static void put_users(const Pb__BurstList *l, struct str *out)
{
    if (l->n_buffers)
        str_printf(out, "  Per User Buffer Use:\n");
    for (size_t i = 0; i < l->n_buffers; i++) {
        const Pb__BurstBuffer *b = l->buffers[i];
        uint64_t used = 0;
        bool seen = false;
        for (size_t k = 0; k < l->n_buffers; k++) {
            seen = seen || (k < i && l->buffers[k]->uid == b->uid);
            used += l->buffers[k]->uid == b->uid ? l->buffers[k]->size : 0;
        }
        char text[32];
        burst_format_size(used, text);
        if (!seen)
            str_printf(out, "    UserID=%s(%u) Used=%s\n", or_null(b->user), b->uid, text);
    }
}

void show_burst_text(const Pb__BurstList *l, struct str *out)
{
    if (!l->plugin)
        return;
    str_printf(out,
               "Name=%s DefaultPool=(null) Granularity=1 TotalSpace=0 FreeSpace=0 UsedSpace=0\n",
               l->plugin);
    put_pools(l, out);
    str_printf(out, "  Flags=%s\n", l->flags ? l->flags : "");
    str_printf(out, "  StageInTimeout=%u StageOutTimeout=%u ValidateTimeout=%u OtherTimeout=%u\n",
               l->stage_in_sec, l->stage_out_sec, l->validate_sec, l->other_sec);
    if (l->allow_users)
        str_printf(out, "  AllowUsers=%s\n", l->allow_users);
    if (l->deny_users)
        str_printf(out, "  DenyUsers=%s\n", l->deny_users);
    str_printf(out, "  GetSysState=(null)\n");
    str_printf(out, "  GetSysStatus=(null)\n");
    put_buffers(l, out);
    put_users(l, out);
}
