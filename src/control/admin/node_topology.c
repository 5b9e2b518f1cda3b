/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/admin/node_topology.h"

#include "control/core/log.h"
#include "control/internal.h"
#include "control/life/start.h"

/* Tasks find where they are in their environment; a unit that nodes name may be added or gone. */
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

/* topologies: by node of the set; owned by the nodes from then on. */
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

/* Checked while the nodes are nowhere: what they alone have added is no obstacle. */
static int place_nodes(struct control *c, const struct bitset *set, const char *topology,
                       struct err *err)
{
    _cleanup_free_ char **none = copy_topology(set, ""), **next = copy_topology(set, topology);
    set_topologies(c, set, none);
    int rc = cluster_place_nodes(c->cluster, c->conf, err);
    rc = rc == 0 ? conf_topo_check_units(c->conf, topology, err) : rc;
    set_topologies(c, set, next);
    return rc == 0 ? cluster_place_nodes(c->cluster, c->conf, err) : rc;
}

int node_topology_update(struct control *c, const struct bitset *set, const char *topology,
                         struct err *err)
{
    start_drop_plan(c);
    plan_notes_clear(&c->plan_notes);
    _cleanup_free_ char **before = take_topologies(c, set);
    int rc = place_nodes(c, set, topology, err);
    if (rc) {
        set_topologies(c, set, before);
        (void)cluster_place_nodes(c->cluster, c->conf, NULL);
        return rc;
    }
    for (size_t i = 0; i < bitset_count(set); i++)
        free(before[i]);
    return 0;
}
