/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Devices with the same cores form a group. Of the smallest sets of groups with the devices and the
 * units, the set with the fewest excess units is taken. A node has few groups, one per socket or
 * NUMA domain: all sets are tried.
 */
#include "cluster/resource/gres_bind.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"
#include "cluster/resource/gres_link.h"

#define GROUPS_MAX 12 /* further groups are not used */

struct group {
    const char *cores;   /* NULL: all cores */
    struct bitset *near; /* units that may be taken there */
};

struct search {
    const struct node *n;
    const struct gres_bind *b;
    bool idle;
    size_t groups;
    struct group group[GROUPS_MAX];
    uint32_t (*have)[GROUPS_MAX];  /* by amount: free devices of each group */
    uint32_t (*take)[GROUPS_MAX];  /* number of these that are taken */
    uint64_t want[GRES_KINDS_MAX]; /* by amount: devices, if devices of the kind have a location */
    uint64_t wanted;               /* sum of 'want' */
};

static const char *cores_of(const struct gres_stock *s, size_t device)
{
    return device < s->conf->n_devices ? s->conf->devices[device].cores : NULL;
}

/* Returns NULL if its devices have no location, or are only counted. */
static const struct gres_stock *find_located_stock(const struct node *n, uint32_t kind)
{
    const struct gres_stock *s = gres_find(n, kind);
    for (size_t i = 0; s && s->busy && i < s->busy->size; i++)
        if (cores_of(s, i))
            return s;
    return NULL;
}

static bool is_free(const struct search *f, const struct gres_stock *s, size_t device)
{
    return f->idle || gres_device_is_free(s, device);
}

/* If units are allocated together, the neighbours of a near or a busy unit are near or busy as
 * well. */
static struct bitset *units_near(const struct search *f, const char *cores)
{
    struct bitset *near = bitset_new(f->n->units);
    if (cores)
        cores_of_list(f->n, cores, near);
    else
        bitset_fill(near);
    cores_add_together(f->n, f->b->want.together, near);
    if (f->b->want.only)
        bitset_and(near, f->b->want.only);
    if (!f->idle) {
        _cleanup_bitset_ struct bitset *busy = bitset_dup(f->n->busy);
        cores_add_together(f->n, f->b->want.together, busy);
        bitset_andnot(near, busy);
    }
    return near;
}

static long group_of(struct search *f, const char *cores)
{
    for (size_t g = 0; g < f->groups; g++)
        if (cores && f->group[g].cores ? str_eq(cores, f->group[g].cores)
                                       : cores == f->group[g].cores)
            return (long)g;
    if (f->groups == GROUPS_MAX)
        return -1;
    f->group[f->groups] = (struct group){cores, units_near(f, cores)};
    return (long)f->groups++;
}

static void search_init(struct search *f, const struct node *n, const struct gres_bind *b,
                        bool idle)
{
    *f = (struct search){.n = n, .b = b, .idle = idle};
    f->have = mem_alloc_array(b->count + 1, sizeof(*f->have));
    f->take = mem_alloc_array(b->count + 1, sizeof(*f->take));
    for (size_t k = 0; k < b->count; k++) {
        const struct gres_stock *s = find_located_stock(n, b->amounts[k].kind);
        f->want[k] = s ? b->amounts[k].count : 0;
        f->wanted += f->want[k];
        for (size_t i = 0; s && i < s->busy->size; i++) {
            long g = is_free(f, s, i) ? group_of(f, cores_of(s, i)) : -1;
            if (g >= 0)
                f->have[k][g]++;
        }
    }
}

static void search_done(struct search *f)
{
    for (size_t g = 0; g < f->groups; g++)
        bitset_free(f->group[g].near);
    free(f->have);
    free(f->take);
}

/* Takes one device of the group, of the kind with the most missing devices. */
static bool take_one(struct search *f, size_t g, uint64_t *left)
{
    size_t best = f->b->count;
    for (size_t k = 0; k < f->b->count; k++)
        if (left[k] && f->have[k][g] && (best == f->b->count || left[k] > left[best]))
            best = k;
    if (best == f->b->count)
        return false;
    f->take[best][g]++;
    left[best]--;
    return true;
}

/* Takes devices of these groups, at least one of each. */
static bool deal_devices(struct search *f, unsigned mask)
{
    uint64_t left[GRES_KINDS_MAX];
    memset(f->take, 0, (f->b->count + 1) * sizeof(*f->take));
    memcpy(left, f->want, sizeof left);
    for (size_t g = 0; g < f->groups; g++)
        if (mask >> g & 1 && !take_one(f, g, left))
            return false;
    for (size_t k = 0; k < f->b->count; k++) {
        for (size_t g = 0; g < f->groups; g++) {
            uint64_t more = mask >> g & 1 ? f->have[k][g] - f->take[k][g] : 0;
            more = more < left[k] ? more : left[k];
            f->take[k][g] += (uint32_t)more;
            left[k] -= more;
        }
        if (left[k])
            return false;
    }
    return true;
}

/* Counts the units near these groups; 0: a group has none. */
static size_t count_units(const struct search *f, unsigned mask, struct bitset *all)
{
    bitset_zero(all);
    for (size_t g = 0; g < f->groups; g++)
        if (mask >> g & 1) {
            if (bitset_empty(f->group[g].near))
                return 0;
            bitset_or(all, f->group[g].near);
        }
    return bitset_count(all);
}

/* Returns the next larger number with the same number of bits. */
static unsigned next_set(unsigned mask)
{
    unsigned low = mask & -mask, up = mask + low;
    return up | ((mask ^ up) >> 2) / low;
}

/* Returns a sufficient set of groups with its take[]; 0: none. 'all' receives their units. */
static unsigned find_groups(struct search *f, struct bitset *all)
{
    uint64_t most = f->wanted < f->b->want.units ? f->wanted : f->b->want.units;
    unsigned best = 0;
    size_t spare = SIZE_MAX;
    for (unsigned size = 1; size <= most && size <= f->groups && !best; size++)
        for (unsigned mask = (1u << size) - 1; mask < 1u << f->groups; mask = next_set(mask)) {
            size_t units = count_units(f, mask, all);
            if (units >= f->b->want.units && units < spare && deal_devices(f, mask)) {
                best = mask;
                spare = units;
            }
        }
    if (best) {
        deal_devices(f, best);
        count_units(f, best, all);
    }
    return best;
}

static void unset_range(struct bitset *set, size_t first, size_t count)
{
    for (size_t i = first; i < first + count; i++)
        bitset_unset(set, i);
}

/* Returns the first units that are allocated together and that no group needs as its only ones. */
static long find_spare_units(const struct search *f, unsigned mask, size_t together,
                             struct bitset *chosen)
{
    for (long i = bitset_last(chosen); i >= 0; i--) {
        bool needed = false;
        if (!bitset_test(chosen, (size_t)i) || (size_t)i % together)
            continue;
        unset_range(chosen, (size_t)i, together);
        for (size_t g = 0; g < f->groups; g++)
            needed = needed || (mask >> g & 1 && bitset_test(f->group[g].near, (size_t)i) &&
                                !bitset_intersects(f->group[g].near, chosen));
        bitset_set_range(chosen, (size_t)i, together);
        if (!needed)
            return i;
    }
    return -1;
}

/* Gives each group one of the units. Units that are allocated together move together. */
static bool spread_units(const struct search *f, unsigned mask, struct bitset *chosen)
{
    size_t together = f->b->want.together ? f->b->want.together : 1;
    for (size_t g = 0; g < f->groups; g++) {
        if (!(mask >> g & 1) || bitset_intersects(f->group[g].near, chosen))
            continue;
        long out = find_spare_units(f, mask, together, chosen);
        if (out < 0)
            return false;
        unset_range(chosen, (size_t)out, together);
        bitset_set_range(chosen, (size_t)bitset_next(f->group[g].near, 0), together);
    }
    return true;
}

/* Chooses the groups and their units in the present state; false: impossible. */
static bool choose_groups(struct search *f, unsigned *mask, struct bitset *chosen)
{
    _cleanup_bitset_ struct bitset *all = bitset_new(f->n->units);
    struct cores_want want = f->b->want;
    *mask = f->wanted ? find_groups(f, all) : 0;
    want.only = *mask ? all : f->b->want.only;
    return (*mask || !f->wanted) && cores_choose(f->n, &want, chosen) &&
           spread_units(f, *mask, chosen);
}

bool gres_bind_fits(const struct node *n, const struct gres_bind *b, bool idle)
{
    struct search f;
    unsigned mask;
    search_init(&f, n, b, idle);
    _cleanup_bitset_ struct bitset *units = bitset_new(n->units);
    bool fits =
        idle ? f.wanted == 0 || find_groups(&f, units) != 0 : choose_groups(&f, &mask, units);
    search_done(&f);
    return fits;
}

static struct bitset *pick_devices(struct search *f, size_t k)
{
    const struct gres_stock *s = find_located_stock(f->n, f->b->amounts[k].kind);
    struct bitset *devices = s ? bitset_new(s->busy->size) : NULL;
    _cleanup_bitset_ struct bitset *among = s ? bitset_new(s->busy->size) : NULL;
    for (size_t g = 0; s && g < f->groups; g++) {
        bitset_zero(among);
        for (size_t i = 0; f->take[k][g] && i < s->busy->size; i++)
            if (is_free(f, s, i) && group_of(f, cores_of(s, i)) == (long)g)
                bitset_set(among, i);
        gres_link_choose(s->conf, among, f->take[k][g], devices);
    }
    return devices;
}

bool gres_bind_choose(const struct node *n, const struct gres_bind *b, struct bitset *out,
                      struct bitset **devices)
{
    struct search f;
    unsigned mask;
    search_init(&f, n, b, false);
    _cleanup_bitset_ struct bitset *chosen = bitset_new(n->units);
    bool done = choose_groups(&f, &mask, chosen);
    for (size_t k = 0; done && k < b->count; k++)
        devices[k] = pick_devices(&f, k);
    if (done)
        bitset_or(out, chosen);
    search_done(&f);
    return done;
}
