/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/devices.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

void devices_count(const struct conf *c, struct str *out)
{
    const struct conf_gres_set *set = conf_gres_of(c, 0);
    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *g = &set->items[i];
        uint64_t there = g->count;
        for (size_t k = 0; k < g->n_devices; k++)
            there -= g->devices[k].file && access(g->devices[k].file, F_OK) != 0;
        str_printf(out, "%s%s%s%s:%llu", out->len ? "," : "", g->name, g->type ? ":" : "",
                   g->type ? g->type : "", (unsigned long long)there);
    }
}

/* Returns the number at the end of the file name; without digits, the index of the device on the
   node. */
static unsigned long read_device_number(const char *file, unsigned long place)
{
    size_t len = file ? strlen(file) : 0, end = len;
    while (len > 0 && file[len - 1] >= '0' && file[len - 1] <= '9')
        len--;
    return len < end ? strtoul(file + len, NULL, 10) : place;
}

#define GPUS_MOST 64 /* GPUs per node whose near cores are sent to a shepherd */

static bool is_same_device(const char *a, const char *b)
{
    return a == b || (a && b && strcasecmp(a, b) == 0);
}

/* Lists the numbers of the devices of 'g' in the share, whole or in part. 'first' is the number of
 * GPUs of the node that precede them. 'one' has space for one number. */
static size_t devices_of(const Pb__GresAlloc *share, const struct conf_gres *g, unsigned long first,
                         uint32_t *one, const uint32_t **out)
{
    if (share->has_gpu) {
        *one = share->gpu - (uint32_t)first;
        *out = one;
        return conf_gres_is_gpu(g->name) && share->gpu >= first && *one < g->count;
    }
    *out = share->devices;
    return is_same_device(share->name, g->name) && is_same_device(share->type, g->type)
               ? share->n_devices
               : 0;
}

static size_t put_share(const struct conf_gres *g, const Pb__GresAlloc *share, unsigned long first,
                        struct str *out)
{
    const uint32_t *devices;
    uint32_t one;
    size_t n = devices_of(share, g, first, &one, &devices);
    for (size_t i = 0; i < n; i++) {
        uint32_t at = devices[i];
        const char *file = at < g->n_devices ? g->devices[at].file : NULL;
        if (at < g->count)
            str_printf(out, "%s%lu", out->len ? "," : "", read_device_number(file, first + at));
    }
    return n;
}

/* Formats a share as "0,1"; 'env' is set to how tasks are told (CONF_GRES_*). */
static char *numbers_of(const struct conf *c, Pb__GresAlloc *const *share, size_t count,
                        unsigned *env, struct arena *arena)
{
    const struct conf_gres_set *set = conf_gres_of(c, 0);
    _cleanup_str_ struct str out = STR_INIT;
    unsigned long first = 0;
    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *g = &set->items[i];
        if (!conf_gres_is_gpu(g->name))
            continue;
        for (size_t k = 0; k < count; k++)
            if (put_share(g, share[k], first, &out))
                *env |= g->flags;
        first += g->count;
    }
    return arena_strdup(arena, str_cstr(&out));
}

/* In the same order as the numbers above. */
static size_t cores_of(const struct conf *c, Pb__GresAlloc *const *share, size_t count, char **out)
{
    const struct conf_gres_set *set = conf_gres_of(c, 0);
    size_t n = 0;
    unsigned long first = 0;
    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *g = &set->items[i];
        for (size_t k = 0; k < count && conf_gres_is_gpu(g->name); k++) {
            const uint32_t *devices;
            uint32_t one;
            size_t len = devices_of(share[k], g, first, &one, &devices);
            for (size_t d = 0; d < len && n < GPUS_MOST; d++) {
                uint32_t at = devices[d];
                const char *cores = at < g->n_devices ? g->devices[at].cores : NULL;
                if (at < g->count)
                    out[n++] = (char *)(cores ? cores : "");
            }
        }
        first += conf_gres_is_gpu(g->name) ? g->count : 0;
    }
    return n;
}

/* Returns the percentage of its GPUs' mps entries that the share has; 0: none. */
static uint32_t mps_percent_of(const struct conf *c, Pb__GresAlloc *const *share, size_t count)
{
    const struct conf_gres_set *set = conf_gres_of(c, 0);
    uint64_t has = 0, all = 0;
    for (size_t k = 0; k < count; k++)
        for (size_t i = 0; i < set->len; i++) {
            const struct conf_gres *g = &set->items[i];
            if (!share[k]->has_gpu || strcasecmp(share[k]->name, "mps") != 0 ||
                strcasecmp(g->name, "mps") != 0 || share[k]->gpu >= g->n_parts)
                continue;
            has += share[k]->count;
            all += g->parts[share[k]->gpu];
        }
    return all && has <= all ? (uint32_t)(has * 100 / all) : 0;
}

void devices_fill(const struct conf *c, const char *node, const Pb__Cred *cred, uint32_t node_index,
                  Pb__StepdStart *m, struct arena *arena)
{
    const Pb__StepNode *here = node_index < cred->n_nodes ? cred->nodes[node_index] : NULL;
    unsigned env = 0;
    for (size_t i = 0; i < cred->n_job_nodes; i++)
        if (str_eq(cred->job_nodes[i]->node, node))
            m->job_gpus =
                numbers_of(c, cred->job_nodes[i]->gres, cred->job_nodes[i]->n_gres, &env, arena);
    if (!m->job_gpus || !*m->job_gpus) {
        m->job_gpus = NULL;
        return;
    }
    m->step_gpus = here ? numbers_of(c, here->gres, here->n_gres, &env, arena) : (char *)"";
    m->gpu_cores = arena_alloc(arena, GPUS_MOST * sizeof(char *));
    m->n_gpu_cores = here ? cores_of(c, here->gres, here->n_gres, m->gpu_cores) : 0;
    m->mps_percent = here ? mps_percent_of(c, here->gres, here->n_gres) : 0;
    m->has_mps_percent = m->mps_percent > 0;
    m->has_gpu_env = true;
    m->gpu_env = env;
}

static bool holds_device(Pb__GresAlloc *const *share, size_t count, const struct conf_gres *g,
                         unsigned long first, size_t at)
{
    for (size_t k = 0; k < count; k++) {
        const uint32_t *devices;
        uint32_t one;
        size_t n = devices_of(share[k], g, first, &one, &devices);
        for (size_t i = 0; i < n; i++)
            if (devices[i] == at)
                return true;
    }
    return false;
}

static void add_number(const char *file, struct devices_denied *out)
{
    struct stat st;
    if (file && stat(file, &st) == 0 && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)))
        vec_push(&out->list, ((struct devices_number){S_ISBLK(st.st_mode), st.st_rdev}));
}

/* Adds the devices inside the share, or those outside it. */
static void add_devices(const struct conf *c, Pb__GresAlloc *const *share, size_t count, bool has,
                        struct devices_denied *out)
{
    const struct conf_gres_set *set = conf_gres_of(c, 0);
    unsigned long first = 0;
    for (size_t i = 0; i < set->len; i++) {
        const struct conf_gres *g = &set->items[i];
        for (size_t k = 0; k < g->n_devices; k++) {
            const struct conf_gres_device *d = &g->devices[k];
            if (holds_device(share, count, g, first, k) != has)
                continue;
            add_number(d->file, out);
            for (uint32_t n = 0; n < d->n_also; n++)
                add_number(d->also[n], out);
        }
        first += conf_gres_is_gpu(g->name) ? g->count : 0;
    }
}

void devices_deny(const struct conf *c, Pb__GresAlloc *const *share, size_t count,
                  struct devices_denied *out)
{
    struct devices_denied held = {0};
    add_devices(c, share, count, true, &held);
    add_devices(c, share, count, false, out);
    for (size_t i = 0; i < out->list.len;) {
        bool both = false;
        vec_foreach (&held.list, h)
            both |= h->block == out->list.data[i].block && h->number == out->list.data[i].number;
        if (both)
            vec_remove(&out->list, i);
        else
            i++;
    }
    vec_done(&held.list);
}
