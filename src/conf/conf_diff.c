/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "conf/conf_burst_file.h"
#include "conf/conf_internal.h"

/* Prints "what KEY: old -> new" for each key whose members differ. */
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

void conf_text_diff(const char *what, const char *key, const char *from, const char *to,
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
    conf_text_diff("", "SlurmctldHost", str_cstr(&a), str_cstr(&b), out);
    number_diff("last of ", "SlurmctldPort", from->slurmctld_port_last, to->slurmctld_port_last,
                out);
}

/* Prints the names in 'of' that 'in' does not have, on one line. */
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
        conf_text_diff(what, "State", conf_node_state_text(a->state),
                       conf_node_state_text(b->state), out);
}

/* A node in both configurations, and the changes of its row and its addresses. */
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

/* Rows are shared, so nodes whose rows changed in the same way are reported together. */
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
        conf_text_diff(what, "NodeHostname", a->hostname, b->hostname, out);
        conf_text_diff(what, "NodeAddr", a->addr, b->addr, out);
        if (a->bcast_addr != a->addr || b->bcast_addr != b->addr)
            conf_text_diff(what, "BcastAddr", a->bcast_addr, b->bcast_addr, out);
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

    conf_text_diff(what, "Nodes", a->nodes, b->nodes, out);
    keys_diff(conf_part_keys, CONF_PART_KEYS, what, a, b, out);
    if (a->state != b->state)
        conf_text_diff(what, "State", conf_part_state_text(a->state),
                       conf_part_state_text(b->state), out);
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

void conf_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    scalars_diff(from, to, out);
    nodes_diff(from, to, out);
    parts_diff(from, to, out);
#define CONF_DIFF(name) conf_##name(from, to, out);
#include "conf/conf_file.def"
}

void conf_summarise(const struct conf *c, struct str *out)
{
#define CONF_SUMMARY(name) conf_##name(c, out);
#include "conf/conf_file.def"
}

static const char *end_noun(size_t count)
{
    return count == 1 ? "" : "s";
}

void conf_put_counts(const struct conf *c, const char *path, size_t warnings, struct str *out)
{
    str_printf(out, "%s: %zu node%s, %zu partition%s, %zu warning%s\n", path, c->nodes.len,
               end_noun(c->nodes.len), c->parts.len, end_noun(c->parts.len), warnings,
               end_noun(warnings));
}
