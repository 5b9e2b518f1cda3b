/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/gres_link.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/bitset.h"
#include "conf/conf_rows.h"

#define EXACT_MAX 16 /* devices for which all choices are tried: at most 12,870 */

unsigned gres_link_count(const struct conf_gres *g, size_t a, size_t b)
{
    if (!g || a >= g->n_devices || b >= g->n_devices || a == b)
        return 0;
    const struct conf_gres_device *x = &g->devices[a], *y = &g->devices[b];
    bool known = x->links && y->links && y->number < x->n_links && x->number != y->number;
    return known ? (unsigned)x->links[y->number] : 0;
}

struct search {
    size_t len; /* number of candidate devices */
    uint32_t device[EXACT_MAX];
    uint64_t fixed[EXACT_MAX]; /* connections to devices that are already chosen */
    uint64_t link[EXACT_MAX][EXACT_MAX];
    uint32_t best;
    uint64_t most;
    bool found;
};

/* Sets are tried in the order of their numbers, so that the lowest of equal ones is kept. */
static void try_sets(struct search *s, size_t from, size_t left, uint32_t set, uint64_t worth)
{
    if (left == 0) {
        if (!s->found || worth > s->most) {
            s->best = set;
            s->most = worth;
            s->found = true;
        }
        return;
    }
    for (size_t i = from; i + left <= s->len; i++) {
        uint64_t more = s->fixed[i];
        for (uint32_t rest = set; rest; rest &= rest - 1)
            more += s->link[i][__builtin_ctz(rest)];
        try_sets(s, i + 1, left - 1, set | UINT32_C(1) << i, worth + more);
    }
}

static uint64_t count_links_to(const struct conf_gres *g, size_t device,
                               const struct bitset *devices)
{
    uint64_t sum = 0;
    bitset_foreach (devices, i)
        sum += gres_link_count(g, device, (size_t)i);
    return sum;
}

static void choose_exactly(const struct conf_gres *g, const struct bitset *among, size_t count,
                           struct bitset *devices)
{
    struct search s = {0};
    bitset_foreach (among, i) {
        s.device[s.len] = (uint32_t)i;
        s.fixed[s.len] = count_links_to(g, (size_t)i, devices);
        for (size_t k = 0; k < s.len; k++)
            s.link[s.len][k] = s.link[k][s.len] = gres_link_count(g, s.device[k], (size_t)i);
        s.len++;
    }
    try_sets(&s, 0, count, 0, 0);
    assert(s.found);
    for (uint32_t set = s.best; set; set &= set - 1)
        bitset_set(devices, s.device[__builtin_ctz(set)]);
}

/* Adds the device with the most connections to the chosen ones until there are enough. */
static void choose_in_turn(const struct conf_gres *g, const struct bitset *among, size_t count,
                           struct bitset *devices)
{
    for (; count; count--) {
        long best = -1;
        uint64_t most = 0;
        bitset_foreach (among, i) {
            uint64_t links =
                bitset_test(devices, (size_t)i) ? 0 : count_links_to(g, (size_t)i, devices);
            if (!bitset_test(devices, (size_t)i) && (best < 0 || links > most)) {
                best = i;
                most = links;
            }
        }
        assert(best >= 0);
        bitset_set(devices, (size_t)best);
    }
}

static bool has_links(const struct conf_gres *g)
{
    for (size_t i = 0; g && i < g->n_devices; i++)
        if (g->devices[i].links)
            return true;
    return false;
}

void gres_link_choose(const struct conf_gres *g, const struct bitset *among, size_t count,
                      struct bitset *devices)
{
    size_t have = bitset_count(among);
    assert(count <= have && !bitset_intersects(among, devices));
    if (count == have) {
        bitset_or(devices, among);
    } else if (!has_links(g)) {
        for (long i = bitset_next(among, 0); count; i = bitset_next(among, (size_t)i + 1), count--)
            bitset_set(devices, (size_t)i);
    } else if (have <= EXACT_MAX) {
        choose_exactly(g, among, count, devices);
    } else {
        choose_in_turn(g, among, count, devices);
    }
}
