/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether the components of a set can be divided among the fabrics and blocks of a network: all
 * nodes of a component must be in one fabric, and all nodes of a segment in one block. Every
 * division is tried, and a fabric or block must have enough for everything in it.
 */
#include <assert.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cluster/cluster.h"
#include "cluster/node/topo.h"
#include "sched/plan/joint_demand.h"

/* Checks of a piece in a bin; beyond this the search is given up. */
#define CHECKS_MOST 2000
#define PIECES_MOST 256 /* a set with more pieces is not searched */

struct piece { /* a component, or a segment of one */
    const struct demand *of;
    bool segment;
    uint32_t first_bin, end_bin; /* it is in one of these */
};

struct division {
    const struct cluster *cluster;
    const struct demand *demands;
    uint32_t count;
    const struct topo *topo;
    VEC(struct bitset *) bins; /* nodes of fabrics, then those of blocks */
    uint32_t fabrics;
    struct bitset *taken; /* nodes required by demands that are bound to no bin */
    VEC(struct piece) pieces;
    VEC(struct demand) placed; /* the demands bound to no bin, then the first pieces */
    VEC(uint32_t) at;          /* bin of each placed piece */
    uint32_t checks;
};

/* --- the pieces ---------------------------------------------------------------------------------
 */

static void add_bin(struct division *d, uint32_t first_leaf, uint32_t end_leaf)
{
    const struct topo *t = d->topo;
    struct bitset *nodes = bitset_new(d->cluster->nodes.len);
    for (uint32_t i = t->first[first_leaf]; i < t->first[end_leaf]; i++)
        bitset_set(nodes, t->nodes[i]);
    vec_push(&d->bins, nodes);
}

static void add_bins(struct division *d)
{
    vec_foreach (&d->topo->switches, s)
        if (s->root)
            add_bin(d, s->first, s->end);
    d->fabrics = (uint32_t)d->bins.len;
    for (uint32_t i = 0; i < d->topo->leaves; i++)
        add_bin(d, i, i + 1);
}

/* Adds the minimum number of its segments. */
static void add_segments(struct division *d, const struct demand *of)
{
    uint64_t count = (of->least_nodes + of->segment - 1) / of->segment;
    for (uint64_t i = 0; i < count && d->pieces.len <= PIECES_MOST; i++)
        vec_push(&d->pieces, ((struct piece){of, true, d->fabrics, (uint32_t)d->bins.len}));
}

static void add_unbound(struct division *d, const struct demand *of)
{
    vec_push(&d->placed, *of);
    if (of->whole && of->least_nodes >= bitset_count(of->nodes))
        bitset_or(d->taken, of->nodes);
}

static void add_pieces(struct division *d)
{
    for (uint32_t i = 0; i < d->count; i++) {
        const struct demand *of = &d->demands[i];
        if (of->topo != d->topo)
            add_unbound(d, of);
        else if (of->segment)
            add_segments(d, of);
        else
            vec_push(&d->pieces, ((struct piece){of, false, 0, d->fabrics}));
    }
}

/* --- the search ----------------------------------------------------------------------------------
 */

/* Returns the demand of the piece in that bin. The caller frees the nodes. */
static struct demand demand_in(const struct division *d, const struct piece *piece,
                               const struct bitset *bin)
{
    struct demand in = *piece->of;
    in.nodes = bitset_dup(bin);
    bitset_and(in.nodes, piece->of->nodes);
    bitset_andnot(in.nodes, d->taken);
    if (piece->segment) {
        in.least_nodes = in.segment;
        in.cpus = 0;
        in.amounts = amounts_times(&in.node_amounts, (uint32_t)in.least_nodes);
        in.gres = NULL;
    }
    return in;
}

/* Whether the last piece fits into its bin beside all placed pieces. */
static bool last_fits(const struct division *d, const struct bitset *bin)
{
    uint32_t count = (uint32_t)d->placed.len;
    const struct demand *last = &d->placed.data[count - 1];
    if (bitset_count(last->nodes) < last->least_nodes ||
        !joint_has_enough(d->cluster, bin, d->placed.data, count) ||
        !joint_has_enough(d->cluster, last->nodes, d->placed.data, count))
        return false;
    for (uint32_t i = 0; i + 1 < count; i++)
        if (!joint_fits_beside(d->cluster, &d->placed.data[i], last))
            return false;
    return true;
}

static bool are_alike(const struct piece *a, const struct piece *b)
{
    const struct demand *x = a->of, *y = b->of;
    if (x == y)
        return true;
    return a->segment == b->segment && x->least_nodes == y->least_nodes && x->cpus == y->cpus &&
           amounts_equal(&x->amounts, &y->amounts) &&
           amounts_equal(&x->node_amounts, &y->node_amounts) && x->whole == y->whole &&
           x->segment == y->segment && !a->segment && !x->gres && !y->gres &&
           bitset_equal(x->nodes, y->nodes);
}

/* Identical pieces are placed in the order of the bins. */
static uint32_t find_first_bin(const struct division *d, size_t at)
{
    const struct piece *piece = &d->pieces.data[at], *before = at ? piece - 1 : NULL;
    if (!before || !are_alike(before, piece))
        return piece->first_bin;
    bool next = piece->segment && piece->of->segments_apart;
    return d->at.data[at - 1] + next;
}

static bool holds_nothing(const struct division *d, uint32_t bin)
{
    vec_foreach (&d->placed, other)
        if (bitset_intersects(d->bins.data[bin], other->nodes))
            return false;
    return true;
}

/* Whether the nodes of each bin have the same kind, and every demand can use either both bins or
 * none. */
static bool bins_are_alike(const struct division *d, const struct bitset *a, const struct bitset *b)
{
    const uint32_t *kind = d->cluster->pool.kind;
    if (bitset_count(a) != bitset_count(b) || bitset_empty(a))
        return false;
    uint32_t first = kind[bitset_next(a, 0)];
    bitset_foreach (a, i)
        if (kind[i] != first)
            return false;
    bitset_foreach (b, i)
        if (kind[i] != first)
            return false;
    for (uint32_t i = 0; i < d->count; i++) {
        const struct bitset *nodes = d->demands[i].nodes;
        bool all = bitset_contains(nodes, a) && bitset_contains(nodes, b);
        if (!all && (bitset_intersects(nodes, a) || bitset_intersects(nodes, b)))
            return false;
    }
    return true;
}

/* Whether the bin would give the same result as an earlier one. */
static bool repeats_earlier_bin(const struct division *d, const struct piece *piece, uint32_t bin)
{
    if (bin == piece->first_bin || !holds_nothing(d, bin))
        return false;
    return holds_nothing(d, bin - 1) && bins_are_alike(d, d->bins.data[bin - 1], d->bins.data[bin]);
}

static bool place_from(struct division *d, size_t at);

static bool place_in(struct division *d, size_t at, uint32_t bin)
{
    const struct bitset *nodes = d->bins.data[bin];
    vec_push(&d->placed, demand_in(d, &d->pieces.data[at], nodes));
    vec_push(&d->at, bin);
    d->checks++;
    bool can = last_fits(d, nodes) && place_from(d, at + 1);
    bitset_free(vec_last(&d->placed).nodes);
    d->placed.len--;
    d->at.len--;
    return can;
}

static bool place_from(struct division *d, size_t at)
{
    if (at == d->pieces.len)
        return true;
    const struct piece *piece = &d->pieces.data[at];
    for (uint32_t bin = find_first_bin(d, at); bin < piece->end_bin; bin++) {
        if (d->checks >= CHECKS_MOST)
            return true;
        if (!repeats_earlier_bin(d, piece, bin) && place_in(d, at, bin))
            return true;
    }
    return false;
}

static bool can_divide_by(const struct cluster *c, const struct topo *topo,
                          const struct demand *demands, uint32_t count)
{
    struct division d = {.cluster = c,
                         .demands = demands,
                         .count = count,
                         .topo = topo,
                         .taken = bitset_new(c->nodes.len)};
    add_bins(&d);
    assert(d.bins.len && d.bins.data); /* every node is in a fabric */
    add_pieces(&d);
    bool can = d.pieces.len > PIECES_MOST || place_from(&d, 0);
    vec_foreach (&d.bins, bin)
        bitset_free(*bin);
    bitset_free(d.taken);
    vec_done(&d.bins);
    vec_done(&d.pieces);
    vec_done(&d.placed);
    vec_done(&d.at);
    return can;
}

bool joint_can_divide(const struct cluster *c, const struct demand *demands, uint32_t count)
{
    bool can = true;
    for (uint32_t i = 0; can && i < count; i++) {
        bool is_first = demands[i].topo;
        for (uint32_t k = 0; is_first && k < i; k++)
            is_first = demands[k].topo != demands[i].topo;
        can = !is_first || can_divide_by(c, demands[i].topo, demands, count);
    }
    return can;
}
