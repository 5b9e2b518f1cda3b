/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster.h"
#include "cluster/node/topo.h"

#include <string.h>

#include "base/hostlist.h"

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

static void job_free(struct cluster *c, struct job *j)
{
    attempt_drop(c, j);
    vec_done(&j->end_calls);
    idset_done(&j->tasks);
    request_done(&j->want);
    job_partitions_free(j);
    free(j->newer_reason);
    free(j->reason_detail);
    free(j->part_name);
    job_forget_past(j);
    vec_done(&j->resvs);
    depend_free(j->waits.on);
    free(j->waits.kept);
    free(j->waits.shown);
    free(j->waits.name);
    free(j->of_array); /* NULL, or its cluster goes */
    str_free(j->alloc_step);
    burst_free(j->burst);
    job_packed_done(&j->spec);
    job_packed_done(&j->live);
    if (j->newer) {
        str_done(&j->newer->record);
        str_done(&j->newer->live);
        free(j->newer);
    }
    free(j);
}

static struct part *add_part(struct cluster *c, struct part *p, const struct conf_part *row)
{
    p->row = row;
    p->conf = *row;
    arena_init(&p->strings, 0);
    p->nodes = bitset_dup(row->node_set);
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
    vec_foreach (&c->jobs, j)
        job_free(c, *j);
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
    vec_done(&c->begun.list);
    vec_done(&c->dirty);
    vec_done(&c->dirty_arrays);
    idmap_done(&c->requests);
    idmap_done(&c->waiting.of_user);
    free(c);
}

struct node *cluster_find_node(const struct cluster *c, const char *name)
{
    long index = conf_find_node(c->conf, name);
    return index < 0 ? NULL : c->nodes.data[index];
}

struct part *cluster_find_part(const struct cluster *c, const char *name)
{
    vec_foreach (&c->parts, p)
        if (str_eq((*p)->conf.name, name))
            return *p;
    return NULL;
}

struct part *cluster_default_part(const struct cluster *c)
{
    vec_foreach (&c->parts, p)
        if ((*p)->conf.is_default)
            return *p;
    return NULL;
}

/* Where the job of this id is, or would be put: ids normally rise, so the end comes first. */
static size_t find_position(const struct cluster *c, uint32_t id)
{
    size_t count = c->jobs.len;
    if (count && c->jobs.data[count - 1]->id < id)
        return count;
    return vec_lower(&c->jobs, j, (*j)->id < id);
}

struct job *cluster_find_job(const struct cluster *c, uint32_t id)
{
    size_t at = find_position(c, id);
    return at < c->jobs.len && c->jobs.data[at]->id == id ? c->jobs.data[at] : NULL;
}

struct job *cluster_add_job(struct cluster *c, uint32_t id)
{
    size_t at = find_position(c, id);
    if (at < c->jobs.len && c->jobs.data[at]->id == id)
        return NULL;
    struct job *j = mem_new(struct job);
    j->id = id;
    j->state = PB__JOB_STATE__PENDING;
    j->limit_sec = INT64_MAX;
    c->pending++;
    vec_push(&c->jobs, j);
    for (size_t i = c->jobs.len - 1; i > at; i--)
        c->jobs.data[i] = c->jobs.data[i - 1];
    c->jobs.data[at] = j;
    return j;
}

void cluster_remove_job(struct cluster *c, struct job *j)
{
    size_t at = find_position(c, j->id);
    uint32_t array_id = j->array ? j->array->id : 0;
    holdings_drop(c, j);
    alloc_clear(c, j);
    array_leave(c, j);
    job_set_leave(c, j);
    struct array *rest = array_id ? array_find(c, array_id) : NULL;
    if (rest && rest->records.count) /* its script is counted with another record */
        holdings_count(c, array_first(rest));
    job_partitions_end(j);
    depend_leave(c, j);
    order_remove(&c->due, &j->due);
    resv_unbind(j);
    resv_leave(j);
    if (j->request_key)
        idmap_remove(&c->requests, j->request_key);
    if (j->request_key && rest && rest->records.count) { /* a repeat must find the rest */
        struct job *first = array_first(rest);
        first->request_key = j->request_key;
        idmap_set(&c->requests, first->request_key, first->id);
    }
    job_load_state(c, j, PB__JOB_STATE__CANCELLED); /* it counts for nothing any more */
    vec_remove(&c->jobs, at);
    job_free(c, j);
    c->stamp++;
}

static bool add_feature(const struct cluster *c, const char *word, struct bitset *set)
{
    _cleanup_free_ char *feature = conf_function_argument(word, "feature");
    for (size_t i = 0; feature && i < c->nodes.len; i++)
        if (node_features_have(c->nodes.data[i]->features, feature, strlen(feature)))
            bitset_set(set, i);
    return feature != NULL;
}

int cluster_add_named(const struct cluster *c, const char *word, struct bitset *set,
                      struct err *err)
{
    long index = conf_find_node(c->conf, word);
    const struct bitset *named = index < 0 ? conf_find_node_set(c->conf, word) : NULL;
    if (index >= 0)
        bitset_set(set, (size_t)index);
    else if (named)
        bitset_or(set, named);
    if (index >= 0 || named || add_feature(c, word, set))
        return 0;
    int rc = conf_add_function(c->conf, word, set, err);
    return rc == 0  ? err_set(err, -ERR_NO_NODE, "%s: %s", err_text(ERR_NO_NODE), word)
           : rc > 0 ? 0
                    : rc;
}

int cluster_node_set(const struct cluster *c, const char *expr, struct bitset **out,
                     struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    int rc = hostlist_parse(expr, &list, err);
    if (rc != 0)
        return rc;
    struct bitset *set = bitset_new(c->nodes.len);
    for (size_t i = 0; i < hostlist_count(list) && rc == 0; i++) {
        char name[HOSTLIST_NAME_MAX + 1];
        rc = cluster_add_named(c, hostlist_nth(list, i, name), set, err);
    }
    if (rc == 0)
        *out = set;
    else
        bitset_free(set);
    return rc;
}
