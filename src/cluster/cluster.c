/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster.h"
#include "cluster/job/park.h"
#include "cluster/node/topo.h"
#include "cluster/resource/spec.h"

static struct node *node_new(struct cluster *c, uint32_t index)
{
    struct node *n = mem_new(struct node);
    n->index = index;
    n->conf = &c->conf->nodes.data[index];
    n->row = &c->conf->node_rows.data[n->conf->row];
    n->name = n->conf->name;
    n->weight = n->row->weight;
    n->down = n->row->state == CONF_NODE_DOWN;
    n->admin_down = n->down;
    n->drain = n->row->state == CONF_NODE_DRAIN;
    n->fail = n->row->state == CONF_NODE_FAIL;
    n->future = n->row->state == CONF_NODE_FUTURE;
    n->features = mem_strdup(n->row->features);
    n->reason = mem_strdup(n->row->reason);
    node_count_units(c, n);
    gres_node_init(c, n);
    return n;
}

static void node_free(struct node *n)
{
    bitset_free(n->busy);
    spec_free(n);
    free(n->use);
    free(n->reason);
    free(n->features);
    free(n->active);
    free(n->comment);
    free(n->extra);
    free(n->cpu_bind);
    free(n->addr);
    free(n->hostname);
    free(n->topology);
    free(n->incarnation);
    free(n->reboot.incarnation);
    vec_done(&n->orphans);
    vec_done(&n->holders);
    gres_node_done(n);
    str_done(&n->seen);
    str_done(&n->newer);
    free(n);
}

static struct part *add_part(struct cluster *c, struct part *p, const struct conf_part *row)
{
    p->row = row;
    p->conf = *row;
    arena_init(&p->strings, 0);
    p->nodes = bitset_dup(row->node_set);
    p->has_all_nodes = bitset_next_clear(p->nodes, 0) < 0;
    p->at = (uint32_t)c->parts.len;
    vec_push(&c->parts, p);
    alloc_count_part(c, p);
    return p;
}

static void part_free(struct part *p)
{
    bitset_free(p->nodes);
    bitset_free(p->own.node_set);
    free(p->own_name);
    free(p->used_cpus);
    str_done(&p->changes);
    str_done(&p->newer);
    arena_done(&p->strings);
    free(p);
}

static void make_topos(struct cluster *c)
{
    c->topos = mem_new_array(struct topo *, c->conf->networks.len + 1);
    for (size_t i = 0; i < c->conf->networks.len; i++)
        c->topos[i] = topo_new(c->conf, &c->conf->networks.data[i]);
}

static void free_topos(struct cluster *c)
{
    for (size_t i = 0; i < c->conf->networks.len; i++)
        topo_free(c->topos[i]);
    free(c->topos);
}

int cluster_place_nodes(struct cluster *c, struct conf *conf, struct err *err)
{
    _cleanup_free_ const char **placed = mem_new_array(const char *, c->nodes.len + 1);
    for (size_t i = 0; i < c->nodes.len; i++)
        placed[i] = c->nodes.data[i]->topology;
    int rc = conf_topo_place(conf, placed, err);
    if (rc)
        (void)conf_topo_place(conf, NULL, NULL);
    free_topos(c);
    make_topos(c);
    return rc;
}

struct cluster *cluster_new(const struct conf *conf)
{
    struct cluster *c = mem_new(struct cluster);
    c->conf = conf;
    c->stamp = 1;
    gres_init(c);
    for (uint32_t i = 0; i < conf->nodes.len; i++)
        vec_push(&c->nodes, node_new(c, i));
    pool_init(c);
    license_init(c);
    make_topos(c);
    vec_foreach (&conf->parts, row)
        add_part(c, mem_new(struct part), row);
    return c;
}

struct part *cluster_add_part(struct cluster *c, const char *name)
{
    struct part *p = mem_new(struct part);
    p->own_name = mem_strdup(name);
    conf_part_init(&p->own, p->own_name);
    p->own.node_set = bitset_new(c->nodes.len);
    return add_part(c, p, &p->own);
}

static void forget_part_of_units(struct cluster *c, const struct part *p)
{
    vec_foreach (&c->nodes, at) {
        struct node *n = *at;
        for (uint32_t i = 0; n->use && i < n->units; i++)
            if (n->use[i].part == p)
                park_find_parts(c, n, i);
    }
}

void cluster_remove_part(struct cluster *c, struct part *p)
{
    vec_foreach (&c->jobs, at) {
        struct job *j = *at;
        bool has = job_partitions_has(j, p);
        if (job_partitions_drop(j, p)) {
            if (has)
                job_touch(c, j);
            continue;
        }
        free(j->part_name);
        j->part_name = mem_strdup(p->conf.name);
        j->part = NULL;
    }
    forget_part_of_units(c, p);
    vec_remove(&c->parts, p->at);
    for (size_t i = p->at; i < c->parts.len; i++)
        c->parts.data[i]->at = (uint32_t)i;
    part_free(p);
    c->stamp++;
}

void cluster_free(struct cluster *c)
{
    if (!c)
        return;
    job_free_all(c);
    array_free_all(c);
    job_set_free_all(c);
    vec_foreach (&c->nodes, n)
        node_free(*n);
    pool_done(&c->pool);
    license_done(&c->licenses);
    holdings_done(&c->holdings);
    free_topos(c);
    vec_foreach (&c->parts, p)
        part_free(*p);
    vec_foreach (&c->resvs, r)
        resv_free(*r);
    vec_done(&c->resvs);
    vec_done(&c->jobs);
    vec_done(&c->nodes);
    vec_foreach (&c->removed_parts, packed)
        str_done(packed);
    vec_done(&c->removed_parts);
    vec_foreach (&c->gone_nodes, packed)
        str_done(packed);
    vec_done(&c->gone_nodes);
    vec_done(&c->parts);
    vec_done(&c->gres_kinds);
    gres_parts_done(c);
    vec_done(&c->yielded);
    vec_done(&c->leaf_jobs);
    vec_done(&c->begun.list);
    vec_done(&c->dirty);
    vec_done(&c->dirty_arrays);
    idmap_done(&c->requests);
    idmap_done(&c->waiting.of_user);
    free(c);
}
