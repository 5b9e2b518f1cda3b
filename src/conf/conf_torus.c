/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Toruses of topology.yaml: cells in three dimensions, each with at most one node, and the shapes
 * that jobs may have. A cell whose node is not in slurm.conf is empty, so that the following nodes
 * keep their cells. Topology=NAME:TORUS:X:Y:Z of nodes moves them between cells.
 */
#include <assert.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "conf/conf_topo_file.h"

#define PLACEMENTS_MAX 64

struct box { /* a box of cells in a torus */
    uint32_t first[CONF_AXES], dims[CONF_AXES];
};

static bool has_value(const struct conf_row *row, enum conf_topo_key key)
{
    return row->value[key].text && *row->value[key].text;
}

uint32_t conf_torus_cell(const uint32_t dims[CONF_AXES], const uint32_t at[CONF_AXES])
{
    return (at[2] * dims[1] + at[1]) * dims[0] + at[0];
}

static uint64_t count_cells(const uint32_t dims[CONF_AXES])
{
    return (uint64_t)dims[0] * dims[1] * dims[2];
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Parses "4x4x2"; false: malformed, or a number out of range. */
static bool parse_axes(const char *text, char separator, long long least, uint32_t out[CONF_AXES])
{
    for (size_t i = 0; i < CONF_AXES; i++) {
        const char *end = i < CONF_AXES - 1 ? strchr(text, separator) : text + strlen(text);
        long long value;
        if (!end)
            return false;
        _cleanup_free_ char *number = mem_strndup(text, (size_t)(end - text));
        if (str_parse_i64(number, least, CONF_NODES_MAX, &value) < 0)
            return false;
        out[i] = (uint32_t)value;
        text = end + (*end != 0);
    }
    return true;
}

static int read_axes(const struct conf_row *row, enum conf_topo_key key, long long least,
                     uint32_t out[CONF_AXES], struct err *err)
{
    const struct conf_value *v = &row->value[key];
    const char *name = conf_kind_topo.keys[key].name;
    if (!has_value(row, key))
        return conf_fail(row->at, err, "expected %s=XxYxZ", name);
    if (!parse_axes(v->text, 'x', least, out))
        return conf_fail(v->at, err, "%s=%s: expected XxYxZ, each a number of at least %lld", name,
                         v->text, least);
    return 0;
}

/* --- nodes of a torus ------------------------------------------------------------------------- */

static struct hostlist *list_all(const struct conf *c)
{
    struct hostlist *list = hostlist_new();
    for (size_t i = 0; i < c->nodes.len; i++)
        hostlist_push(list, c->nodes.data[i].name);
    return list;
}

static uint32_t find_cell(const struct conf_switch *s, const struct box *b, size_t number)
{
    size_t plane = (size_t)b->dims[0] * b->dims[1];
    assert(plane); /* parse_axes() requires at least 1 */
    uint32_t at[CONF_AXES] = {b->first[0] + (uint32_t)(number % b->dims[0]),
                              b->first[1] + (uint32_t)(number % plane / b->dims[0]),
                              b->first[2] + (uint32_t)(number / plane)};
    return conf_torus_cell(s->dims, at);
}

/* The errors in the names of a list; the first name of each. */
struct slips {
    size_t unknown, twice;
    char first[HOSTLIST_NAME_MAX + 1], again[HOSTLIST_NAME_MAX + 1];
};

/* In the order of the list. */
static int fill_cells(struct conf_loader *l, struct conf_switch *s, const struct box *b,
                      const struct hostlist *list, const struct conf_value *v, struct bitset *taken,
                      struct slips *slips, struct err *err)
{
    char buf[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < hostlist_count(list); i++) {
        const char *name = hostlist_nth(list, i, buf);
        long node = conf_find_node(l->conf, name);
        uint32_t *cell = &s->order.data[find_cell(s, b, i)];
        if (node < 0) {
            if (slips->unknown++ == 0)
                memcpy(slips->first, buf, sizeof buf);
        } else if (bitset_test(taken, (size_t)node)) {
            if (slips->twice++ == 0)
                memcpy(slips->again, buf, sizeof buf);
        } else if (*cell != CONF_NO_NODE) {
            return conf_fail(v->at, err,
                             "torus %s: %s is in the cell of %s: regions may not overlap", s->name,
                             name, l->conf->nodes.data[*cell].name);
        } else {
            *cell = (uint32_t)node;
            bitset_set(taken, (size_t)node);
            bitset_set(s->node_set, (size_t)node);
        }
    }
    return 0;
}

static int map_nodes(struct conf_loader *l, struct conf_switch *s, const struct conf_value *v,
                     const struct box *b, struct bitset *taken, struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    struct err inner = {0};
    struct slips slips = {0};
    if (strcasecmp(v->text, "ALL") == 0)
        list = list_all(l->conf);
    else if (hostlist_parse(v->text, &list, &inner) < 0)
        return conf_fail(v->at, err, "nodes: %s: %s", v->text, inner.text);
    uint64_t cells = count_cells(b->dims), count = hostlist_count(list);
    if (count > cells)
        return conf_fail(v->at, err,
                         "torus %s: %" PRIu64 " nodes for %" PRIu64 " cells: leave out nodes, or "
                         "enlarge dims",
                         s->name, count, cells);
    int rc = fill_cells(l, s, b, list, v, taken, &slips, err);
    if (rc < 0)
        return rc;
    if (count < cells)
        conf_warn(l, v->at,
                  "torus %s: %" PRIu64 " nodes for %" PRIu64 " cells: the last ones are "
                  "empty",
                  s->name, count, cells);
    if (slips.unknown)
        conf_warn(l, v->at,
                  "torus %s: %zu of its nodes are not in slurm.conf, the first is %s: "
                  "their cells are empty",
                  s->name, slips.unknown, slips.first);
    if (slips.twice)
        conf_warn(l, v->at,
                  "torus %s: %zu of its nodes are in a cell already, the first is %s: "
                  "their further cells are empty",
                  s->name, slips.twice, slips.again);
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Returns the number of cells of all toruses of the network, including another one. */
static uint64_t count_all_cells(const struct conf_network *net, const uint32_t dims[CONF_AXES])
{
    uint64_t sum = count_cells(dims);
    vec_foreach (&net->switches, s)
        sum += s->order.len;
    return sum;
}

static int take_torus(struct conf_loader *l, struct conf_network *net, const struct conf_row *row,
                      struct bitset *taken, struct err *err)
{
    const struct conf_value *v = row->value;
    struct conf_switch s = {.name = v[CONF_TOPO_TORUS_NAME].text,
                            .link_speed = 1,
                            .parent = CONF_NO_SWITCH,
                            .file = row->at.file,
                            .line = row->at.line,
                            .column = row->at.column};
    int rc = conf_topo_check_name(&v[CONF_TOPO_TORUS_NAME], "TorusName", err);
    rc = rc == 0 ? read_axes(row, CONF_TOPO_DIMS, 1, s.dims, err) : rc;
    if (rc < 0)
        return rc;
    uint64_t cells = count_cells(s.dims);
    if (count_all_cells(net, s.dims) > CONF_NODES_MAX)
        return conf_fail(row->at, err,
                         "torus %s: %ux%ux%u cells, all toruses of a topology have at most %d",
                         s.name, s.dims[0], s.dims[1], s.dims[2], CONF_NODES_MAX);
    s.node_set = bitset_new(l->conf->nodes.len);
    for (uint64_t i = 0; i < cells; i++)
        vec_push(&s.order, CONF_NO_NODE);
    vec_push(&net->switches, s);
    struct box all = {.dims = {s.dims[0], s.dims[1], s.dims[2]}};
    if (!has_value(row, CONF_TOPO_NODES))
        return 0;
    return map_nodes(l, &vec_last(&net->switches), &v[CONF_TOPO_NODES], &all, taken, err);
}

static int take_region(struct conf_loader *l, struct conf_switch *s, const struct conf_row *row,
                       struct bitset *taken, struct err *err)
{
    struct box b;
    int rc = read_axes(row, CONF_TOPO_REGION, 0, b.first, err);
    rc = rc == 0 ? read_axes(row, CONF_TOPO_DIMS, 1, b.dims, err) : rc;
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < CONF_AXES; i++)
        if (b.first[i] + b.dims[i] > s->dims[i])
            return conf_fail(row->at, err,
                             "torus %s: the region ends at %c: %u, expected at most %u (anchor and "
                             "dims)",
                             s->name, "xyz"[i], b.first[i] + b.dims[i] - 1, s->dims[i] - 1);
    if (!has_value(row, CONF_TOPO_NODES))
        return conf_fail(row->at, err, "torus %s: a region without nodes:", s->name);
    return map_nodes(l, s, &row->value[CONF_TOPO_NODES], &b, taken, err);
}

static int take_placement(struct conf_switch *s, const struct conf_row *row, struct err *err)
{
    struct conf_placement p = {{0}, {0}, {0}};
    int rc = read_axes(row, CONF_TOPO_PLACEMENT, 1, p.dims, err);
    if (rc == 0 && has_value(row, CONF_TOPO_SEED))
        rc = read_axes(row, CONF_TOPO_SEED, 0, p.seed, err);
    memcpy(p.spacing, p.dims, sizeof p.spacing);
    if (rc == 0 && has_value(row, CONF_TOPO_SPACING))
        rc = read_axes(row, CONF_TOPO_SPACING, 1, p.spacing, err);
    for (size_t i = 0; i < CONF_AXES && rc == 0; i++) {
        if (p.dims[i] > s->dims[i])
            rc = conf_fail(row->at, err, "torus %s: a placement of %c: %u, expected at most %u",
                           s->name, "xyz"[i], p.dims[i], s->dims[i]);
        else if (p.seed[i] >= s->dims[i])
            rc = conf_fail(row->at, err, "torus %s: an anchor_seed of %c: %u, expected at most %u",
                           s->name, "xyz"[i], p.seed[i], s->dims[i] - 1);
    }
    if (rc == 0 && s->placements.len == PLACEMENTS_MAX)
        rc = conf_fail(row->at, err, "torus %s: more than %d placements", s->name, PLACEMENTS_MAX);
    if (rc == 0)
        vec_push(&s->placements, p);
    return rc;
}

int conf_torus_take_row(struct conf_loader *l, struct conf_network *net, const struct conf_row *row,
                        struct bitset *taken, struct err *err)
{
    if (has_value(row, CONF_TOPO_TORUS_NAME))
        return take_torus(l, net, row, taken, err);
    if (!net->switches.len)
        return conf_fail(row->at, err, "expected TorusName= before");
    struct conf_switch *s = &vec_last(&net->switches);
    return has_value(row, CONF_TOPO_REGION) ? take_region(l, s, row, taken, err)
                                            : take_placement(s, row, err);
}

void conf_torus_warn(struct conf_loader *l, const struct conf_network *net)
{
    if (net->kind != CONF_TOPO_TORUS)
        return;
    vec_foreach (&net->switches, s)
        if (!s->placements.len)
            conf_warn(l, (struct conf_place){s->file, s->line, s->column},
                      "torus %s has no placements: no job gets nodes of it", s->name);
}

/* --- Topology= of nodes ----------------------------------------------------------------------- */

void conf_torus_reset(struct conf_switch *s)
{
    vec_clear(&s->cells);
    vec_foreach (&s->order, node)
        vec_push(&s->cells, *node);
}

static uint32_t find_torus(const struct conf_network *net, const char *name)
{
    for (uint32_t i = 0; i < net->switches.len; i++)
        if (strcmp(net->switches.data[i].name, name) == 0)
            return i;
    return CONF_NO_SWITCH;
}

int conf_torus_read_place(const struct conf_network *net, char *path, const char *list,
                          struct conf_torus_place *out, struct err *err)
{
    const char *name = strsep(&path, ":");
    uint32_t number = find_torus(net, name), at[CONF_AXES];
    if (number == CONF_NO_SWITCH)
        return err_set(err, -ERR_PARSE, "Topology=%s: topology %s has no torus '%s'", list,
                       net->name, name);
    const struct conf_switch *s = &net->switches.data[number];
    if (!path || !parse_axes(path, ':', 0, at))
        return err_set(err, -ERR_PARSE, "Topology=%s: expected %s:%s:X:Y:Z", list, net->name, name);
    for (size_t i = 0; i < CONF_AXES; i++)
        if (at[i] >= s->dims[i])
            return err_set(err, -ERR_PARSE, "Topology=%s: %c is %u, expected at most %u", list,
                           "XYZ"[i], at[i], s -> dims[i] - 1);
    *out = (struct conf_torus_place){number, conf_torus_cell(s->dims, at)};
    return 0;
}

int conf_torus_check_empty(const struct conf *c, const struct conf_network *net,
                           const struct conf_torus_place *place, const char *list, struct err *err)
{
    uint32_t node = net->switches.data[place->torus].cells.data[place->cell];
    if (node == CONF_NO_NODE)
        return 0;
    return err_set(err, -ERR_PARSE, "Topology=%s: node %s is in that cell", list,
                   c->nodes.data[node].name);
}

static struct conf_place find_node_place(const struct conf *c, size_t node)
{
    const struct conf_node_row *row = &c->node_rows.data[c->nodes.data[node].row];
    return (struct conf_place){row->file, row->line};
}

/* Returns the cells of nodes as in the file. */
static uint32_t *list_cells(const struct conf_network *net, size_t nodes)
{
    uint32_t *cell = mem_new_array(uint32_t, nodes + 1);
    vec_foreach (&net->switches, s)
        for (uint32_t i = 0; i < s->order.len; i++)
            if (s->order.data[i] != CONF_NO_NODE)
                cell[s->order.data[i]] = i;
    return cell;
}

static void remove_node(struct conf_network *net, struct bitset *taken, size_t node, uint32_t cell)
{
    if (!bitset_test(taken, node))
        return;
    struct conf_switch *s = &net->switches.data[net->file_leaf[node]];
    bitset_unset(taken, node);
    bitset_unset(s->node_set, node);
    s->cells.data[cell] = CONF_NO_NODE;
}

static void put_torus_node(struct conf_network *net, const struct conf_torus_place *place,
                           struct bitset *taken, size_t node)
{
    struct conf_switch *s = &net->switches.data[place->torus];
    bitset_set(taken, node);
    bitset_set(s->node_set, node);
    s->cells.data[place->cell] = (uint32_t)node;
}

/* All nodes leave their cells before any enters another cell, because nodes may swap. */
void conf_torus_move_nodes(struct conf_loader *l, struct conf_network *net,
                           const char *const *placed, struct bitset *taken)
{
    const struct conf *c = l->conf;
    struct conf_torus_place *to = mem_new_array(struct conf_torus_place, c->nodes.len + 1);
    _cleanup_free_ uint32_t *cell = list_cells(net, c->nodes.len);
    for (size_t i = 0; i < c->nodes.len; i++) {
        const char *list = conf_topo_list_of(c, placed, i);
        char *path = list ? conf_topo_path_in(l, list, net->name) : NULL;
        struct err err = {0};
        to[i].torus = CONF_NO_SWITCH;
        if (path && conf_torus_read_place(net, path, list, &to[i], &err) < 0)
            conf_fault(l, find_node_place(c, i), "%s", err.text);
        else if (list)
            remove_node(net, taken, i, cell[i]);
    }
    for (size_t i = 0; i < c->nodes.len; i++) {
        struct err err = {0};
        if (to[i].torus == CONF_NO_SWITCH)
            continue;
        if (conf_torus_check_empty(c, net, &to[i], conf_topo_list_of(c, placed, i), &err) < 0)
            conf_fault(l, find_node_place(c, i), "%s", err.text);
        else
            put_torus_node(net, &to[i], taken, i);
    }
    free(to);
}
