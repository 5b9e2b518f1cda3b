/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/gres_cores.h"

#include <strings.h>

#include "cluster/cluster.h"
#include "cluster/resource/cores.h"
#include "cluster/resource/spec.h"

/* --- units of nodes -----------------------------------------------------------------------------
 */

static bool has_row_with_cores(const struct conf *conf)
{
    vec_foreach (&conf->node_rows, row)
        if (row->restricted_cores)
            return true;
    return false;
}

void gres_cores_init(struct cluster *c)
{
    c->has_restricted_cores =
        has_row_with_cores(c->conf) && gres_known(c, "gpu") && c->gres_kinds.len < GRES_KINDS_MAX;
    if (!c->has_restricted_cores)
        return;
    c->restricted_kind = (uint32_t)c->gres_kinds.len;
    vec_push(&c->gres_kinds, ((struct gres_kind){.name = "restricted cores", .role = GRES_CORES}));
}

/* Returns the units that one GPU restricts; a socket if units are sockets. */
static uint32_t count_units_per_gpu(const struct node *n)
{
    uint32_t cpus = n->row->restricted_cores * n->threads;
    return cpus < n->cpus_per_unit ? 1 : cpus / n->cpus_per_unit;
}

static void restrict_near(const struct node *n, const char *cores, uint32_t most, struct bitset *of)
{
    _cleanup_bitset_ struct bitset *near = bitset_new(n->units);
    cores_of_list(n, cores, near);
    bitset_andnot(near, of);
    bitset_foreach (near, i)
        if (most) {
            bitset_set(of, (size_t)i);
            most--;
        }
}

static struct bitset *find_restricted(const struct cluster *c, const struct node *n)
{
    struct bitset *found = bitset_new(n->units);
    vec_foreach (&n->gres, s) {
        const struct gres_kind *k = &c->gres_kinds.data[s->kind];
        if (k->role != GRES_PLAIN || !conf_gres_is_gpu(k->name))
            continue;
        for (size_t i = 0; i < s->conf->n_devices; i++)
            if (s->conf->devices[i].cores)
                restrict_near(n, s->conf->devices[i].cores, n->restricted_per_gpu, found);
    }
    return found;
}

void gres_cores_find(const struct cluster *c, struct node *n)
{
    if (!c->has_restricted_cores || !n->row->restricted_cores)
        return;
    struct gres_stock *stock = gres_find(n, c->restricted_kind);
    bitset_free(take_ptr(n->restricted));
    n->restricted_per_gpu = count_units_per_gpu(n);
    struct bitset *found = find_restricted(c, n);
    if (!stock && !bitset_empty(found)) {
        vec_push(&n->gres, ((struct gres_stock){.kind = c->restricted_kind}));
        stock = &vec_last(&n->gres);
    }
    if (stock)
        stock->count = bitset_count(found);
    n->restricted_kind = c->restricted_kind;
    if (bitset_empty(found))
        bitset_free(found);
    else
        n->restricted = found;
    gres_cores_settle(n);
}

void gres_cores_settle(struct node *n)
{
    if (n->restricted)
        gres_find(n, n->restricted_kind)->used = bitset_count_and(n->busy, n->restricted);
}

void gres_cores_put_list(const struct node *n, struct str *out)
{
    _cleanup_bitset_ struct bitset *cores = bitset_new((size_t)n->sockets * n->cores);
    bitset_foreach (n->restricted, unit) {
        size_t cpu = spec_place(n, (size_t)unit) * n->cpus_per_unit;
        for (size_t i = cpu; i < cpu + n->cpus_per_unit && i / n->threads < cores->size; i++)
            bitset_set(cores, i / n->threads);
    }
    for (long first = bitset_next(cores, 0), end; first >= 0;
         first = bitset_next(cores, (size_t)end)) {
        end = bitset_next_clear(cores, (size_t)first);
        end = end < 0 ? (long)cores->size : end;
        str_printf(out, "%s%ld", out->len ? "," : "", first);
        if (end - first > 1)
            str_printf(out, "-%ld", end - 1);
    }
}

/* --- jobs ---------------------------------------------------------------------------------------
 */

static bool is_part_of_gpus(const char *name)
{
    return strcasecmp(name, "shard") == 0 || strcasecmp(name, "mps") == 0;
}

static bool has_parts(const struct gres_wants *wants)
{
    vec_foreach (&wants->list, w)
        if (is_part_of_gpus(w->name))
            return true;
    return false;
}

bool gres_cores_may(const struct gres_wants *wants)
{
    vec_foreach (&wants->list, w)
        if (conf_gres_is_gpu(w->name) || is_part_of_gpus(w->name))
            return true;
    return false;
}

uint32_t gres_cores_most(const struct gres_wants *wants, uint32_t per_gpu, uint64_t gpus)
{
    uint64_t most = gpus < UINT32_MAX ? gpus * per_gpu : UINT32_MAX;
    return has_parts(wants) || most > UINT32_MAX ? UINT32_MAX : (uint32_t)most;
}

/* Adds up to 'most' free units of the set; returns how many are missing. */
static uint32_t add_free(const struct node *n, const struct bitset *from, uint32_t most,
                         struct bitset *to)
{
    bitset_foreach (from, i)
        if (most && !bitset_test(n->busy, (size_t)i) && !bitset_test(to, (size_t)i)) {
            bitset_set(to, (size_t)i);
            most--;
        }
    return most;
}

struct bitset *gres_cores_permitted(const struct node *n, const struct gres_wants *wants,
                                    const struct gres_amount *amounts, size_t count,
                                    const struct bitset *near)
{
    uint64_t gpus = 0;
    struct bitset *units = bitset_new(n->units);
    for (size_t i = 0; i < count; i++) {
        const struct gres_stock *s = gres_find(n, amounts[i].kind);
        gpus += s && s->conf && conf_gres_is_gpu(s->conf->name) ? amounts[i].count : 0;
    }
    uint32_t most = gres_cores_most(wants, n->restricted_per_gpu, gpus);
    if (near) {
        _cleanup_bitset_ struct bitset *nearest = bitset_dup(n->restricted);
        bitset_and(nearest, near);
        most = add_free(n, nearest, most, units);
    }
    add_free(n, n->restricted, most, units);
    return units;
}

struct bitset *gres_cores_others(const struct node *n)
{
    struct bitset *units = bitset_new(n->units);
    bitset_fill(units);
    bitset_andnot(units, n->restricted);
    return units;
}
