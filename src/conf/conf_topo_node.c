/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology=NAME:UNIT,... of nodes: what they say comes before the lines of the network. A unit that
 * no line has is added, with the switches above it (NAME:TOP:LEAF). Whatever is wrong with it is
 * told and left out: a dynamic node must not keep the controller from starting.
 */
#include <string.h>

#include "conf/conf_internal.h"

static struct conf_place place_of_row(const struct conf_node_row *row)
{
    return (struct conf_place){row->file, row->line};
}

/* The next "NAME:PATH" of the list, of *len bytes; NULL: none. */
static const char *next_pair(const char **list, size_t *len)
{
    *list += strspn(*list, ",");
    const char *pair = *list;
    *len = strcspn(pair, ",");
    *list += *len;
    return *len ? pair : NULL;
}

/* NULL: the row names no unit of that network. Valid while the file is loaded. */
static char *path_in(struct conf_loader *l, const struct conf_node_row *row, const char *network)
{
    const char *list = row->topology ? row->topology : "";
    size_t len, name = strlen(network);
    for (const char *pair; (pair = next_pair(&list, &len));)
        if (len > name && pair[name] == ':' && strncmp(pair, network, name) == 0)
            return arena_printf(&l->priv->arena, "%.*s", (int)(len - name - 1), pair + name + 1);
    return NULL;
}

static bool is_leaf(const struct conf_switch *s)
{
    return !s->switches;
}

static uint32_t add_unit(struct conf_loader *l, struct conf_network *net, struct conf_index *index,
                         const char *name, const struct conf_node_row *row)
{
    struct conf_switch s = {.name = name,
                            .link_speed = 1,
                            .parent = CONF_NO_SWITCH,
                            .node_set = bitset_new(l->conf->nodes.len),
                            .file = row->file,
                            .line = row->line};
    vec_push(&net->switches, s);
    conf_index_add(index, net->switches.data, sizeof(s), net->switches.len - 1);
    return (uint32_t)net->switches.len - 1;
}

static void add_child(struct conf_loader *l, struct conf_switch *above, const char *name)
{
    above->switches =
        *above->switches ? arena_printf(&l->priv->arena, "%s,%s", above->switches, name) : name;
}

/* The leaf at the end of the path; CONF_NO_SWITCH: it was told what is wrong. */
static uint32_t find_leaf(struct conf_loader *l, struct conf_network *net, struct conf_index *index,
                          const struct conf_node_row *row, char *path)
{
    uint32_t above = CONF_NO_SWITCH;
    for (char *rest = path; rest;) {
        const char *name = strsep(&rest, ":");
        long found = conf_index_find(index, net->switches.data, sizeof(struct conf_switch), name);
        bool wrong = !*name || name[strcspn(name, "[]= ")] ||
                     (found >= 0 && is_leaf(&net->switches.data[found]) != !rest) ||
                     (rest && net->kind == CONF_TOPO_BLOCK);
        if (wrong) {
            conf_fault(l, place_of_row(row), "Topology=%s: '%s' is not a %s of topology %s",
                       row->topology, name,
                       net->kind == CONF_TOPO_BLOCK ? "block"
                       : rest                       ? "switch above others"
                                                    : "leaf switch",
                       net->name);
            return CONF_NO_SWITCH;
        }
        if (found < 0) {
            found = add_unit(l, net, index, name, row);
            net->switches.data[found].switches = rest ? "" : NULL;
            if (above != CONF_NO_SWITCH)
                add_child(l, &net->switches.data[above], name);
        }
        above = (uint32_t)found;
    }
    return above;
}

void conf_topo_move_nodes(struct conf_loader *l, struct conf_network *net, struct conf_index *index,
                          struct bitset *taken)
{
    for (size_t i = 0; i < l->conf->nodes.len; i++) {
        const struct conf_node_row *row = &l->conf->node_rows.data[l->conf->nodes.data[i].row];
        char *path = path_in(l, row, net->name);
        uint32_t leaf = path ? find_leaf(l, net, index, row, path) : CONF_NO_SWITCH;
        if (leaf == CONF_NO_SWITCH)
            continue;
        if (bitset_test(taken, i))
            vec_foreach (&net->switches, s)
                bitset_unset(s->node_set, i);
        bitset_set(taken, i);
        bitset_set(net->switches.data[leaf].node_set, i);
    }
}

size_t conf_topo_units_most(const struct conf_loader *l)
{
    size_t most = 0;
    vec_foreach (&l->conf->node_rows, row)
        most += row->topology ? strlen(row->topology) / 2 + 1 : 0;
    return most;
}

void conf_topo_check_nodes(struct conf_loader *l)
{
    vec_foreach (&l->conf->node_rows, row) {
        const char *list = row->topology ? row->topology : "";
        size_t len;
        for (const char *pair; (pair = next_pair(&list, &len));) {
            const char *colon = memchr(pair, ':', len);
            _cleanup_free_ char *name = mem_strndup(pair, colon ? (size_t)(colon - pair) : len);
            if (!colon)
                conf_fault(l, place_of_row(row), "Topology=%s: expected TOPOLOGY:UNIT",
                           row->topology);
            else if (conf_find_network(l->conf, name) < 0)
                conf_fault(l, place_of_row(row), "Topology=%s: unknown topology '%s'",
                           row->topology, name);
        }
    }
}
