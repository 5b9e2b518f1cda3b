/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reservations there are, what they take of which nodes, and their jobs. */
#include "cluster/resv/resv.h"

#include <stdlib.h>

#include "base/hostlist.h"
#include "cluster/cluster.h"

struct resv *resv_find(const struct cluster *c, const char *name)
{
    vec_foreach (&c->resvs, r)
        if (str_eq((*r)->name, name))
            return *r;
    return NULL;
}

struct resv *resv_new(const char *name)
{
    struct resv *r = mem_new(struct resv);
    r->name = mem_strdup(name);
    return r;
}

void resv_free(struct resv *r)
{
    if (!r)
        return;
    free(r->name);
    free(r->node_names);
    bitset_free(r->nodes);
    free(r->units);
    vec_done(&r->cores);
    vec_done(&r->stock);
    free(r->core_count);
    free(r->part);
    free(r->features);
    free(r->users);
    free(r->accounts);
    free(r->groups);
    free(r->licenses);
    str_done(&r->newer);
    free(r);
}

void resv_add(struct cluster *c, struct resv *r)
{
    vec_push(&c->resvs, r);
    c->stamp++;
}

void resv_take(struct cluster *c, struct resv *r)
{
    for (size_t i = 0; i < c->resvs.len; i++)
        if (c->resvs.data[i] == r) {
            vec_remove(&c->resvs, i);
            break;
        }
    c->stamp++;
}

/* --- nodes -------------------------------------------------------------------------------------
 */

/* Units that so many cores of the node are. */
static uint32_t units_of(const struct node *n, uint32_t cores)
{
    uint64_t units = (uint64_t)cores * (n->row->threads ? n->row->threads : 1) / n->cpus_per_unit;
    return units < n->units ? (uint32_t)units : n->units;
}

static void find_licenses(const struct cluster *c, struct resv *r)
{
    struct license_needs needs = {0};
    vec_clear(&r->stock);
    if (r->licenses)
        license_read_pools(c, r->licenses, &needs, NULL); /* those that there are */
    vec_foreach (&needs.list, n)
        vec_push(&r->stock,
                 ((struct resv_license){
                     .at = n->at, .count = n->count, .layered = license_is_layered(c, n)}));
    license_needs_done(&needs);
}

void resv_resolve(const struct cluster *c, struct resv *r)
{
    _cleanup_hostlist_ struct hostlist *names = NULL;
    char name[HOSTLIST_NAME_MAX + 1];
    bitset_free(r->nodes);
    free(take_ptr(r->units));
    r->nodes = bitset_new(c->nodes.len);
    find_licenses(c, r);
    if (!r->node_names || !*r->node_names || hostlist_parse(r->node_names, &names, NULL) != 0)
        return;
    if (r->cores.len)
        r->units = mem_new_array(uint32_t, c->nodes.len + 1);
    for (size_t i = 0; i < hostlist_count(names); i++) {
        const struct node *n = cluster_find_node(c, hostlist_nth(names, i, name));
        if (!n)
            continue;
        bitset_set(r->nodes, n->index);
        if (i < r->cores.len)
            r->units[n->index] = units_of(n, r->cores.data[i]);
    }
}

void resv_set_nodes(const struct cluster *c, struct resv *r, const struct bitset *nodes)
{
    _cleanup_hostlist_ struct hostlist *names = hostlist_new();
    struct str text = STR_INIT;
    bitset_foreach (nodes, i)
        hostlist_push(names, c->nodes.data[i]->name);
    hostlist_format(names, &text);
    free(r->node_names);
    r->node_names = str_take(&text);
    resv_resolve(c, r);
}

bool resv_follow_part(const struct cluster *c, struct resv *r)
{
    const struct part *p = r->flags & RESV_PART_NODES ? cluster_find_part(c, r->part) : NULL;
    if (!p)
        return false;
    _cleanup_free_ char *before = take_ptr(r->node_names);
    resv_set_nodes(c, r, p->nodes);
    return !str_eq(before, r->node_names);
}

void resv_count(const struct cluster *c, const struct resv *r, uint32_t *cores, uint32_t *cpus)
{
    *cores = *cpus = 0;
    bitset_foreach (r->nodes, i) {
        const struct node *n = c->nodes.data[i];
        uint32_t units = r->units ? r->units[i] : n->units, threads = n->row->threads;
        *cpus += units * n->cpus_per_unit;
        *cores += units * n->cpus_per_unit / (threads ? threads : 1);
    }
}

/* --- jobs --------------------------------------------------------------------------------------
 */

void resv_unbind(struct job *j)
{
    vec_foreach (&j->resvs, r)
        (*r)->pending--;
    vec_clear(&j->resvs);
}

void resv_bind(struct job *j, struct resv *r)
{
    vec_push(&j->resvs, r);
    r->pending++;
}

void resv_enter(struct job *j, struct resv *r)
{
    resv_leave(j);
    if (j->attempt)
        free(take_ptr(j->attempt->resv_name));
    if (!r)
        return;
    attempt_make(j)->resv = r;
    r->running++;
    attempt_make(j)->resv_name = mem_strdup(r->name);
    if (license_held(j))
        resv_use_licenses(r, j, 1);
}

void resv_leave(struct job *j)
{
    struct resv *r = attempt_of(j)->resv;
    if (!r)
        return;
    if (license_held(j))
        resv_use_licenses(r, j, -1);
    r->running--;
    j->attempt->resv = NULL;
}

void resv_use_licenses(struct resv *r, const struct job *j, int by)
{
    vec_foreach (&r->stock, s) {
        vec_foreach (&j->want.licenses.list, need)
            if (need->at == s->at && !s->layered)
                s->used += (uint64_t)(by * (int64_t)need->count);
        vec_foreach (&attempt_of(j)->holds, hold)
            if (hold->at == s->at && s->layered)
                s->used += (uint64_t)(by * (int64_t)hold->count);
    }
}

void resv_count_licenses(const struct cluster *c, struct resv *r)
{
    vec_foreach (&r->stock, s)
        s->used = 0;
    for (struct order_link *l = order_first(&c->ends); l && r->stock.len; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        if (attempt_of(j)->resv == r && license_held(j))
            resv_use_licenses(r, j, 1);
    }
}
