/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/admin/node_ring.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"

struct ring_order {
    char *network, *ring;
    VEC(char *) nodes; /* names */
};

struct node_rings {
    VEC(struct ring_order) list;
};

static void copy_order(const struct conf *c, const struct conf_network *net,
                       const struct conf_switch *s, struct node_rings *out)
{
    struct ring_order order = {.network = mem_strdup(net->name), .ring = mem_strdup(s->name)};
    vec_foreach (&s->cells, node)
        vec_push(&order.nodes, mem_strdup(c->nodes.data[*node].name));
    vec_push(&out->list, order);
}

struct node_rings *node_ring_take(const struct conf *c)
{
    struct node_rings *orders = mem_new(struct node_rings);
    vec_foreach (&c->networks, net)
        for (size_t i = 0; net->kind == CONF_TOPO_RING && i < net->switches.len; i++)
            copy_order(c, net, &net->switches.data[i], orders);
    return orders;
}

void node_ring_free(struct node_rings *orders)
{
    vec_foreach (&orders->list, order) {
        vec_foreach (&order->nodes, name)
            free(*name);
        vec_done(&order->nodes);
        free(order->network);
        free(order->ring);
    }
    vec_done(&orders->list);
    free(orders);
}

static const struct ring_order *find_order(const struct node_rings *orders, const char *network,
                                           const char *ring)
{
    vec_foreach (&orders->list, order)
        if (str_eq(order->network, network) && str_eq(order->ring, ring))
            return order;
    return NULL;
}

struct ring_nodes {
    VEC(uint32_t) list;
};

static bool has_ring_node(const struct ring_nodes *nodes, uint32_t node)
{
    vec_foreach (&nodes->list, n)
        if (*n == node)
            return true;
    return false;
}

static void insert_node(struct ring_nodes *nodes, size_t at, uint32_t node)
{
    at = at < nodes->list.len ? at : nodes->list.len;
    vec_push(&nodes->list, node);
    for (size_t i = nodes->list.len - 1; i > at; i--)
        nodes->list.data[i] = nodes->list.data[i - 1];
    nodes->list.data[at] = node;
}

static void add_nodes_that_stay(const struct ring_order *before, const struct cluster *c,
                                const struct conf_switch *s, const struct bitset *moved,
                                struct ring_nodes *out)
{
    if (!before)
        return;
    vec_foreach (&before->nodes, name) {
        const struct node *n = cluster_find_node(c, *name);
        bool is_moved = n && moved && bitset_test(moved, n->index);
        if (n && !is_moved && bitset_test(s->node_set, n->index))
            vec_push(&out->list, n->index);
    }
}

/* The cells already have the nodes of the same position in their order. */
static void insert_others(const struct cluster *c, const struct conf_network *net,
                          const struct conf_switch *s, struct ring_nodes *nodes)
{
    uint32_t position, last = UINT32_MAX, same = 0;
    for (uint32_t wanted = 0; wanted < CONF_RING_NODES_MAX; wanted++)
        vec_foreach (&s->cells, node) {
            const char *list = node_topology(c->nodes.data[*node]);
            if (has_ring_node(nodes, *node) || !list ||
                !conf_ring_find_position(net, list, &position) || position != wanted)
                continue;
            same = position == last ? same + 1 : 0;
            last = position;
            insert_node(nodes, position + same, *node);
        }
}

static bool is_in_order(const struct conf_switch *s, const struct ring_nodes *wanted)
{
    bool same = s->cells.len == wanted->list.len;
    for (size_t i = 0; same && i < wanted->list.len; i++)
        same = s->cells.data[i] == wanted->list.data[i];
    return same;
}

static void renumber_nodes(struct cluster *c, const struct conf_network *net,
                           const struct ring_nodes *wanted, struct bitset *changed)
{
    for (uint32_t i = 0; i < wanted->list.len; i++) {
        struct node *n = c->nodes.data[wanted->list.data[i]];
        const char *list = node_topology(n);
        uint32_t position;
        if (!list || !conf_ring_find_position(net, list, &position) || position == i)
            continue;
        char *next = conf_ring_set_position(net, list, i);
        free(n->topology);
        n->topology = next;
        bitset_set(changed, n->index);
    }
}

static void keep_order(const struct node_rings *before, struct cluster *c,
                       const struct conf_network *net, const struct conf_switch *s,
                       const struct bitset *moved, struct bitset *changed)
{
    struct ring_nodes wanted = {0};
    add_nodes_that_stay(find_order(before, net->name, s->name), c, s, moved, &wanted);
    insert_others(c, net, s, &wanted);
    if (!is_in_order(s, &wanted))
        renumber_nodes(c, net, &wanted, changed);
    vec_done(&wanted.list);
}

void node_ring_keep(const struct node_rings *before, struct cluster *cluster, struct conf *conf,
                    const struct bitset *moved, struct bitset *changed)
{
    vec_foreach (&conf->networks, net)
        for (size_t i = 0; net->kind == CONF_TOPO_RING && i < net->switches.len; i++)
            keep_order(before, cluster, net, &net->switches.data[i], moved, changed);
    /* Cannot fail: positions in rings change, and only levels of switches are limited. */
    if (bitset_count(changed))
        (void)cluster_place_nodes(cluster, conf, NULL);
}
