/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sinfo/resvs.h"

#include "cli/cmd.h"
#include "show/json_out.h"
#include "show/show.h"

struct resvs {
    struct arena arena;
    VEC(const Pb__ResvRecord *) list;
};

static int on_resvs(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct resvs *all = ctx;
    const Pb__ResvList *part = (const Pb__ResvList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    for (size_t i = 0; i < part->n_resvs; i++)
        vec_push(&all->list, part->resvs[i]);
    return 0;
}

static void print_json(const struct resvs *all, bool yaml, struct str *out)
{
    json_t *list = json_array();
    vec_foreach (&all->list, r)
        json_array_append_new(list, show_resv_json(*r));
    json_out_print(cmd_source(), "reservations", list, yaml, out);
}

int resvs_list(const struct options *o)
{
    struct resvs all = {0};
    struct err err = {0};
    Pb__ResvFilter filter = PB__RESV_FILTER__INIT;
    arena_init(&all.arena, 0);
    int r = rpc_call_stream_kept(cmd_client(), RPC_RESV_LIST, &filter.base, &all.arena, on_resvs,
                                 &all, &err);
    if (r < 0)
        cmd_line("slurm_load_reservations: %s", err.text);
    else if (o->json || o->yaml)
        print_json(&all, o->yaml, cmd_out());
    else
        show_resv_list(all.list.data, all.list.len, !o->noheader, cmd_out());
    vec_done(&all.list);
    arena_done(&all.arena);
    int status = cmd_flush();
    return r < 0 ? 1 : status;
}
