/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Output of "scontrol show topology". */
#include <string.h>

#include "conf/conf_topo_file.h"

static void put_set(const struct conf *c, const struct bitset *set, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    bitset_foreach (set, i)
        hostlist_push(list, c->nodes.data[i].name);
    hostlist_format(list, out);
}

static void put_switch(const struct conf *c, const struct conf_switch *s, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *children = NULL;
    str_printf(out, "SwitchName=%s Level=%u LinkSpeed=%u Nodes=", s->name, s->level, s->link_speed);
    put_set(c, s->node_set, out);
    if (s->switches && hostlist_parse(s->switches, &children, NULL) == 0) {
        str_puts(out, " Switches=");
        hostlist_format(children, out);
    }
    str_putc(out, '\n');
}

static void put_block(const struct conf *c, const struct conf_network *net, size_t number,
                      struct str *out)
{
    const struct conf_switch *s = &net->switches.data[number];
    size_t own = bitset_count(s->node_set);
    str_printf(out, "BlockName=%s BlockIndex=%zu Nodes=", s->name, number);
    put_set(c, s->node_set, out);
    str_printf(out, " BlockSize=%zu\n",
               net->block_sizes.len ? (size_t)net->block_sizes.data[0] : own);
}

/* In the order of the ring. */
static void put_order(const struct conf *c, const struct conf_switch *s, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    vec_foreach (&s->cells, i)
        hostlist_push(list, c->nodes.data[*i].name);
    hostlist_format(list, out);
}

static void put_ring(const struct conf *c, const struct conf_switch *s, size_t number,
                     struct str *out)
{
    str_printf(out, "RingName=%s RingIndex=%zu Nodes=", s->name, number);
    put_order(c, s, out);
    str_printf(out, " RingSize=%zu\n", bitset_count(s->node_set));
}

/* Whether the switch has that name, or reaches all of the nodes. */
static bool is_wanted(const struct conf_switch *s, const char *of, const struct bitset *nodes)
{
    return !of || strcmp(s->name, of) == 0 || (nodes && bitset_contains(s->node_set, nodes));
}

static struct bitset *nodes_named(const struct conf *c, const char *of)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    char buf[HOSTLIST_NAME_MAX + 1];
    if (!of || hostlist_parse(of, &list, NULL) < 0 || !hostlist_count(list))
        return NULL;
    struct bitset *set = bitset_new(c->nodes.len);
    for (size_t i = 0; i < hostlist_count(list); i++) {
        long node = conf_find_node(c, hostlist_nth(list, i, buf));
        if (node < 0) {
            bitset_free(set);
            return NULL;
        }
        bitset_set(set, (size_t)node);
    }
    return set;
}

int conf_topo_format(const struct conf *c, const char *name, const char *of, struct str *out,
                     struct err *err)
{
    of = of && *of ? of : NULL;
    name = name && *name ? name : NULL;
    if (name && conf_find_network(c, name) < 0 && !of) {
        of = name;
        name = NULL;
    }
    if (name && conf_find_network(c, name) < 0)
        return err_set(err, -ERR_NO_NODE, "unknown topology '%.200s'", name);
    const struct conf_network *net = &c->networks.data[conf_network_index(c, name)];
    _cleanup_bitset_ struct bitset *nodes = nodes_named(c, of);
    size_t before = out->len;
    for (size_t i = 0; i < net->switches.len; i++) {
        if (!is_wanted(&net->switches.data[i], of, nodes))
            continue;
        if (net->kind == CONF_TOPO_BLOCK)
            put_block(c, net, i, out);
        else if (net->kind == CONF_TOPO_RING)
            put_ring(c, &net->switches.data[i], i, out);
        else if (net->kind == CONF_TOPO_TORUS)
            conf_torus_format(c, &net->switches.data[i], i, out);
        else
            put_switch(c, &net->switches.data[i], out);
    }
    if (of && out->len == before && net->switches.len)
        return err_set(err, -ERR_NO_NODE,
                       "Topology information contains no switch or node named %.200s", of);
    return 0;
}

static void put_topology(const struct conf *c, const struct conf_network *net, struct str *out)
{
    const struct conf_topo_words *words = conf_topo_words(net->kind);
    str_printf(out, "- topology: %s\n  cluster_default: %s\n", net->name,
               net == conf_default_network(c) ? "true" : "false");
    if (!words) {
        str_puts(out, "  flat: true\n");
        return;
    }
    str_printf(out, "  %s:\n", words->kind);
    for (size_t i = 0; i < net->block_sizes.len; i++)
        str_printf(out, "%s      - %u\n", i ? "" : "    block_sizes:\n", net->block_sizes.data[i]);
    str_printf(out, "    %s:\n", words->units);
    vec_foreach (&net->switches, s) {
        if (net->kind == CONF_TOPO_TORUS) {
            conf_torus_format_yaml(c, s, out);
            continue;
        }
        str_printf(out, "      - %s: %s\n", words->unit, s->name);
        if (s->switches) {
            str_printf(out, "        children: \"%s\"\n", s->switches);
            continue;
        }
        str_puts(out, "        nodes: \"");
        if (net->kind == CONF_TOPO_RING)
            put_order(c, s, out);
        else
            put_set(c, s->node_set, out);
        str_puts(out, "\"\n");
    }
}

void conf_topo_format_yaml(const struct conf *c, struct str *out)
{
    str_puts(out, "---\n");
    vec_foreach (&c->networks, net)
        put_topology(c, net, out);
}

static uint32_t leaf_switch(const struct conf_network *net, uint32_t node)
{
    for (uint32_t i = 0; i < net->switches.len; i++) {
        const struct conf_switch *s = &net->switches.data[i];
        if (!s->switches && bitset_test(s->node_set, node))
            return i;
    }
    return CONF_NO_SWITCH;
}

void conf_topo_address(const struct conf *c, const struct conf_network *net, uint32_t node,
                       struct str *address, struct str *pattern)
{
    const char *names[CONF_SWITCH_LEVELS_MAX];
    size_t n = 0;
    for (uint32_t at = leaf_switch(net, node); at != CONF_NO_SWITCH && n < CONF_SWITCH_LEVELS_MAX;
         at = net->switches.data[at].parent)
        names[n++] = net->switches.data[at].name;
    while (n-- > 0) {
        str_printf(address, "%s.", names[n]);
        str_printf(pattern, "%s.", conf_topo_words(net->kind)->unit);
    }
    str_puts(address, c->nodes.data[node].name);
    str_puts(pattern, "node");
}
