/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/sinfo/table.h"

#include <string.h>

#include "base/mem.h"
#include "cli/cmd.h"
#include "show/json_out.h"
#include "show/show.h"

/* "#": as wide as the longest value, with the following number as the minimum. */
#define FORMAT_DEFAULT "%#9P %.5a %.10l %.6D %.6t %N"
#define FORMAT_SUMMARY "%#9P %.5a %.10l %.16F %N"
#define FORMAT_LONG "%#9P %.5a %.10l %.10s %.4r %.8h %.10g %.6D %.11T %.11i %N"
#define FORMAT_NODE "%#9N %.6D %#.9P %6t"
#define FORMAT_NODE_LONG "%#9N %.6D %#.9P %.11T %4c %.8z %.6m %.8d %.6w %.8f %20E"
#define FORMAT_REASONS "%20E %9u %19H %N"
#define FORMAT_REASONS_LONG "%20E %12U %19H %6t %N"

static const char *format_of(const struct options *o)
{
    if (o->format)
        return o->format;
    if (o->summarize)
        return FORMAT_SUMMARY;
    if (o->by_node)
        return o->long_format ? FORMAT_NODE_LONG : FORMAT_NODE;
    if (o->reasons)
        return o->long_format ? FORMAT_REASONS_LONG : FORMAT_REASONS;
    return o->long_format ? FORMAT_LONG : FORMAT_DEFAULT;
}

/* Returns false after a message: a column or a sort key is unknown. */
static bool set_format(const struct options *o, struct listing *l)
{
    listing_init(l, &node_columns);
    l->report = cmd_error;
    bool known = o->format_long ? listing_set_names(l, o->format_long)
                                : listing_set_letters(l, format_of(o));
    /* By partition in the order of the configuration, then by the state of the first node. */
    return listing_set_sort(l, o->sort ? o->sort : o->by_node ? "N,#P" : "#P,-t") && known;
}

static bool is_listed(const char *list, const char *name)
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

void table_init(struct table *t, const struct options *o)
{
    *t = (struct table){.options = o};
    arena_init(&t->arena, 0);
    t->bad_format = !set_format(o, &t->listing);
}

void table_done(struct table *t)
{
    vec_foreach (&t->units, u) {
        hostlist_free(u->names);
        vec_done(&u->in);
    }
    vec_done(&t->units);
    vec_done(&t->parts);
    listing_done(&t->listing);
    arena_done(&t->arena);
}

static bool is_json(const struct table *t)
{
    return t->options->json || t->options->yaml;
}

/* Whether nodes are listed one by one. */
static bool is_apart(const struct table *t)
{
    return is_json(t) || t->options->by_node || node_rows_show_hosts(&t->listing);
}

void table_ask(struct table *t, Pb__NodeFilter *filter)
{
    filter->nodes = (char *)t->options->nodes;
    if (is_json(t))
        return;
    filter->has_group = filter->group = 1;
    t->needs = node_rows_needs(&t->listing);
    filter->fields = t->needs.words;
    filter->n_fields = PB_FIELD_WORDS;
}

void table_take_parts(struct table *t, const Pb__PartList *list)
{
    for (size_t i = 0; i < list->n_parts; i++) {
        const Pb__PartRecord *p = list->parts[i];
        if (!t->options->partitions || is_listed(t->options->partitions, p->name))
            vec_push(&t->parts, p);
    }
}

static void add_apart(struct table *t, const Pb__NodeRecord *group, const struct hostlist *names)
{
    char name[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(names); i++) {
        Pb__NodeRecord *one = arena_alloc(&t->arena, sizeof(*one));
        *one = *group;
        one->name = arena_strdup(&t->arena, hostlist_nth(names, i, name));
        vec_push(&t->units, ((struct node_rows_unit){.node = one, .count = 1}));
    }
}

/* Adds a record that stands for several nodes. */
static int add_group(struct table *t, Pb__NodeRecord *node, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    if (hostlist_parse(node->name, &names, err) < 0 || hostlist_count(names) != node->count)
        return err_set(err, -ERR_PROTOCOL, "malformed answer: %u nodes are named %s", node->count,
                       node->name);
    if (is_apart(t)) {
        add_apart(t, node, names);
        return 0;
    }
    node->name = arena_strdup(&t->arena, hostlist_nth(names, 0, name));
    vec_push(&t->units, ((struct node_rows_unit){.node = node, .count = node->count}));
    vec_last(&t->units).names = take_ptr(names);
    return 0;
}

int table_take_nodes(struct table *t, const Pb__NodeList *list, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < list->n_nodes; i++) {
        Pb__NodeRecord *node = list->nodes[i];
        if (!options_match(t->options, node))
            continue;
        if (node->count > 1)
            r = add_group(t, node, err);
        else
            vec_push(&t->units, ((struct node_rows_unit){.node = node, .count = 1}));
    }
    return r;
}

/* Whether the node is in one of the listed partitions. */
static bool is_in_a_partition(const struct table *t, const Pb__NodeRecord *node)
{
    vec_foreach (&t->parts, p)
        if (is_listed(node->partitions, (*p)->name))
            return true;
    return false;
}

/* The caller frees the rows. */
static void make_rows(struct table *t, struct node_rows *r)
{
    const struct options *o = t->options;
    bool show_partition = node_rows_show_partition(&t->listing);
    *r = (struct node_rows){.exact = o->exact,
                            .by_node = o->by_node,
                            .hosts = is_json(t) || node_rows_show_hosts(&t->listing),
                            .listing = &t->listing};
    for (size_t p = 0; p < t->parts.len; p++) {
        size_t found = 0;
        vec_foreach (&t->units, u) {
            if (!is_listed(u->node->partitions, t->parts.data[p]->name))
                continue;
            node_rows_add(r, t->parts.data[p], p, u);
            found++;
        }
        if (!found && show_partition && !o->by_node && !o->reasons)
            node_rows_add_empty(r, t->parts.data[p], p);
    }
}

static void print_lines(struct table *t, struct str *out)
{
    const struct options *o = t->options;
    struct node_rows r;
    make_rows(t, &r);
    vec_foreach (&r.list, row)
        listing_measure(&t->listing, *row);
    if ((o->long_format || o->iterate_sec) && !o->noheader)
        listing_print_date(out);
    if (!o->noheader) {
        args_print_cluster(&o->common, out);
        listing_print_header(&t->listing, out);
    }
    vec_foreach (&r.list, row)
        listing_add(&t->listing, *row);
    listing_print_rows(&t->listing, out);
    node_rows_done(&r);
}

/* Prints the nodes one by one, for older readers, and in sinfo's groups. */
static void print_json(struct table *t, const char *cluster, struct str *out)
{
    json_t *groups = json_array(), *nodes = json_array();
    struct node_rows r;
    make_rows(t, &r);
    vec_foreach (&r.list, row)
        json_array_append_new(groups, node_rows_json(*row, cluster));
    vec_foreach (&t->units, u)
        if (!t->options->partitions || is_in_a_partition(t, u->node))
            json_array_append_new(nodes, show_node_json(u->node, cluster));
    json_out_print_all(cmd_source(), json_pack("{s:o, s:o}", "sinfo", groups, "nodes", nodes),
                       t->options->yaml, out);
    node_rows_done(&r);
}

void table_print(struct table *t, const char *cluster, struct str *out)
{
    if (is_json(t))
        print_json(t, cluster, out);
    else
        print_lines(t, out);
}
