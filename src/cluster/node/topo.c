/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/node/topo.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

struct builder {
    struct topo *t;
    const struct conf_network *net;
    uint32_t *child, *next; /* by switch: its first child, its next sibling */
};

static void put_topo_node(struct topo *t, uint32_t node)
{
    t->leaf[node] = t->leaves;
    t->nodes[t->first[t->leaves + 1]++] = node;
}

/* Begins a leaf at the end of the last one. */
static void open_leaf(struct topo *t)
{
    t->first[t->leaves + 1] = t->first[t->leaves];
}

static void add_switch(struct topo *t, uint32_t from, uint32_t level, uint32_t first, bool root)
{
    vec_push(&t->switches, ((struct topo_switch){from, level, first, t->leaves, root}));
    t->roots += root;
}

static void add_leaf(struct builder *b, uint32_t number, bool root)
{
    struct topo *t = b->t;
    open_leaf(t);
    const struct conf_switch *s = &b->net->switches.data[number];
    if (b->net->kind == CONF_TOPO_RING) {
        vec_foreach (&s->cells, i)
            put_topo_node(t, *i);
    } else if (b->net->kind == CONF_TOPO_TORUS) {
        vec_push(&t->toruses, ((struct topo_torus){t->leaves, s}));
        vec_foreach (&s->cells, i)
            if (*i != CONF_NO_NODE)
                put_topo_node(t, *i);
    } else {
        bitset_foreach (s->node_set, i)
            put_topo_node(t, (uint32_t)i);
    }
    t->leaves++;
    add_switch(t, number, 0, t->leaves - 1, root);
}

/* Recursion is limited to CONF_SWITCH_LEVELS_MAX. */
static void add_tree(struct builder *b, uint32_t number, bool root)
{
    const struct conf_switch *s = &b->net->switches.data[number];
    uint32_t first = b->t->leaves;
    if (!s->switches) {
        add_leaf(b, number, root);
        return;
    }
    for (uint32_t c = b->child[number]; c != CONF_NO_SWITCH; c = b->next[c])
        add_tree(b, c, false);
    add_switch(b->t, number, s->level, first, root);
}

static void build_trees(struct builder *b)
{
    uint32_t count = (uint32_t)b->net->switches.len;
    b->child = mem_new_array(uint32_t, count + 1);
    b->next = mem_new_array(uint32_t, count + 1);
    for (uint32_t i = 0; i < count; i++)
        b->child[i] = b->next[i] = CONF_NO_SWITCH;
    for (uint32_t i = count; i-- > 0;) { /* children in the order of the file */
        uint32_t up = b->net->switches.data[i].parent;
        if (up == CONF_NO_SWITCH)
            continue;
        b->next[i] = b->child[up];
        b->child[up] = i;
    }
    for (uint32_t i = 0; i < count; i++)
        if (b->net->switches.data[i].parent == CONF_NO_SWITCH)
            add_tree(b, i, true);
    free(b->child);
    free(b->next);
}

/* Adds blocks, blocks of consecutive blocks, and the whole. */
static void build_blocks(struct builder *b)
{
    struct topo *t = b->t;
    uint32_t blocks = (uint32_t)b->net->switches.len, level = 1;
    for (uint32_t i = 0; i < blocks; i++)
        add_leaf(b, i, blocks == 1);
    for (; level < b->net->block_sizes.len; level++) {
        uint32_t times = b->net->block_sizes.data[level] / b->net->block_sizes.data[0];
        for (uint32_t first = 0; first < blocks && times < blocks; first += times) {
            add_switch(t, CONF_NO_SWITCH, level, first, false);
            struct topo_switch *s = &vec_last(&t->switches);
            s->end = blocks - first < times ? blocks : first + times;
        }
    }
    if (blocks > 1)
        add_switch(t, CONF_NO_SWITCH, level, 0, true);
}

/* Orders by level, and leaves by number, which is the order of the file. */
static int by_level(const void *a, const void *b)
{
    const struct topo_switch *x = a, *y = b;
    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

struct topo *topo_new(const struct conf *conf, const struct conf_network *net)
{
    if (net->kind == CONF_TOPO_FLAT)
        return NULL;
    size_t nodes = conf->nodes.len;
    struct topo *t = mem_new(struct topo);
    struct builder b = {.t = t, .net = net};
    t->net = net;
    t->leaf = mem_new_array(uint32_t, nodes + 1);
    t->nodes = mem_new_array(uint32_t, nodes + 1);
    t->first = mem_new_array(uint32_t, net->switches.len + nodes + 2);
    for (size_t i = 0; i < nodes; i++)
        t->leaf[i] = CONF_NO_SWITCH;
    if (net->kind == CONF_TOPO_BLOCK)
        build_blocks(&b);
    else
        build_trees(&b);
    for (uint32_t i = 0; i < nodes; i++) {
        if (t->leaf[i] != CONF_NO_SWITCH)
            continue;
        open_leaf(t);
        put_topo_node(t, i);
        t->leaves++;
        add_switch(t, CONF_NO_SWITCH, 0, t->leaves - 1, true);
    }
    qsort(t->switches.data, t->switches.len, sizeof(*t->switches.data), by_level);
    return t;
}

void topo_free(struct topo *t)
{
    if (!t)
        return;
    free(t->leaf);
    free(t->nodes);
    free(t->first);
    vec_done(&t->switches);
    vec_done(&t->toruses);
    free(t);
}
