/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of a plan's jobs beyond their size: devices, a layout, features, switches, deadlines,
 * and in a network of toruses node counts that are sizes of placements.
 */
#include <assert.h>

#include "sim/plan/draw.h"

#define SIZES_MOST 32 /* number of placement sizes to choose from */

struct sizes {
    int64_t of[SIZES_MOST];
    int64_t count;
};

static void draw_placement(struct draw *d, const int64_t dims[3], struct sizes *sizes)
{
    int64_t shape[3], seed[3], step[3], size = 1;
    for (int i = 0; i < 3; i++) {
        shape[i] = draw_between(d, 1, dims[i]);
        seed[i] = draw_between(d, 0, dims[i] - 1);
        step[i] = draw_between(d, 1, 2);
        size *= shape[i];
    }
    bool custom = draw_chance(d, 50);
    struct sim_item *line = add_item(d, SIM_ITEM_CONF);
    PUT(line->text, "TopologyConf=1;Placement=%lldx%lldx%lld", (long long)shape[0],
        (long long)shape[1], (long long)shape[2]);
    if (custom)
        PUT(line->text, ";AnchorSeed=%lldx%lldx%lld;AnchorSpacing=%lldx%lldx%lld",
            (long long)seed[0], (long long)seed[1], (long long)seed[2], (long long)step[0],
            (long long)step[1], (long long)step[2]);
    if (sizes->count < SIZES_MOST)
        sizes->of[sizes->count++] = size;
}

/* Lays out a torus from the first node on; returns the number of its nodes. */
static int64_t draw_torus(struct draw *d, int64_t number, int64_t first, struct sizes *sizes)
{
    int64_t left = d->nodes - first + 1, dims[3], cells;
    dims[0] = draw_between(d, 1, left < 4 ? left : 4);
    dims[1] = draw_between(d, 1, left / dims[0] < 3 ? left / dims[0] : 3);
    dims[2] = draw_between(d, 1, left / dims[0] / dims[1] < 2 ? left / dims[0] / dims[1] : 2);
    cells = dims[0] * dims[1] * dims[2];
    add_conf(d, "TopologyConf=1;TorusName=t%lld;Dims=%lldx%lldx%lld;Nodes=n[%lld-%lld]",
             (long long)number, (long long)dims[0], (long long)dims[1], (long long)dims[2],
             (long long)first, (long long)(first + cells - 1));
    if (draw_chance(d, 80)) {
        add_conf(d, "TopologyConf=1;Placement=1x1x1");
        if (sizes->count < SIZES_MOST)
            sizes->of[sizes->count++] = 1;
    }
    for (int64_t i = draw_between(d, 1, 3); i > 0; i--)
        draw_placement(d, dims, sizes);
    return cells;
}

static void draw_toruses(struct draw *d)
{
    struct sizes sizes = {0};
    int64_t number = 0;
    add_conf(d, "TopologyConf=net:torus3d:default");
    for (int64_t first = 1; first <= d->nodes;)
        first += draw_torus(d, ++number, first, &sizes);
    assert(sizes.count > 0); /* there is a node, and each torus has a placement */
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || draw_chance(d, 15))
            continue;
        j->min_nodes = sizes.of[draw_between(d, 0, sizes.count - 1)];
        j->max_nodes = draw_chance(d, 20) ? j->min_nodes + draw_between(d, 0, 4) : 0;
        if (j->tasks && j->tasks < j->min_nodes)
            j->tasks = j->min_nodes;
    }
}

static bool some_node_has(const struct draw *d, const char *word)
{
    vec_foreach (&d->plan->items, i)
        if (i->kind == SIM_ITEM_NODE && (strstr(i->features, word) || strstr(i->gres, word)))
            return true;
    return false;
}

/* Drops devices that no node has: such requests are rejected, and most requests should be accepted.
 */
static void drop_unknown(struct draw *d, char *wish)
{
    static const char *const words[] = {"gpu", "gpu:a", "gpu:b", "nic"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(wish, words[i]) && !some_node_has(d, words[i]) && draw_chance(d, 95))
            wish[0] = 0;
}

static void draw_gres(struct draw *d)
{
    if (!draw_chance(d, 30))
        return;
    add_conf(d, "GresTypes=gpu,nic");
    vec_foreach (&d->plan->items, i) {
        if (i->kind == SIM_ITEM_NODE && draw_chance(d, 70))
            PUT(i->gres, "%s", WORD(d, "gpu:2", "gpu:a:2,gpu:b:2", "gpu:1,nic:4", "gpu:b:3"));
        if (i->kind != SIM_ITEM_JOB || !draw_chance(d, 20))
            continue;
        if (draw_chance(d, 50))
            PUT(i->gres, "%s", WORD(d, "gpu:1", "gpu:2", "gpu:a:1", "gpu:b:1,gpu:a:1", "nic:2"));
        else if (draw_chance(d, 60))
            PUT(i->gpus, "%s", WORD(d, "gpu:1", "gpu:2", "gpu:3", "gpu:a:1,gpu:b:1", "gpu:b:4"));
        else
            PUT(i->task_gres, "%s", WORD(d, "gpu:1", "gpu:a:1", "nic:1"));
    }
    vec_foreach (&d->plan->items, j)
        if (j->kind == SIM_ITEM_JOB) {
            drop_unknown(d, j->gres);
            drop_unknown(d, j->gpus);
            drop_unknown(d, j->task_gres);
        }
}

/* Shards of the GPUs of some nodes. */
static void draw_parts(struct draw *d)
{
    if (!some_node_has(d, "gpu") || !draw_chance(d, 40))
        return;
    vec_foreach (&d->plan->items, i) {
        if (i->kind == SIM_ITEM_CONF && strcmp(i->text, "GresTypes=gpu,nic") == 0)
            PUT(i->text, "GresTypes=gpu,nic,shard");
        if (i->kind == SIM_ITEM_NODE && strstr(i->gres, "gpu") && draw_chance(d, 70)) {
            size_t len = strlen(i->gres);
            snprintf(i->gres + len, sizeof i->gres - len, ",shard:%s", WORD(d, "8", "7", "9"));
        }
    }
    if (!some_node_has(d, "shard"))
        return;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || *j->gres || *j->gpus || *j->task_gres || !draw_chance(d, 40))
            continue;
        if (draw_chance(d, 80))
            PUT(j->gres, "%s", WORD(d, "shard:1", "shard:2", "shard:3", "shard:2,nic:1"));
        else
            PUT(j->task_gres, "%s", WORD(d, "shard:1", "shard:2"));
    }
}

/* The layout of tasks on sockets and cores. */
static void draw_layout(struct draw *d)
{
    if (!draw_chance(d, 40))
        return;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || !draw_chance(d, 15))
            continue;
        int64_t *const members[] = {&j->node_tasks,     &j->socket_tasks, &j->core_tasks,
                                    &j->threads_wanted, &j->min_cpus,     &j->sockets_wanted,
                                    &j->cores_wanted,   &j->core_spec};
        int64_t which = draw_between(d, 0, 7);
        *members[which] = which < 5 ? draw_skewed(d, 1, 4) : draw_skewed(d, 1, 2);
    }
}

static void draw_constraints(struct draw *d)
{
    if (!draw_chance(d, 60) || !some_node_has(d, "red") || !some_node_has(d, "blue"))
        return;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || !draw_chance(d, 15))
            continue;
        j->features[0] = 0;
        if (draw_chance(d, 70))
            PUT(j->features, "%s",
                WORD(d, "red&blue", "red|blue", "(red|blue)&red", "[red|blue]", "red*1", "red*2",
                     "[red*1&blue*1]", "[red*2&blue*1]"));
        if (draw_chance(d, 40))
            PUT(j->prefer, "%s", WORD(d, "red", "blue", "red&blue"));
    }
}

/* A tree of two levels that contains all nodes. */
static void draw_network(struct draw *d)
{
    if (d->toruses)
        draw_toruses(d);
    if (d->toruses || d->files_differ || d->first_dynamic || d->nodes < 2 || !draw_chance(d, 25))
        return;
    int64_t each = draw_between(d, 1, 4), leaf = 0;
    add_conf(d, "TopologyPlugin=topology/tree");
    for (int64_t first = 1; first <= d->nodes; first += each) {
        int64_t last = first + each - 1 < d->nodes ? first + each - 1 : d->nodes;
        add_conf(d, "TopologyConf=1;SwitchName=s%lld;Nodes=n[%lld-%lld]", (long long)++leaf,
                 (long long)first, (long long)last);
    }
    add_conf(d, "TopologyConf=1;SwitchName=top;Switches=s[1-%lld]", (long long)leaf);
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB || !draw_chance(d, 40))
            continue;
        j->switches = draw_skewed(d, 1, 3);
        j->switch_wait_sec = draw_chance(d, 60) ? draw_skewed(d, 1, 120) : 0;
    }
}

/* Jobs that use their leaf switches exclusively. */
void sim_draw_leaves(struct draw *d)
{
    bool tree = false;
    vec_foreach (&d->plan->items, i)
        tree = tree || (i->kind == SIM_ITEM_CONF && strstr(i->text, "SwitchName=top"));
    if (!tree || !draw_chance(d, 50))
        return;
    unsigned share = (unsigned)ONE_OF(d, 10, 50);
    vec_foreach (&d->plan->items, j)
        if (j->kind == SIM_ITEM_JOB && draw_chance(d, share))
            j->topo_alone = j->exclusive = 1;
}

static void draw_users_and_ends(struct draw *d)
{
    int64_t alone = draw_chance(d, 25) ? ONE_OF(d, 5, 30) : 0;
    int64_t ends = draw_chance(d, 25) ? ONE_OF(d, 5, 40) : 0;
    vec_foreach (&d->plan->items, j) {
        if (j->kind != SIM_ITEM_JOB)
            continue;
        j->user_alone = draw_chance(d, (unsigned)alone);
        if (draw_chance(d, (unsigned)ends))
            j->deadline_sec = j->limit_sec + draw_skewed(d, 1, 600);
    }
}

void sim_draw_wishes(struct draw *d)
{
    draw_gres(d);
    draw_layout(d);
    draw_constraints(d);
    draw_network(d);
    draw_users_and_ends(d);
    draw_parts(d);
}
