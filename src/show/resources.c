/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Licences and burst buffers as scontrol shows them: as text, licences also as JSON. Licences that
 * are tied to nodes have more members.
 */
#include "base/timefmt.h"
#include "cluster/job/burst.h"
#include "show/show.h"

static int64_t count_free(const Pb__LicenseRecord *l)
{
    return l->total > l->used ? (int64_t)(l->total - l->used) : 0;
}

static bool is_tied(const Pb__LicenseRecord *l)
{
    return l->nodes != NULL;
}

uint64_t show_license_unused(const Pb__LicenseRecord *l)
{
    return l->total == UINT64_MAX ? l->total : (uint64_t)count_free(l);
}

/* The configured count: what jobs may use, plus what is in use outside of jobs. */
static uint64_t count_total(const Pb__LicenseRecord *l)
{
    return is_tied(l) ? l->count : l->total;
}

static void put_count(struct str *out, const char *key, uint64_t count)
{
    if (count == UINT64_MAX)
        str_printf(out, "%s=INFINITE ", key);
    else
        str_printf(out, "%s=%llu ", key, (unsigned long long)count);
}

void show_license_text(const Pb__LicenseRecord *l, struct show_style style, struct str *out)
{
    str_printf(out, "LicenseName=%s%s", l->name, style.oneliner ? " " : "\n    ");
    put_count(out, "Total", count_total(l));
    put_count(out, "Used", l->used);
    put_count(out, "Free", show_license_unused(l));
    put_count(out, "Reserved", l->reserved);
    str_puts(out, "Remote=no");
    if (is_tied(l)) {
        str_printf(out, "%sNodes=%s Mode=MODE_%u", style.oneliner ? " " : "\n    ", l->nodes,
                   l->mode);
        if (l->base_use)
            str_printf(out, " Base=%llu", (unsigned long long)l->base_use);
        if (l->has_file_count) {
            str_puts(out, " ");
            put_count(out, "FileTotal", l->file_count);
            out->data[--out->len] = '\0'; /* removes the blank after the number */
        }
    }
    str_puts(out, "\n");
}

static json_t *pack_count(uint64_t count)
{
    return count == UINT64_MAX ? json_integer(-1) : json_integer((json_int_t)count);
}

json_t *show_license_json(const Pb__LicenseRecord *l)
{
    json_t *out = json_pack("{s:s, s:o, s:I, s:o, s:b, s:I}", "LicenseName", l->name, "Total",
                            pack_count(count_total(l)), "Used", (json_int_t)l->used, "Free",
                            pack_count(show_license_unused(l)), "Remote", 0, "Reserved",
                            (json_int_t)l->reserved);
    if (!is_tied(l))
        return out;
    json_object_set_new(out, "Nodes", json_string(l->nodes));
    json_object_set_new(out, "Mode", json_sprintf("MODE_%u", l->mode));
    json_object_set_new(out, "Base", pack_count(l->base_use));
    if (l->has_file_count)
        json_object_set_new(out, "FileTotal", pack_count(l->file_count));
    return out;
}

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
