/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/admin/node_topology.h"

#include <string.h>

#include "base/mem.h"
#include "base/words.h"
#include "control/admin/node_ring.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/life/start.h"

/* The environment of tasks has their place; a unit that nodes name may be added or removed. */
void node_topology_tell(struct control *c, bool all)
{
    bool is_flat = true;
    vec_foreach (&c->conf->networks, net)
        is_flat = is_flat && net->kind == CONF_TOPO_FLAT;
    if (is_flat)
        return;
    vec_foreach (&c->cluster->nodes, n)
        if ((*n)->connected && (all || node_topology(*n)))
            c->env->welcome(c->env->ctx, (*n)->name, c->epoch);
}

static size_t count_name(struct word_of_list w)
{
    const char *colon = memchr(w.at, ':', w.len);
    return colon ? (size_t)(colon - w.at) : w.len;
}

/* Reports values that scontrol has set for a node and that have another meaning in a topology of
 * another kind. */
static void report_new_kinds(struct control *c, const struct conf *old, const struct node *n,
                             struct str *report)
{
    const char *list = n->topology ? n->topology : n->row->is_added ? n->row->topology : NULL;
    words_foreach (list, w) {
        _cleanup_free_ char *name = mem_strndup(w.at, count_name(w));
        long before = conf_find_network(old, name), now = conf_find_network(c->conf, name);
        if (before < 0 || now < 0 ||
            old->networks.data[before].kind == c->conf->networks.data[now].kind)
            continue;
        _cleanup_free_ char *text =
            mem_printf("node %s: Topology=%s was set before topology %s changed its kind: set it "
                       "again by 'scontrol update NodeName=%s Topology=...'",
                       n->name, list, name, n->name);
        control_log(c, LOG_LVL_ERROR, "%s", text);
        if (report)
            str_printf(report, "%s\n", text);
    }
}

void node_topology_settle(struct control *c, struct cluster *cluster, struct conf *conf)
{
    struct err err = {0};
    bool is_set = false;
    vec_foreach (&cluster->nodes, n)
        is_set = is_set || (*n)->topology;
    if (is_set && cluster_place_nodes(cluster, conf, &err) != 0)
        control_log(c, LOG_LVL_ERROR, "Topology= of nodes set by scontrol has no effect: %s",
                    err.text);
}

static void keep_rings(struct control *c, const struct node_rings *before, struct conf *conf,
                       const struct bitset *moved)
{
    _cleanup_bitset_ struct bitset *changed = bitset_new(c->cluster->nodes.len);
    node_ring_keep(before, c->cluster, conf, moved, changed);
    bitset_foreach (changed, i)
        record_put_node(c, c->cluster->nodes.data[i]);
}

void node_topology_carry(struct control *c, const struct conf *old, bool for_node,
                         struct str *report)
{
    vec_foreach (&c->cluster->nodes, n)
        report_new_kinds(c, old, *n, report);
    if (!for_node)
        return;
    struct node_rings *before = node_ring_take(old);
    keep_rings(c, before, c->conf, NULL);
    node_ring_free(before);
}

/* topologies: by node of the set; the nodes own them afterwards. */
static void set_topologies(struct control *c, const struct bitset *set, char **topologies)
{
    size_t at = 0;
    bitset_foreach (set, i) {
        struct node *n = c->cluster->nodes.data[i];
        free(n->topology);
        n->topology = topologies[at++];
    }
}

static char **copy_topology(const struct bitset *set, const char *topology)
{
    size_t count = bitset_count(set);
    char **all = mem_new_array(char *, count + 1);
    for (size_t i = 0; i < count; i++)
        all[i] = mem_strdup(topology);
    return all;
}

static char **take_topologies(struct control *c, const struct bitset *set)
{
    size_t at = 0;
    char **all = mem_new_array(char *, bitset_count(set) + 1);
    bitset_foreach (set, i)
        all[at++] = take_ptr(c->cluster->nodes.data[i]->topology);
    return all;
}

/* Checks while the nodes are in no unit: units that only these nodes have added do not matter. */
static int place_nodes(struct control *c, const struct bitset *set, const char *topology,
                       struct err *err)
{
    _cleanup_free_ char **none = copy_topology(set, ""), **next = copy_topology(set, topology);
    set_topologies(c, set, none);
    int rc = cluster_place_nodes(c->cluster, c->conf, err);
    rc = rc == 0 ? conf_topo_check_units(c->conf, topology, bitset_count(set), err) : rc;
    set_topologies(c, set, next);
    return rc == 0 ? cluster_place_nodes(c->cluster, c->conf, err) : rc;
}

int node_topology_update(struct control *c, const struct bitset *set, const char *topology,
                         struct err *err)
{
    start_drop_plan(c);
    plan_notes_clear(&c->plan_notes);
    struct node_rings *orders = node_ring_take(c->conf);
    _cleanup_free_ char **before = take_topologies(c, set);
    int rc = place_nodes(c, set, topology, err);
    if (rc == 0)
        keep_rings(c, orders, c->conf, set);
    node_ring_free(orders);
    if (rc) {
        set_topologies(c, set, before);
        (void)cluster_place_nodes(c->cluster, c->conf, NULL);
        return rc;
    }
    for (size_t i = 0; i < bitset_count(set); i++)
        free(before[i]);
    return 0;
}
