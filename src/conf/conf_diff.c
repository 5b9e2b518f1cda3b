/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "conf/conf_burst_file.h"
#include "conf/conf_hres.h"
#include "conf/conf_internal.h"

/* "what KEY: old -> new" for each key whose members differ. */
static void keys_diff(const struct conf_key *keys, size_t count, const char *what, const void *from,
                      const void *to, struct str *out)
{
    for (size_t i = 0; i < count; i++) {
        if (keys[i].offset == CONF_NO_OFFSET || conf_value_equal(&keys[i], from, to))
            continue;
        str_printf(out, "%s%s: ", what, keys[i].name);
        conf_value_text(&keys[i], from, out);
        str_puts(out, " -> ");
        conf_value_text(&keys[i], to, out);
        str_puts(out, keys[i].effect ? "\n" : " (accepted; without effect in this version)\n");
    }
}

static void text_diff(const char *what, const char *key, const char *from, const char *to,
                      struct str *out)
{
    if (!str_eq(from, to))
        str_printf(out, "%s%s: %s -> %s\n", what, key, from ? from : "(null)", to ? to : "(null)");
}

static void number_diff(const char *what, const char *key, uint32_t from, uint32_t to,
                        struct str *out)
{
    if (from != to)
        str_printf(out, "%s%s: %u -> %u\n", what, key, from, to);
}

static void hosts_text(const struct conf *c, struct str *out)
{
    vec_foreach (&c->controllers, host)
        str_printf(out, "%s%s(%s)", host == c->controllers.data ? "" : ",", host->name,
                   host->own_addr);
}

static void scalars_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    _cleanup_str_ struct str a = STR_INIT, b = STR_INIT;

    keys_diff(conf_keys, CONF_KEYS, "", from, to, out);
    keys_diff(conf_cgroup_keys, CONF_CGROUP_KEYS, "", &from->cgroup, &to->cgroup, out);
    keys_diff(conf_burst_keys, CONF_BURST_KEYS, "", &from->burst, &to->burst, out);
    hosts_text(from, &a);
    hosts_text(to, &b);
    text_diff("", "SlurmctldHost", str_cstr(&a), str_cstr(&b), out);
    number_diff("last of ", "SlurmctldPort", from->slurmctld_port_last, to->slurmctld_port_last,
                out);
}

/* The names in 'of' that 'in' does not have, on one line. */
static void nodes_missing(const struct conf *of, const struct conf *in, const char *what,
                          struct str *out)
{
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();

    vec_foreach (&of->nodes, node)
        if (conf_find_node(in, node->name) < 0)
            hostlist_push(names, node->name);
    if (!hostlist_count(names))
        return;
    str_puts(out, "node ");
    hostlist_format(names, out);
    str_printf(out, ": %s\n", what);
}

static void row_diff(const struct conf_node_row *a, const struct conf_node_row *b, const char *what,
                     struct str *out)
{
    number_diff(what, "CPUs", a->cpus, b->cpus, out);
    number_diff(what, "Boards", a->boards, b->boards, out);
    number_diff(what, "Sockets", a->sockets, b->sockets, out);
    number_diff(what, "CoresPerSocket", a->cores, b->cores, out);
    number_diff(what, "ThreadsPerCore", a->threads, b->threads, out);
    keys_diff(conf_node_keys, CONF_NODE_KEYS, what, a, b, out);
    if (a->state != b->state)
        text_diff(what, "State", conf_node_state_text(a->state), conf_node_state_text(b->state),
                  out);
}

/* A node that both have, and how its row and its places changed. */
struct change {
    uint32_t from_row, to_row, node; /* node: index in 'to' */
};

static int by_rows(const void *x, const void *y)
{
    const struct change *a = x, *b = y;

    if (a->from_row != b->from_row)
        return a->from_row < b->from_row ? -1 : 1;
    if (a->to_row != b->to_row)
        return a->to_row < b->to_row ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Rows are shared, so nodes whose rows went from one to the same other are told of together. */
static void rows_diff(const struct conf *from, const struct conf *to, struct change *changes,
                      size_t count, struct str *out)
{
    if (count)
        qsort(changes, count, sizeof(*changes), by_rows);
    for (size_t i = 0, end; i < count; i = end) {
        _cleanup_hostlist_ struct hostlist *names = hostlist_new();
        _cleanup_str_ struct str what = STR_INIT;
        for (end = i; end < count && changes[end].from_row == changes[i].from_row &&
                      changes[end].to_row == changes[i].to_row;
             end++)
            hostlist_push(names, to->nodes.data[changes[end].node].name);
        str_puts(&what, "node ");
        hostlist_format(names, &what);
        str_puts(&what, ": ");
        row_diff(&from->node_rows.data[changes[i].from_row], &to->node_rows.data[changes[i].to_row],
                 str_cstr(&what), out);
    }
}

static void nodes_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    VEC(struct change) both = {0};

    nodes_missing(from, to, "removed", out);
    nodes_missing(to, from, "added", out);
    for (size_t i = 0; i < to->nodes.len; i++) {
        const struct conf_node *b = &to->nodes.data[i];
        long at = conf_find_node(from, b->name);
        if (at < 0)
            continue;
        const struct conf_node *a = &from->nodes.data[at];
        struct change change = {a->row, b->row, (uint32_t)i};
        vec_push(&both, change);
        if (str_eq(a->hostname, b->hostname) && str_eq(a->addr, b->addr) &&
            str_eq(a->bcast_addr, b->bcast_addr) && a->port == b->port)
            continue;
        _cleanup_free_ char *what = mem_printf("node %s: ", b->name);
        text_diff(what, "NodeHostname", a->hostname, b->hostname, out);
        text_diff(what, "NodeAddr", a->addr, b->addr, out);
        if (a->bcast_addr != a->addr || b->bcast_addr != b->addr)
            text_diff(what, "BcastAddr", a->bcast_addr, b->bcast_addr, out);
        number_diff(what, "Port", a->port, b->port, out);
    }
    rows_diff(from, to, both.data, both.len, out);
    vec_done(&both);
}

static void put_share(const struct conf_part *p, struct str *out)
{
    str_puts(out, conf_part_share_text(p->share));
    if (p->share == CONF_SHARE_FORCE || p->share == CONF_SHARE_YES)
        str_printf(out, ":%u", p->share_max);
}

static void part_diff(const struct conf_part *a, const struct conf_part *b, struct str *out)
{
    _cleanup_free_ char *what = mem_printf("partition %s: ", b->name);

    text_diff(what, "Nodes", a->nodes, b->nodes, out);
    keys_diff(conf_part_keys, CONF_PART_KEYS, what, a, b, out);
    if (a->state != b->state)
        text_diff(what, "State", conf_part_state_text(a->state), conf_part_state_text(b->state),
                  out);
    if (a->share != b->share || a->share_max != b->share_max) {
        str_printf(out, "%sOverSubscribe: ", what);
        put_share(a, out);
        str_puts(out, " -> ");
        put_share(b, out);
        str_putc(out, '\n');
    }
}

static void parts_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    vec_foreach (&from->parts, p)
        if (conf_find_part(to, p->name) < 0)
            str_printf(out, "partition %s: removed\n", p->name);
    vec_foreach (&to->parts, p) {
        long at = conf_find_part(from, p->name);
        if (at < 0)
            str_printf(out, "partition %s: added\n", p->name);
        else
            part_diff(&from->parts.data[at], p, out);
    }
}

static const struct conf_hres_layer *find_layer(const struct conf_hres *h, const char *nodes)
{
    vec_foreach (&h->layers, layer)
        if (str_eq(layer->nodes, nodes))
            return layer;
    return NULL;
}

static void put_count(uint64_t count, struct str *out)
{
    if (count == CONF_HRES_UNLIMITED)
        str_puts(out, "-1");
    else
        str_printf(out, "%llu", (unsigned long long)count);
}

static void put_amounts(const struct conf_hres_amount *list, size_t len, struct str *out)
{
    str_puts(out, len ? "" : "none");
    for (size_t i = 0; i < len; i++)
        str_printf(out, "%s%s:%llu", i ? "," : "", list[i].name, (unsigned long long)list[i].value);
}

/* "WHAT: FROM -> TO" of variables or base amounts that differ. */
static void amounts_diff(const char *what, const char *key, const struct conf_hres_amount *from,
                         size_t from_len, const struct conf_hres_amount *to, size_t to_len,
                         struct str *out)
{
    _cleanup_str_ struct str a = STR_INIT, b = STR_INIT;
    put_amounts(from, from_len, &a);
    put_amounts(to, to_len, &b);
    text_diff(what, key, str_cstr(&a), str_cstr(&b), out);
}

static void layer_diff(const char *name, const struct conf_hres_layer *a,
                       const struct conf_hres_layer *b, struct str *out)
{
    _cleanup_free_ char *what = mem_printf("resource %s(%s): ", name, b->nodes);
    _cleanup_str_ struct str from = STR_INIT, to = STR_INIT;
    put_count(a->count, &from);
    put_count(b->count, &to);
    text_diff(what, "count", str_cstr(&from), str_cstr(&to), out);
    amounts_diff(what, "base", a->bases.data, a->bases.len, b->bases.data, b->bases.len, out);
}

static void resource_diff(const struct conf_hres *a, const struct conf_hres *b, struct str *out)
{
    _cleanup_free_ char *what = mem_printf("resource %s: ", b->name);
    if (a->mode != b->mode)
        str_printf(out, "%smode: MODE_%d -> MODE_%d\n", what, a->mode, b->mode);
    text_diff(what, "topology", a->topology, b->topology, out);
    amounts_diff(what, "variables", a->variables.data, a->variables.len, b->variables.data,
                 b->variables.len, out);
    vec_foreach (&a->layers, layer)
        if (!find_layer(b, layer->nodes))
            str_printf(out, "resource %s(%s): removed\n", b->name, layer->nodes);
    vec_foreach (&b->layers, layer) {
        const struct conf_hres_layer *before = find_layer(a, layer->nodes);
        if (before)
            layer_diff(b->name, before, layer, out);
        else
            str_printf(out, "resource %s(%s): added\n", b->name, layer->nodes);
    }
}

static void resources_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    vec_foreach (&from->hres.list, h)
        if (!conf_hres_find(&to->hres, h->name))
            str_printf(out, "resource %s: removed\n", h->name);
    vec_foreach (&to->hres.list, h) {
        const struct conf_hres *before = conf_hres_find(&from->hres, h->name);
        if (before)
            resource_diff(before, h, out);
        else
            str_printf(out, "resource %s: added, MODE_%d, %zu layer%s\n", h->name, h->mode,
                       h->layers.len, h->layers.len == 1 ? "" : "s");
    }
}

void conf_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    scalars_diff(from, to, out);
    nodes_diff(from, to, out);
    parts_diff(from, to, out);
    resources_diff(from, to, out);
}
