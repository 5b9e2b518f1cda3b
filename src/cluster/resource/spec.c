/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/spec.h"

#include <stdlib.h>

#include "base/bitset.h"
#include "base/mem.h"
#include "base/ranges.h"
#include "cluster/cluster.h"

static void keep_cpu(const struct node *n, size_t cpu, struct bitset *kept)
{
    size_t first = cpu / n->threads * n->threads; /* including its whole core */
    for (size_t i = first; i < first + n->threads; i++)
        if (i / n->cpus_per_unit < kept->size)
            bitset_set(kept, i / n->cpus_per_unit);
}

static void keep_list(const struct node *n, const char *list, struct bitset *kept)
{
    ranges_foreach (list, r)
        for (size_t cpu = r.first; cpu <= r.last && cpu < kept->size * n->cpus_per_unit; cpu++)
            keep_cpu(n, cpu, kept);
}

/* Reserves 'count' cores, from the sockets in turn: backwards from the last core of the last
 * socket, or forwards from the first core of the first one. If units are sockets, reserves as many
 * sockets as have these cores. */
static void keep_count(const struct node *n, uint32_t count, bool first, struct bitset *kept)
{
    size_t wanted = (size_t)count * n->threads;
    for (uint32_t i = 0; i < n->sockets * n->cores; i++) {
        uint32_t socket = i % n->sockets, core = i / n->sockets;
        if (bitset_count(kept) * n->cpus_per_unit >= wanted)
            return;
        if (!first) {
            socket = n->sockets - 1 - socket;
            core = n->cores - 1 - core;
        }
        keep_cpu(n, ((size_t)socket * n->cores + core) * n->threads, kept);
    }
}

/* Whether the reserved units are exactly the last ones. */
static bool is_tail(const struct bitset *kept)
{
    long first = bitset_next(kept, 0);
    return first < 0 || bitset_next_clear(kept, (size_t)first) < 0;
}

void spec_keep(struct node *n, bool first)
{
    const struct conf_node_row *row = n->row;
    _cleanup_bitset_ struct bitset *kept = bitset_new(n->units);
    uint32_t all = n->units;
    spec_free(n);
    keep_count(n, row->core_spec_count, first, kept);
    keep_list(n, row->cpu_spec_list, kept);
    if (bitset_count(kept) == all && all)
        bitset_unset(kept, 0);
    n->units = all - (uint32_t)bitset_count(kept);
    if (is_tail(kept))
        return;
    n->places = mem_new_array(uint32_t, n->units + 1);
    for (uint32_t place = 0, unit = 0; place < all; place++)
        if (!bitset_test(kept, place))
            n->places[unit++] = place;
}

void spec_free(struct node *n)
{
    free(take_ptr(n->places));
}

size_t spec_place(const struct node *n, size_t unit)
{
    return n->places && unit < n->units ? n->places[unit] : unit;
}

size_t spec_units_before(const struct node *n, size_t place)
{
    size_t low = 0, high = n->units;
    if (!n->places)
        return place < n->units ? place : n->units;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (n->places[middle] < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool spec_has_unit_at(const struct node *n, size_t place)
{
    size_t unit = spec_units_before(n, place);
    return unit < n->units && spec_place(n, unit) == place;
}

uint32_t spec_all_cpus(const struct node *n)
{
    return n->cpus + n->spec_cpus;
}

void spec_put_list(const struct node *n, struct str *out)
{
    size_t each = n->cpus_per_unit, all = spec_all_cpus(n) / each, shown = 0;
    for (size_t first = 0, end; first < all; first = end + 1) {
        for (end = first; end < all && !spec_has_unit_at(n, end); end++)
            ;
        if (end == first)
            continue;
        str_printf(out, "%s%zu", shown++ ? "," : "", first * each);
        if ((end - first) * each > 1)
            str_printf(out, "-%zu", end * each - 1);
    }
}
