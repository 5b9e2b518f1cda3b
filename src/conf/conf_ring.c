/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Topology=NAME:RING:POSITION of nodes. A node is inserted into the ring at that position, or
 * starts a new ring. Nodes are inserted in the order of their positions, so that nodes at 4 and 5
 * of a ring of four nodes become its last two, in whatever order they are configured. Nodes with
 * the same position follow each other.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/words.h"
#include "conf/conf_topo_file.h"

struct ring_place {
    const char *name; /* of the ring */
    uint32_t position;
};

/* Parses a path RING:POSITION, and modifies it. */
static int read_place(char *path, const char *list, struct ring_place *out, struct err *err)
{
    char *colon = strchr(path, ':');
    long long position = 0;
    if (colon)
        *colon = '\0';
    if (!*path || path[strcspn(path, "[]= ")])
        return err_set(err, -ERR_PARSE, "Topology=%s: '%s' is not a name of a ring", list, path);
    bool is_number = colon && colon[1] >= '0' && colon[1] <= '9'; /* without a sign */
    if (!is_number || str_parse_i64(colon + 1, 0, CONF_RING_NODES_MAX - 1, &position) != 0)
        return err_set(err, -ERR_PARSE,
                       "Topology=%s: a position from 0 to %d is expected behind ring '%s', as in "
                       "TOPOLOGY:RING:0",
                       list, CONF_RING_NODES_MAX - 1, path);
    *out = (struct ring_place){path, (uint32_t)position};
    return 0;
}

int conf_ring_check_place(const struct conf_network *net, char *path, const char *list,
                          size_t count, struct err *err)
{
    struct ring_place place;
    int rc = read_place(path, list, &place, err);
    if (rc != 0)
        return rc;
    long found = conf_topo_find_unit(net, place.name);
    size_t has = found < 0 ? 0 : net->switches.data[found].cells.len;
    if (found < 0 && place.position > 0)
        return err_set(err, -ERR_PARSE, "Topology=%s: ring '%s' is new: its first position is 0",
                       list, place.name);
    if (place.position > has)
        return err_set(err, -ERR_PARSE,
                       "Topology=%s: ring '%s' has %zu nodes: use a position up "
                       "to %zu",
                       list, place.name, has, has);
    if (has + count > CONF_RING_NODES_MAX)
        return err_set(err, -ERR_PARSE,
                       "Topology=%s: ring '%s' would have %zu nodes, a ring has "
                       "at most %d",
                       list, place.name, has + count, CONF_RING_NODES_MAX);
    return 0;
}

struct placement {
    uint32_t ring, position, node;
};

struct placements {
    VEC(struct placement) list;
};

static int compare_placements(const void *a, const void *b)
{
    const struct placement *x = a, *y = b;
    if (x->ring != y->ring)
        return x->ring < y->ring ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Collects the positions in Topology= values, and removes these nodes from their places in the
   file. */
static void collect_placements(struct conf_loader *l, struct conf_network *net,
                               const char *const *placed, struct conf_index *index,
                               struct bitset *taken, struct placements *out)
{
    size_t reported = 0;
    for (size_t i = 0; i < l->conf->nodes.len; i++) {
        const struct conf_node_row *row = &l->conf->node_rows.data[l->conf->nodes.data[i].row];
        const char *list = conf_topo_list_of(l->conf, placed, i);
        char *path = list ? conf_topo_path_in(l, list, net->name) : NULL;
        struct ring_place place = {0};
        struct err err = {0};
        bool good = path && read_place(path, list, &place, &err) == 0;
        if (path && !good)
            reported = conf_topo_tell_bad_list(l, placed, i, reported, &err);
        if (list && (good || !path))
            conf_topo_take_off(net, taken, i);
        if (!good)
            continue;
        long found =
            conf_index_find(index, net->switches.data, sizeof(struct conf_switch), place.name);
        uint32_t ring =
            found < 0 ? conf_topo_add_unit(l, net, index, place.name, row) : (uint32_t)found;
        vec_push(&out->list, ((struct placement){ring, place.position, (uint32_t)i}));
    }
}

static void leave_out_moved(struct conf_switch *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->cells.len; i++)
        if (bitset_test(s->node_set, s->cells.data[i]))
            s->cells.data[kept++] = s->cells.data[i];
    s->cells.len = kept;
}

static void insert_node(struct conf_switch *s, size_t at, uint32_t node)
{
    vec_push(&s->cells, node);
    for (size_t i = s->cells.len - 1; i > at; i--)
        s->cells.data[i] = s->cells.data[i - 1];
    s->cells.data[at] = node;
    bitset_set(s->node_set, node);
}

void conf_ring_move_nodes(struct conf_loader *l, struct conf_network *net,
                          const char *const *placed, struct conf_index *index, struct bitset *taken)
{
    struct placements places = {0};
    size_t before = 0; /* number of nodes with the same ring and position */
    collect_placements(l, net, placed, index, taken, &places);
    vec_foreach (&net->switches, s)
        leave_out_moved(s);
    if (places.list.len)
        qsort(places.list.data, places.list.len, sizeof(*places.list.data), compare_placements);
    for (size_t i = 0; i < places.list.len; i++) {
        const struct placement *p = &places.list.data[i];
        struct conf_switch *s = &net->switches.data[p->ring];
        before = i && p[-1].ring == p->ring && p[-1].position == p->position ? before + 1 : 0;
        if (s->cells.len >= CONF_RING_NODES_MAX) {
            const struct conf_node *node = &l->conf->nodes.data[p->node];
            conf_fault(l, conf_topo_place_of_row(&l->conf->node_rows.data[node->row]),
                       "Topology of node %s: ring %s has %d nodes already, and a ring has no more",
                       node->name, s->name, CONF_RING_NODES_MAX);
            continue;
        }
        size_t at = p->position + before;
        insert_node(s, at < s->cells.len ? at : s->cells.len, p->node);
        bitset_set(taken, p->node);
    }
    vec_done(&places.list);
}

/* Returns the digits of its position in the list; NULL: the list names no ring of the network. */
static const char *find_digits(const struct conf_network *net, const char *list, size_t *len)
{
    size_t name = strlen(net->name);
    words_foreach (list, w) {
        if (w.len <= name || w.at[name] != ':' || strncmp(w.at, net->name, name) != 0)
            continue;
        *len = 0;
        while (w.at[w.len - 1 - *len] != ':')
            ++*len;
        return w.at + w.len - *len;
    }
    return NULL;
}

bool conf_ring_find_position(const struct conf_network *net, const char *list, uint32_t *position)
{
    size_t len;
    const char *digits = find_digits(net, list, &len);
    _cleanup_free_ char *text = mem_strndup(digits, digits ? len : 0);
    long long number = 0;
    if (!digits || str_parse_i64(text, 0, CONF_RING_NODES_MAX - 1, &number) != 0)
        return false;
    *position = (uint32_t)number;
    return true;
}

char *conf_ring_set_position(const struct conf_network *net, const char *list, uint32_t position)
{
    size_t len = 0;
    const char *digits = find_digits(net, list, &len);
    return digits ? mem_printf("%.*s%u%s", (int)(digits - list), list, (unsigned)position,
                               digits + len)
                  : mem_strdup(list);
}
