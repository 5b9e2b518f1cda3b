/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The changes of topologies between two configurations. Nodes moved by scontrol are not part of
 * the files. */
#include "conf/conf_internal.h"
#include "conf/conf_topo.h"

#define NO_FILE "default" /* the flat topology of a cluster without a topology file */

static void put_numbers(const uint32_t numbers[CONF_AXES], struct str *out)
{
    for (size_t i = 0; i < CONF_AXES; i++)
        str_printf(out, " %u", numbers[i]);
}

static void put_unit(const struct conf *c, const struct conf_switch *s, struct str *out)
{
    str_printf(out, "%s %u %s", s->name, s->link_speed, s->file_switches ? s->file_switches : "-");
    put_numbers(s->dims, out);
    vec_foreach (&s->placements, p) {
        str_puts(out, " placement");
        put_numbers(p->dims, out);
        put_numbers(p->seed, out);
        put_numbers(p->spacing, out);
    }
    vec_foreach (&s->order, node)
        str_printf(out, " %s", *node == CONF_NO_NODE ? "-" : c->nodes.data[*node].name);
    str_putc(out, '\n');
}

/* Prints the content of the file with node names, because node numbers may differ. */
static void put_file(const struct conf *c, const struct conf_network *net, struct str *out)
{
    vec_foreach (&net->block_sizes, size)
        str_printf(out, "%u\n", *size);
    for (size_t i = 0; i < net->file_count; i++)
        put_unit(c, &net->switches.data[i], out);
    for (size_t i = 0; net->file_leaf && i < c->nodes.len; i++)
        if (net->file_leaf[i] != CONF_NO_SWITCH)
            str_printf(out, "%s %u\n", c->nodes.data[i].name, net->file_leaf[i]);
}

static const char *get_kind_text(const struct conf_network *net)
{
    const struct conf_topo_words *words = conf_topo_words(net->kind);
    return words ? words->kind : "flat";
}

static void compare_networks(const struct conf *from, const struct conf_network *a,
                             const struct conf *to, const struct conf_network *b, struct str *out)
{
    _cleanup_str_ struct str before = STR_INIT, after = STR_INIT;
    const struct conf_topo_words *words = conf_topo_words(b->kind);
    _cleanup_free_ char *what = mem_printf("topology %s", b->name);
    if (a->kind != b->kind) {
        conf_text_diff(what, "", get_kind_text(a), get_kind_text(b), out);
        return;
    }
    put_file(from, a, &before);
    put_file(to, b, &after);
    if (words && !str_eq(str_cstr(&before), str_cstr(&after)))
        str_printf(out, "%s: its %s have changed\n", what, words->units);
}

/* Whether the topology is defined in a file. */
static bool is_defined(const struct conf_network *net)
{
    return net->kind != CONF_TOPO_FLAT || !str_eq(net->name, NO_FILE);
}

void conf_topo_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    vec_foreach (&from->networks, net)
        if (is_defined(net) && conf_find_network(to, net->name) < 0)
            str_printf(out, "topology %s: removed\n", net->name);
    vec_foreach (&to->networks, net) {
        const struct conf_topo_words *words = conf_topo_words(net->kind);
        long at = conf_find_network(from, net->name);
        if (at >= 0)
            compare_networks(from, &from->networks.data[at], to, net, out);
        else if (words)
            str_printf(out, "topology %s: added: %s, %zu %s\n", net->name, words->kind,
                       net->file_count, net->file_count == 1 ? words->unit : words->units);
        else if (is_defined(net))
            str_printf(out, "topology %s: added: flat\n", net->name);
    }
    if (from->networks.len && to->networks.len)
        conf_text_diff("", "cluster_default", conf_default_network(from)->name,
                       conf_default_network(to)->name, out);
}
