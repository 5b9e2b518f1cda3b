/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sinfo: lists partitions and nodes.
 */
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/common/cmd.h"
#include "cmd/common/json_out.h"
#include "cmd/common/records.h"
#include "cmd/sinfo/json.h"
#include "cmd/sinfo/options.h"
#include "cmd/sinfo/rows.h"

/* "#": as wide as the widest value, at least the number that follows. */
#define FORMAT_DEFAULT "%#9P %.5a %.10l %.6D %.6t %N"
#define FORMAT_SUMMARY "%#9P %.5a %.10l %.16F %N"
#define FORMAT_LONG "%#9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %N"
#define FORMAT_NODE "%#9N %.6D %#.9P %6t"
#define FORMAT_NODE_LONG "%#9N %.6D %#.9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
#define FORMAT_REASONS "%20E %9u %19H %N"
#define FORMAT_REASONS_LONG "%20E %12U %19H %6t %N"

struct data {
    const struct options *options;
    struct arena arena;
    VEC(Pb__PartRecord *) parts;
    VEC(Pb__NodeRecord *) nodes;
};

static const char *format_of(const struct options *o)
{
    if (o->format)
        return o->format;
    if (o->reasons)
        return o->long_format ? FORMAT_REASONS_LONG : FORMAT_REASONS;
    if (o->by_node)
        return o->long_format ? FORMAT_NODE_LONG : FORMAT_NODE;
    if (o->summarize)
        return FORMAT_SUMMARY;
    return o->long_format ? FORMAT_LONG : FORMAT_DEFAULT;
}

static void set_format(const struct options *o, struct listing *l)
{
    listing_init(l, &rows_table);
    if (o->format_long)
        listing_set_names(l, o->format_long);
    else
        listing_set_letters(l, format_of(o));
    /* By partition in the order of the configuration, then by the state of the first node. */
    listing_set_sort(l, o->sort ? o->sort : o->by_node ? "N,#P" : "#P,-t");
}

static bool listed(const char *list, const char *name)
{
    size_t name_len = strlen(name);
    for (const char *s = list; s && *s;) {
        size_t len = strcspn(s, ",");
        if (len == name_len && !memcmp(s, name, len))
            return true;
        s += len + (s[len] == ',');
    }
    return false;
}

static int on_parts(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct data *d = ctx;
    const Pb__PartList *part = (const Pb__PartList *)message;
    for (size_t i = 0; i < part->n_parts; i++) {
        const Pb__PartRecord *p = part->parts[i];
        if (d->options->partitions ? !listed(d->options->partitions, p->name)
                                   : p->hidden && !d->options->all)
            continue;
        vec_push(&d->parts, (Pb__PartRecord *)records_keep(&d->arena, &p->base));
    }
    return 0;
}

static int on_nodes(void *ctx, const ProtobufCMessage *message, struct err *err)
{
    struct data *d = ctx;
    const Pb__NodeList *part = (const Pb__NodeList *)message;
    for (size_t i = 0; i < part->n_nodes; i++)
        if (options_match(d->options, part->nodes[i]))
            vec_push(&d->nodes, (Pb__NodeRecord *)records_keep(&d->arena, &part->nodes[i]->base));
    return 0;
}

static int load(struct data *d, struct err *err)
{
    Pb__PartFilter parts = PB__PART_FILTER__INIT;
    Pb__NodeFilter nodes = PB__NODE_FILTER__INIT;
    int r = rpc_call_stream(cmd_client(), RPC_PART_LIST, &parts.base, on_parts, d, err);
    nodes.nodes = (char *)d->options->nodes;
    if (r == 0)
        r = rpc_call_stream(cmd_client(), RPC_NODE_LIST, &nodes.base, on_nodes, d, err);
    return r;
}

/* Whether one of the partitions to be shown has the node. */
static bool is_in_a_partition(const struct data *d, const Pb__NodeRecord *node)
{
    for (size_t p = 0; p < d->parts.len; p++)
        if (listed(node->partitions, d->parts.data[p]->name))
            return true;
    return false;
}

static void fill_rows(const struct data *d, struct rows *r)
{
    bool show_partition = rows_show_partition(r);
    for (size_t p = 0; p < d->parts.len; p++) {
        size_t found = 0;
        for (size_t n = 0; n < d->nodes.len; n++) {
            if (!listed(d->nodes.data[n]->partitions, d->parts.data[p]->name))
                continue;
            rows_add_node(r, d->parts.data[p], p, d->nodes.data[n], n);
            found++;
        }
        if (!found && show_partition && !r->by_node && !d->options->reasons)
            rows_add_empty(r, d->parts.data[p], p);
    }
}

/* l and r are the caller's to end. */
static void make_rows(const struct data *d, struct listing *l, struct rows *r)
{
    *r = (struct rows){.exact = d->options->exact,
                       .by_node = d->options->by_node,
                       .listing = l,
                       .node_count = d->nodes.len};
    set_format(d->options, l);
    fill_rows(d, r);
}

static void print(const struct data *d)
{
    const struct options *o = d->options;
    struct listing l;
    struct rows r;
    make_rows(d, &l, &r);
    vec_foreach (&r.list, row)
        listing_measure(&l, *row);
    if ((o->long_format || o->iterate_sec) && !o->noheader)
        listing_print_date(cmd_out());
    if (!o->noheader) {
        args_print_cluster(&o->common, cmd_out());
        listing_print_header(&l, cmd_out());
    }
    vec_foreach (&r.list, row)
        listing_add(&l, *row);
    listing_print_rows(&l, cmd_out());
    rows_done(&r);
    listing_done(&l);
}

/* The nodes one by one, as older readers want them, and in the groups that sinfo is about. */
static void print_json(const struct data *d)
{
    const char *cluster = cmd_conf()->cluster_name;
    json_t *groups = json_array(), *nodes = json_array();
    struct listing l;
    struct rows r;
    make_rows(d, &l, &r);
    vec_foreach (&r.list, row)
        json_array_append_new(groups, json_row(*row, cluster));
    vec_foreach (&d->nodes, n)
        if (!d->options->partitions || is_in_a_partition(d, *n))
            json_array_append_new(nodes, records_node(*n, cluster));
    json_out_print_all(json_pack("{s:o, s:o}", "sinfo", groups, "nodes", nodes), d->options->yaml,
                       cmd_out());
    rows_done(&r);
    listing_done(&l);
}

static int list_once(const struct options *o)
{
    struct data d = {.options = o};
    struct err err = {0};
    arena_init(&d.arena, 0);
    int r = load(&d, &err);
    if (r < 0)
        cmd_line("slurm_load_partitions: %s", err.text);
    else if (o->json || o->yaml)
        print_json(&d);
    else
        print(&d);
    vec_done(&d.parts);
    vec_done(&d.nodes);
    arena_done(&d.arena);
    int status = cmd_flush();
    return r < 0 ? 1 : status;
}

int main(int argc, char **argv)
{
    struct options o;
    cmd_start("sinfo");
    int status = options_parse(&o, argc, argv);
    if (args_leave(&options_table, &o.common, &status))
        return status;
    if (o.reservations) {
        if (o.json || o.yaml)
            json_out_print("reservations", json_array(), o.yaml, cmd_out());
        else
            str_puts(cmd_out(), "No reservations in the system\n");
        return cmd_flush();
    }
    status = list_once(&o);
    while (o.iterate_sec) {
        sleep(o.iterate_sec);
        str_putc(cmd_out(), '\n');
        status = list_once(&o);
    }
    return status;
}
