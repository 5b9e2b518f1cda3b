/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sinfo: lists partitions and nodes.
 */
#include <unistd.h>

#include "cli/cmd.h"
#include "cmd/sinfo/options.h"
#include "cmd/sinfo/table.h"
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

/* Returns the exit status. */
static int resvs_list(const struct options *o)
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

static int on_parts(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    table_take_parts(ctx, (const Pb__PartList *)message);
    return 0;
}

static int on_sinfo_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    if (part->has_now)
        json_out_stamp(part->now, -1);
    return table_take_nodes(ctx, part, err);
}

static int load_table(struct table *t, struct err *err)
{
    Pb__PartFilter parts = PB__PART_FILTER__INIT;
    Pb__NodeFilter nodes = PB__NODE_FILTER__INIT;
    const struct options *o = t->options;
    parts.has_visible = parts.visible = !o->all && !o->partitions && !o->json && !o->yaml;
    table_ask(t, &nodes);
    int r =
        rpc_call_stream_kept(cmd_client(), RPC_PART_LIST, &parts.base, &t->arena, on_parts, t, err);
    if (r == 0)
        r = rpc_call_stream_kept(cmd_client(), RPC_NODE_LIST, &nodes.base, &t->arena,
                                 on_sinfo_nodes, t, err);
    return r;
}

static int list_once(const struct options *o)
{
    struct table t;
    struct err err = {0};
    table_init(&t, o);
    bool bad = t.bad_format;
    int r = load_table(&t, &err);
    if (r < 0)
        cmd_line("slurm_load_partitions: %s", err.text);
    else if (t.listing.columns.len || !bad)
        table_print(&t, cmd_conf()->cluster_name, cmd_out());
    table_done(&t);
    int status = cmd_flush();
    return r < 0 || bad ? 1 : status;
}

typedef int list_fn(const struct options *o);

int main(int argc, char **argv)
{
    static struct options o; /* static: lives until the process ends, also after an early return */
    cmd_start("sinfo");
    int status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    if (o.help_format) {
        listing_put_fields(&node_columns, cmd_out());
        return cmd_flush();
    }
    list_fn *list = o.reservations ? resvs_list : list_once;
    status = list(&o);
    while (o.iterate_sec) {
        sleep(o.iterate_sec);
        str_putc(cmd_out(), '\n');
        status = list(&o);
    }
    return status;
}
