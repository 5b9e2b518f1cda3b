/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The generic resources of a node that jobs and their steps hold. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "cluster/cluster.h"
#include "cluster/resource/gres_link.h"

static const char *cores_near(const struct gres_stock *s, size_t device)
{
    return device < s->conf->n_devices ? s->conf->devices[device].cores : NULL;
}

/* Counts the units near the device; all units if locality does not matter. */
static size_t count_near(const struct node *n, const char *cores, const struct bitset *units)
{
    if (!cores || !units)
        return SIZE_MAX;
    _cleanup_bitset_ struct bitset *near = bitset_new(n->units);
    cores_of_list(n, cores, near);
    return bitset_count_and(near, units);
}

/* Finds those of the devices that have the most units near them. */
static void find_nearest(const struct node *n, const struct gres_stock *s,
                         const struct bitset *units, const struct bitset *among,
                         struct bitset *nearest)
{
    size_t most = 0;
    bitset_zero(nearest);
    bitset_foreach (among, i) {
        size_t near = count_near(n, cores_near(s, (size_t)i), units);
        if (near > most)
            bitset_zero(nearest);
        if (near >= most)
            bitset_set(nearest, (size_t)i);
        most = near > most ? near : most;
    }
}

/* Returns free devices: near the units, and among equally near ones those connected to each
 * other. */
static struct bitset *best_devices(const struct node *n, const struct gres_stock *s,
                                   const struct bitset *units, uint64_t count)
{
    struct bitset *devices = bitset_new(s->busy->size);
    _cleanup_bitset_ struct bitset *left = bitset_new(s->busy->size);
    _cleanup_bitset_ struct bitset *nearest = bitset_new(s->busy->size);
    for (size_t i = 0; i < s->busy->size; i++)
        if (gres_device_is_free(s, i))
            bitset_set(left, i);
    while (count && !bitset_empty(left)) {
        find_nearest(n, s, units, left, nearest);
        size_t have = bitset_count(nearest), most = count < have ? (size_t)count : have;
        gres_link_choose(s->conf, nearest, most, devices);
        bitset_andnot(left, nearest);
        count -= most;
    }
    return devices;
}

/* Returns a set of the one device whose parts this amount has; NULL: another kind. */
static struct bitset *device_in_parts(const struct node *n, uint32_t kind,
                                      const struct gres_stock **of)
{
    const struct gres_parts_gpu *g = gres_parts_gpu_of(n->parts, kind);
    if (!g || g->lock == kind)
        return NULL;
    *of = gres_find(n, g->whole);
    struct bitset *device = bitset_new((*of)->busy->size);
    bitset_set(device, g->device);
    return device;
}

static void add_near(const struct node *n, const struct gres_stock *s, const struct bitset *devices,
                     struct bitset **near)
{
    bitset_foreach (devices, i) {
        if (!cores_near(s, (size_t)i))
            continue;
        if (!*near)
            *near = bitset_new(n->units);
        cores_of_list(n, cores_near(s, (size_t)i), *near);
    }
}

struct bitset *gres_held_near(const struct node *n, const struct gres_amount *amounts, size_t count,
                              struct bitset *const *devices)
{
    _cleanup_bitset_ struct bitset *idle = NULL;
    struct bitset *near = NULL;
    for (size_t k = 0; k < count; k++) {
        const struct gres_stock *s = gres_find(n, amounts[k].kind);
        _cleanup_bitset_ struct bitset *in_parts = device_in_parts(n, amounts[k].kind, &s);
        if (in_parts || devices[k]) {
            add_near(n, s, in_parts ? in_parts : devices[k], &near);
            continue;
        }
        if (!s || !s->busy || !s->conf->n_devices || !s->conf->devices[0].cores)
            continue;
        if (!idle) {
            idle = bitset_new(n->units);
            bitset_fill(idle);
            bitset_andnot(idle, n->busy);
        }
        if (!near)
            near = bitset_new(n->units);
        _cleanup_bitset_ struct bitset *taken = best_devices(n, s, idle, amounts[k].count);
        bitset_foreach (taken, i)
            if (cores_near(s, (size_t)i))
                cores_of_list(n, cores_near(s, (size_t)i), near);
    }
    return near;
}

void gres_held_take(struct node *n, const struct gres_amount *amount, const struct bitset *units,
                    struct bitset *devices, struct gres_held *out)
{
    struct gres_stock *s = gres_find(n, amount->kind);
    *out = (struct gres_held){.kind = amount->kind, .count = amount->count};
    s->used += amount->count;
    if (s->busy) {
        out->devices = devices ? devices : best_devices(n, s, units, amount->count);
        bitset_or(s->busy, out->devices);
    }
    gres_parts_settle(n);
}

void gres_held_retake(struct node *n, const struct gres_held *held)
{
    struct gres_stock *s = gres_find(n, held->kind);
    s->used += held->count;
    if (s->busy && held->devices)
        bitset_or(s->busy, held->devices);
    gres_parts_settle(n);
}

void gres_held_release(struct node *n, const struct gres_held *held)
{
    struct gres_stock *s = gres_find(n, held->kind);
    s->used -= held->count;
    if (s->busy && held->devices)
        bitset_andnot(s->busy, held->devices);
    gres_parts_settle(n);
}

void gres_held_give_back(const struct node *n, const struct gres_held *held, uint64_t *row)
{
    const struct gres_parts *p = n->parts;
    row[held->kind] += held->count;
    for (uint32_t i = 0; p && held->devices && i < p->gpus; i++)
        row[p->gpu[i].lock] +=
            p->gpu[i].whole == held->kind && bitset_test(held->devices, p->gpu[i].device);
}

/* --- steps -------------------------------------------------------------------------------------
 */

void gres_held_done(struct gres_held *held)
{
    bitset_free(held->devices);
    bitset_free(held->step_devices);
}

void gres_held_step(struct gres_held *job, const struct gres_held *step)
{
    job->step_count += step->count;
    if (!step->devices || !job->devices)
        return;
    if (!job->step_devices)
        job->step_devices = bitset_new(job->devices->size);
    bitset_or(job->step_devices, step->devices);
}

void gres_held_step_over(struct gres_held *job, const struct gres_held *step)
{
    job->step_count -= step->count < job->step_count ? step->count : job->step_count;
    if (step->devices && job->step_devices)
        bitset_andnot(job->step_devices, step->devices);
}

struct gres_held *gres_held_find(struct alloc_node *a, uint32_t kind)
{
    vec_foreach (&a->gres, held)
        if (held->kind == kind)
            return held;
    return NULL;
}

/* --- records -----------------------------------------------------------------------------------
 */

Pb__GresAlloc **gres_held_pack(const struct cluster *c, const struct gres_held *held, size_t count,
                               struct arena *arena)
{
    Pb__GresAlloc **list = arena_alloc(arena, sizeof(*list) * (count + 1));
    for (size_t i = 0; i < count; i++) {
        const struct gres_kind *k = &c->gres_kinds.data[held[i].kind];
        Pb__GresAlloc *g = list[i] = arena_alloc(arena, sizeof(*g));
        pb__gres_alloc__init(g);
        g->name = (char *)k->name;
        g->type = (char *)k->type;
        g->count = held[i].count;
        g->has_gpu = k->role == GRES_PART;
        g->gpu = k->gpu;
        if (!held[i].devices)
            continue;
        g->devices = arena_alloc(arena, sizeof(uint32_t) * (held[i].count + 1));
        bitset_foreach (held[i].devices, at)
            g->devices[g->n_devices++] = (uint32_t)at;
    }
    return list;
}

bool gres_held_unpack(const struct cluster *c, const struct node *n, const Pb__GresAlloc *g,
                      struct gres_held *out)
{
    long kind =
        g->has_gpu ? gres_kind_find_part(c, g->name, g->gpu) : gres_kind_find(c, g->name, g->type);
    const struct gres_stock *s = kind < 0 ? NULL : gres_find(n, (uint32_t)kind);
    if (!s)
        return false;
    *out = (struct gres_held){.kind = (uint32_t)kind, .count = g->count};
    if (!s->busy)
        return true;
    out->devices = bitset_new(s->busy->size);
    for (size_t i = 0; i < g->n_devices; i++)
        if (g->devices[i] < s->busy->size)
            bitset_set(out->devices, g->devices[i]);
    out->count = bitset_count(out->devices);
    if (out->count == 0)
        bitset_free(take_ptr(out->devices));
    return out->count > 0;
}

/* --- texts --------------------------------------------------------------------------------------
 */

static void put_devices(const struct bitset *devices, struct str *out)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    struct str text = STR_INIT;
    char number[24];
    bitset_foreach (devices, i) {
        snprintf(number, sizeof number, "%ld", i);
        hostlist_push(list, number);
    }
    hostlist_format(list, &text); /* "[0-1,3]" or "3" */
    const char *s = str_cstr(&text);
    size_t len = strlen(s);
    bool bare = len && s[0] != '[';
    str_puts(out, "(IDX:");
    str_append(out, bare || !len ? s : s + 1, bare || !len ? len : len - 2);
    str_puts(out, ")");
    str_done(&text);
}

static void put_kind(const struct cluster *c, uint32_t kind, uint64_t count,
                     const struct bitset *devices, struct str *out)
{
    const struct gres_kind *k = &c->gres_kinds.data[kind];
    str_printf(out, "%s%s%s%s:%llu", out->len ? "," : "", k->name, k->type ? ":" : "",
               k->type ? k->type : "", (unsigned long long)count);
    if (devices)
        put_devices(devices, out);
}

static void put_held(const struct cluster *c, const struct gres_held *held, bool devices,
                     struct str *out)
{
    const struct gres_kind *k = &c->gres_kinds.data[held->kind];
    put_kind(c, held->kind, held->count, devices ? held->devices : NULL, out);
    if (devices && k->role == GRES_PART)
        str_printf(out, "(IDX:%u)", k->gpu);
}

void gres_held_format(const struct cluster *c, const struct gres_held *held, size_t count,
                      bool devices, struct str *out)
{
    for (size_t i = 0; i < count; i++)
        put_held(c, &held[i], devices, out);
}

/* Writes "shard:8(-/5,5/5,3/5,0/5)": the total and the part in use of each GPU; "-": the whole GPU
 * is allocated. */
static void put_parts(const struct node *n, size_t name, bool used, struct str *out)
{
    const struct gres_parts *p = n->parts;
    _cleanup_str_ struct str each = STR_INIT;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < p->gpus; i++) {
        const struct gres_parts_gpu *g = &p->gpu[i];
        uint64_t taken = gres_parts_used(n, g, name);
        bool whole = gres_find(n, g->lock)->used && !taken;
        sum += used ? taken : g->count[name];
        str_puts(&each, i ? "," : "");
        if (whole)
            str_printf(&each, "-/%llu", (unsigned long long)g->count[name]);
        else
            str_printf(&each, "%llu/%llu", (unsigned long long)taken,
                       (unsigned long long)g->count[name]);
    }
    str_printf(out, "%s%s:%llu", out->len ? "," : "", p->item[name]->name, (unsigned long long)sum);
    if (used)
        str_printf(out, "(%s)", str_cstr(&each));
}

static bool is_used(const struct gres_stock *s)
{
    return s->used > 0;
}

void gres_held_format_node(const struct cluster *c, const struct node *n, bool used,
                           struct str *out)
{
    vec_foreach (&n->gres, s) {
        if (c->gres_kinds.data[s->kind].role != GRES_PLAIN)
            continue;
        if (!used)
            put_kind(c, s->kind, s->count, NULL, out);
        else if (s->busy && is_used(s))
            put_kind(c, s->kind, s->used, s->busy, out);
        else
            put_kind(c, s->kind, s->used, NULL, out);
        if (used && s->busy && !is_used(s))
            str_puts(out, "(IDX:N/A)");
    }
    for (size_t k = 0; n->parts && k < GRES_PARTS_NAMES; k++)
        if (n->parts->item[k])
            put_parts(n, k, used, out);
}
