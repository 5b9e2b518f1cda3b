/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology=NAME:UNIT,... of nodes overrides the lines of the networks: the node is in the listed
 * units, and in no other network. A unit without a line is added, with the switches above it
 * (NAME:TOP:LEAF). Errors in the list are reported and ignored, because a dynamic node must not
 * keep the controller from starting.
 */
#include <string.h>

#include "conf/conf_topo_file.h"

#define FIRST_UNIT -2 /* of a path: no unit precedes */

struct conf_place conf_topo_place_of_row(const struct conf_node_row *row)
{
    return (struct conf_place){row->file, row->line};
}

/* Returns the next "NAME:PATH" of the list, with *len bytes; NULL: none. */
static const char *next_pair(const char **list, size_t *len)
{
    *list += strspn(*list, ",");
    const char *pair = *list;
    *len = strcspn(pair, ",");
    *list += *len;
    return *len ? pair : NULL;
}

const char *conf_topo_list_of(const struct conf *c, const char *const *placed, size_t node)
{
    return placed && placed[node] ? placed[node]
                                  : c->node_rows.data[c->nodes.data[node].row].topology;
}

char *conf_topo_path_in(struct conf_loader *l, const char *list, const char *network)
{
    size_t len, name = strlen(network);
    for (const char *pair; (pair = next_pair(&list, &len));)
        if (len > name && pair[name] == ':' && strncmp(pair, network, name) == 0)
            return arena_printf(&l->priv->units_arena, "%.*s", (int)(len - name - 1),
                                pair + name + 1);
    return NULL;
}

static bool is_leaf(const struct conf_switch *s)
{
    return !s->switches;
}

uint32_t conf_topo_add_unit(struct conf_loader *l, struct conf_network *net,
                            struct conf_index *index, const char *name,
                            const struct conf_node_row *row)
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
    above->switches = *above->switches
                          ? arena_printf(&l->priv->units_arena, "%s,%s", above->switches, name)
                          : name;
}

/* 'found': the unit with that name, or -1; 'last': the unit that gets the node. */
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

/* Returns the leaf at the end of the path; CONF_NO_SWITCH: 'err' has the error. */
static uint32_t find_leaf(struct conf_loader *l, struct conf_network *net, struct conf_index *index,
                          const struct conf_node_row *row, const char *list, char *path,
                          struct err *err)
{
    uint32_t above = CONF_NO_SWITCH;
    for (char *rest = path; rest;) {
        const char *name = strsep(&rest, ":");
        long found = conf_index_find(index, net->switches.data, sizeof(struct conf_switch), name);
        if (check_unit(net, found, name, !rest, list, err) < 0)
            return CONF_NO_SWITCH;
        if (found < 0) {
            found = conf_topo_add_unit(l, net, index, name, row);
            net->switches.data[found].switches = rest ? "" : NULL;
            if (above != CONF_NO_SWITCH)
                add_child(l, &net->switches.data[above], name);
        }
        above = (uint32_t)found;
    }
    return above;
}

void conf_topo_take_off(struct conf_network *net, struct bitset *taken, size_t node)
{
    if (bitset_test(taken, node))
        bitset_unset(net->switches.data[net->file_leaf[node]].node_set, node);
    bitset_unset(taken, node);
}

/* Returns the number of consecutive nodes, from this one on, with the same line and the same
   list. */
static size_t count_alike(const struct conf *c, const char *const *placed, size_t node)
{
    size_t end = node;
    while (end < c->nodes.len && c->nodes.data[end].row == c->nodes.data[node].row &&
           str_eq(conf_topo_list_of(c, placed, end), conf_topo_list_of(c, placed, node)))
        end++;
    return end - node;
}

size_t conf_topo_tell_bad_list(struct conf_loader *l, const char *const *placed, size_t node,
                               size_t reported, const struct err *err)
{
    if (node < reported)
        return reported;
    const struct conf *c = l->conf;
    const struct conf_node *n = &c->nodes.data[node];
    size_t count = count_alike(c, placed, node);
    struct conf_place at = conf_topo_place_of_row(&c->node_rows.data[n->row]);
    if (count == 1)
        conf_fault(l, at, "%s", err->text);
    else
        conf_fault(l, at, "%s (%zu nodes, the first is %s)", err->text, count, n->name);
    return node + count;
}

void conf_topo_move_nodes(struct conf_loader *l, struct conf_network *net,
                          const char *const *placed, struct conf_index *index, struct bitset *taken)
{
    size_t reported = 0;
    for (size_t i = 0; i < l->conf->nodes.len; i++) {
        const struct conf_node_row *row = &l->conf->node_rows.data[l->conf->nodes.data[i].row];
        const char *list = conf_topo_list_of(l->conf, placed, i);
        char *path = list ? conf_topo_path_in(l, list, net->name) : NULL;
        struct err err = {0};
        uint32_t leaf = path ? find_leaf(l, net, index, row, list, path, &err) : CONF_NO_SWITCH;
        if (err.code)
            reported = conf_topo_tell_bad_list(l, placed, i, reported, &err);
        if (list && (leaf != CONF_NO_SWITCH || !path))
            conf_topo_take_off(net, taken, i);
        if (leaf == CONF_NO_SWITCH)
            continue;
        bitset_set(taken, i);
        bitset_set(net->switches.data[leaf].node_set, i);
    }
}

/* Each unit is preceded by a colon. */
size_t conf_topo_units_most(const struct conf *c, const char *const *placed)
{
    size_t most = 0;
    for (size_t i = 0; i < c->nodes.len; i++)
        for (const char *at = conf_topo_list_of(c, placed, i); at && (at = strchr(at, ':')); at++)
            most++;
    return most;
}

/* Only the first pair of a network counts. */
static bool is_named_before(const char *list, const char *pair, const char *network)
{
    size_t len, name = strlen(network);
    for (const char *other; (other = next_pair(&list, &len)) && other < pair;)
        if (len > name && other[name] == ':' && strncmp(other, network, name) == 0)
            return true;
    return false;
}

/* Returns the network of a pair of the list; -1: an error was reported. */
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
    if (found >= 0 && is_named_before(list, pair, name)) {
        err_set(err, -ERR_PARSE, "Topology=%s: a node has one place in topology '%s'", list, name);
        found = -1;
    }
    return found;
}

/* Checks that 'found' is below 'above', unless one of them is new. */
static int check_above(const struct conf_network *net, long above, long found, const char *list,
                       struct err *err)
{
    const struct conf_switch *s = found >= 0 ? &net->switches.data[found] : NULL;
    if (!s || above == FIRST_UNIT || (above >= 0 && s->parent == (uint32_t)above))
        return 0;
    return err_set(err, -ERR_PARSE, "Topology=%s: '%s' is not below the switch named before it",
                   list, s->name);
}

void conf_topo_check_nodes(struct conf_loader *l)
{
    vec_foreach (&l->conf->node_rows, row) {
        const char *list = row->topology ? row->topology : "";
        size_t len;
        for (const char *pair; (pair = next_pair(&list, &len));) {
            struct err err = {0};
            if (find_pair_network(l->conf, pair, len, row->topology, &err) < 0)
                conf_fault(l, conf_topo_place_of_row(row), "%s", err.text);
        }
    }
}

long conf_topo_find_unit(const struct conf_network *net, const char *name)
{
    for (size_t i = 0; i < net->switches.len; i++)
        if (strcmp(net->switches.data[i].name, name) == 0)
            return (long)i;
    return -1;
}

static int check_path(const struct conf_network *net, char *path, const char *list, struct err *err)
{
    long above = FIRST_UNIT;
    int rc = 0;
    while (path && rc == 0) {
        const char *name = strsep(&path, ":");
        long found = conf_topo_find_unit(net, name);
        rc = check_unit(net, found, name, !path, list, err);
        rc = rc == 0 ? check_above(net, above, found, list, err) : rc;
        above = found;
    }
    return rc;
}

/* Several nodes cannot share a cell. */
static int check_cell(const struct conf *c, const struct conf_network *net, char *path,
                      const char *list, size_t count, struct err *err)
{
    struct conf_torus_place place;
    int rc = conf_torus_read_place(net, path, list, &place, err);
    rc = rc == 0 ? conf_torus_check_empty(c, net, &place, list, err) : rc;
    if (rc == 0 && count > 1)
        rc = err_set(err, -ERR_PARSE, "Topology=%s: %zu nodes, a cell of a torus has one", list,
                     count);
    return rc;
}

int conf_topo_check_units(const struct conf *c, const char *units, size_t count, struct err *err)
{
    const char *list = units;
    size_t len;
    for (const char *pair; (pair = next_pair(&list, &len));) {
        long number = find_pair_network(c, pair, len, units, err);
        if (number < 0)
            return -ERR_PARSE;
        const struct conf_network *net = &c->networks.data[number];
        if (net->kind == CONF_TOPO_FLAT)
            return err_set(err, -ERR_PARSE, "Topology=%s: topology %s is flat and has no units",
                           units, net->name);
        _cleanup_free_ char *path = mem_strndup(pair, len);
        char *rest = strchr(path, ':') + 1;
        int rc = net->kind == CONF_TOPO_TORUS  ? check_cell(c, net, rest, units, count, err)
                 : net->kind == CONF_TOPO_RING ? conf_ring_check_place(net, rest, units, count, err)
                                               : check_path(net, rest, units, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}
