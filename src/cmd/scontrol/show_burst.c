/* SPDX-License-Identifier: GPL-3.0-or-later */
/* scontrol show burstbuffer, bbstat and dwstat. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "cli/cmd.h"
#include "cluster/job/burst.h"
#include "cmd/scontrol/scontrol.h"
#include "proto/burst.pb-c.h"
#include "proto/ctl.pb-c.h"

#define ARGS_MOST 64

static void put_pools(const Pb__BurstList *l)
{
    for (size_t i = 0; i < l->n_pools; i++) {
        const Pb__BurstPool *p = l->pools[i];
        char granularity[32], total[32], available[32], used[32];
        burst_format_size(p->granularity, granularity);
        burst_format_size(p->total, total);
        burst_format_size(p->total > p->used ? p->total - p->used : 0, available);
        burst_format_size(p->used, used);
        str_printf(cmd_out(),
                   "  PoolName[%zu]=%s Granularity=%s TotalSpace=%s FreeSpace=%s UsedSpace=%s\n", i,
                   p->name, granularity, total, available, used);
    }
}

static const char *or_null(const char *text)
{
    return text && *text ? text : "(null)";
}

static void put_buffers(const Pb__BurstList *l)
{
    if (l->n_buffers)
        str_printf(cmd_out(), "  Allocated Buffers:\n");
    for (size_t i = 0; i < l->n_buffers; i++) {
        const Pb__BurstBuffer *b = l->buffers[i];
        char at[TIME_TEXT_MAX], size[32];
        burst_format_size(b->size, size);
        str_printf(cmd_out(), "    JobID=%u CreateTime=%s Pool=%s Size=%s State=%s UserID=%s(%u)\n",
                   b->job_id, time_format_date(b->create_at, "Unknown", at), or_null(b->pool), size,
                   b->state, or_null(b->user), b->uid);
    }
}

/* A line for each user, in the order of their first buffers. */
static void put_users(const Pb__BurstList *l)
{
    if (l->n_buffers)
        str_printf(cmd_out(), "  Per User Buffer Use:\n");
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
            str_printf(cmd_out(), "    UserID=%s(%u) Used=%s\n", or_null(b->user), b->uid, text);
    }
}

int show_burst(const char *id)
{
    Pb__Empty request = PB__EMPTY__INIT;
    Pb__BurstList *l = NULL;
    struct err err = {0};
    if (cmd_call(RPC_BURST_LIST, &request.base, &l, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    if (!l->plugin)
        return 0;
    str_printf(cmd_out(),
               "Name=%s DefaultPool=(null) Granularity=1 TotalSpace=0 FreeSpace=0 UsedSpace=0\n",
               l->plugin);
    put_pools(l);
    str_printf(cmd_out(), "  Flags=%s\n", l->flags ? l->flags : "");
    str_printf(cmd_out(),
               "  StageInTimeout=%u StageOutTimeout=%u ValidateTimeout=%u OtherTimeout=%u\n",
               l->stage_in_sec, l->stage_out_sec, l->validate_sec, l->other_sec);
    if (l->allow_users)
        str_printf(cmd_out(), "  AllowUsers=%s\n", l->allow_users);
    if (l->deny_users)
        str_printf(cmd_out(), "  DenyUsers=%s\n", l->deny_users);
    str_printf(cmd_out(), "  GetSysState=(null)\n");
    str_printf(cmd_out(), "  GetSysStatus=(null)\n");
    put_buffers(l);
    put_users(l);
    return 0;
}

/* The words behind it are arguments of slurm_bb_get_status. */
int show_burst_status(const char *id)
{
    char *args[ARGS_MOST], *save = NULL;
    _cleanup_free_ char *words = mem_strdup(id ? id : "");
    Pb__BurstStatusRequest request = PB__BURST_STATUS_REQUEST__INIT;
    Pb__TextReply *reply = NULL;
    struct err err = {0};
    request.args = args;
    for (char *word = strtok_r(words, " ", &save); word && request.n_args < ARGS_MOST;
         word = strtok_r(NULL, " ", &save))
        args[request.n_args++] = word;
    if (cmd_call_long(RPC_BURST_STATUS, &request.base, &reply, &err) < 0) {
        cmd_error("%s", err.text);
        return 1;
    }
    size_t len = strlen(reply->text);
    str_printf(cmd_out(), "%s%s", reply->text, len && reply->text[len - 1] != '\n' ? "\n" : "");
    return 0;
}
