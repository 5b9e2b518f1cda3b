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

/* 'found': the unit of that name, or -1; 'last': the node is to be on it. */
static int check_unit(const struct conf_network *net, long found, const char *name, bool last,
                      const char *list, struct err *err)
{
    bool wrong = !*name || name[strcspn(name, "[]= ")] ||
                 (found >= 0 && is_leaf(&net->switches.data[found]) != last) ||
                 (!last && net->kind == CONF_TOPO_BLOCK);
    if (!wrong)
        return 0;
    return err_set(err, -ERR_PARSE, "Topology=%s: '%s' is not a %s of topology %s", list, name,
                   net->kind == CONF_TOPO_BLOCK ? "block"
                   : last                       ? "leaf switch"
                                                : "switch above others",
                   net->name);
}

/* The leaf at the end of the path; CONF_NO_SWITCH: it was told what is wrong. */
static uint32_t find_leaf(struct conf_loader *l, struct conf_network *net, struct conf_index *index,
                          const struct conf_node_row *row, char *path)
{
    uint32_t above = CONF_NO_SWITCH;
    struct err err = {0};
    for (char *rest = path; rest;) {
        const char *name = strsep(&rest, ":");
        long found = conf_index_find(index, net->switches.data, sizeof(struct conf_switch), name);
        if (check_unit(net, found, name, !rest, row->topology, &err) < 0) {
            conf_fault(l, place_of_row(row), "%s", err.text);
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

/* The network that a pair of the list begins with; -1: it was told what is wrong. */
static long find_pair_network(const struct conf *c, const char *pair, size_t len, const char *list,
                              struct err *err)
{
    const char *colon = memchr(pair, ':', len);
    _cleanup_free_ char *name = mem_strndup(pair, colon ? (size_t)(colon - pair) : len);
    long found = colon ? conf_find_network(c, name) : -1;
    if (!colon)
        err_set(err, -ERR_PARSE, "Topology=%s: expected TOPOLOGY:UNIT", list);
    else if (found < 0)
        err_set(err, -ERR_PARSE, "Topology=%s: unknown topology '%s'", list, name);
    return found;
}

void conf_topo_check_nodes(struct conf_loader *l)
{
    vec_foreach (&l->conf->node_rows, row) {
        const char *list = row->topology ? row->topology : "";
        size_t len;
        for (const char *pair; (pair = next_pair(&list, &len));) {
            struct err err = {0};
            if (find_pair_network(l->conf, pair, len, row->topology, &err) < 0)
                conf_fault(l, place_of_row(row), "%s", err.text);
        }
    }
}

static long find_unit(const struct conf_network *net, const char *name)
{
    for (size_t i = 0; i < net->switches.len; i++)
        if (strcmp(net->switches.data[i].name, name) == 0)
            return (long)i;
    return -1;
}

int conf_topo_check_units(const struct conf *c, const char *units, struct err *err)
{
    const char *list = units;
    size_t len;
    for (const char *pair; (pair = next_pair(&list, &len));) {
        long number = find_pair_network(c, pair, len, units, err);
        if (number < 0)
            return -ERR_PARSE;
        const struct conf_network *net = &c->networks.data[number];
        _cleanup_free_ char *path = mem_strndup(pair, len);
        char *rest = strchr(path, ':') + 1;
        while (rest) {
            const char *name = strsep(&rest, ":");
            int rc = check_unit(net, find_unit(net, name), name, !rest, units, err);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}
