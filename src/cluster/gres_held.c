/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who holds which of a node's generic resources: jobs, and their steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hostlist.h"
#include "cluster/cluster.h"

/* "0-3,8": whether one of the units lies on a core of the list. Units are cores, or their CPUs. */
static bool is_near(const char *cores, const struct bitset *units)
{
    if (!cores || !units)
        return true;
    for (const char *at = cores; *at;) {
        char *end;
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        long hit = first < units->size ? bitset_next(units, first) : -1;
        if (hit >= 0 && (unsigned long)hit <= last)
            return true;
        at = end + (*end == ',');
    }
    return false;
}

void gres_held_take(struct node *n, const struct gres_amount *amount, const struct bitset *units,
                    struct gres_held *out)
{
    struct gres_stock *s = gres_find(n, amount->kind);
    *out = (struct gres_held){.kind = amount->kind, .count = amount->count};
    s->used += amount->count;
    if (!s->busy)
        return;
    out->devices = bitset_new(s->busy->size);
    uint64_t left = amount->count;
    for (int far = 0; far < 2 && left; far++)
        for (size_t i = 0; i < s->busy->size && left; i++) {
            const char *cores = i < s->conf->n_devices ? s->conf->devices[i].cores : NULL;
            if (bitset_test(s->busy, i) || (!far && !is_near(cores, units)))
                continue;
            bitset_set(s->busy, i);
            bitset_set(out->devices, i);
            left--;
        }
}

void gres_held_retake(struct node *n, const struct gres_held *held)
{
    struct gres_stock *s = gres_find(n, held->kind);
    s->used += held->count;
    if (s->busy && held->devices)
        bitset_or(s->busy, held->devices);
}

void gres_held_release(struct node *n, const struct gres_held *held)
{
    struct gres_stock *s = gres_find(n, held->kind);
    s->used -= held->count;
    if (s->busy && held->devices)
        bitset_andnot(s->busy, held->devices);
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
    long kind = gres_kind_find(c, g->name, g->type);
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
    return true;
}

/* --- for people --------------------------------------------------------------------------------
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

static void put(const struct cluster *c, uint32_t kind, uint64_t count,
                const struct bitset *devices, struct str *out)
{
    const struct gres_kind *k = &c->gres_kinds.data[kind];
    str_printf(out, "%s%s%s%s:%llu", out->len ? "," : "", k->name, k->type ? ":" : "",
               k->type ? k->type : "", (unsigned long long)count);
    if (devices)
        put_devices(devices, out);
}

void gres_held_format(const struct cluster *c, const struct gres_held *held, size_t count,
                      bool devices, struct str *out)
{
    for (size_t i = 0; i < count; i++)
        put(c, held[i].kind, held[i].count, devices ? held[i].devices : NULL, out);
}

static bool is_used(const struct gres_stock *s)
{
    return s->used > 0;
}

void gres_held_format_node(const struct cluster *c, const struct node *n, bool used,
                           struct str *out)
{
    vec_foreach (&n->gres, s) {
        if (!used)
            put(c, s->kind, s->count, NULL, out);
        else if (s->busy && is_used(s))
            put(c, s->kind, s->used, s->busy, out);
        else
            put(c, s->kind, s->used, NULL, out);
        if (used && s->busy && !is_used(s))
            str_puts(out, "(IDX:N/A)");
    }
}
