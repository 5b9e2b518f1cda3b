/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice in a network of rings: consecutive nodes of one ring, which may wrap around. With
 * --segment each segment is such a run, and segments may be in several rings. Of the possible runs
 * the lightest is taken, of these the shortest, and then the one that leaves the fewest free nodes
 * around it and does not split them.
 */
#include "base/mem.h"
#include "cluster/node/topo.h"
#include "sched/select/choose.h"

struct run {
    uint32_t leaf, first, len;
    uint32_t heaviest; /* weight of its nodes */
    uint32_t asked;    /* number of required nodes in it */
    uint32_t spare;    /* free nodes around it */
    bool splits;       /* free nodes on both of its sides */
};

struct growing { /* a run that is being extended */
    uint64_t sum, sum_more;
    struct choose_tally tally;
    struct run run;
};

static uint32_t ring_size(const struct topo *t, uint32_t leaf)
{
    return t->first[leaf + 1] - t->first[leaf];
}

static uint32_t node_at(const struct topo *t, uint32_t leaf, uint32_t place)
{
    return t->nodes[t->first[leaf] + place % ring_size(t, leaf)];
}

static bool is_free(const struct chooser *ch, uint32_t leaf, uint32_t place)
{
    return bitset_test(ch->fits, node_at(ch->topo, leaf, place));
}

static void extend_run(const struct chooser *ch, struct growing *g)
{
    uint32_t node = node_at(ch->topo, g->run.leaf, g->run.first + g->run.len++);
    g->sum += ch->tasks[node];
    g->sum_more += ch->need_more ? ch->more[node] : 0;
    g->run.asked += ch->required && bitset_test(ch->required, node);
    if (ch->weight[node] > g->run.heaviest)
        g->run.heaviest = ch->weight[node];
    if (ch->counts)
        choose_tally_add(&g->tally, ch, node, true);
}

/* Counts free nodes before the place, or from it on, up to a maximum. */
static uint32_t count_free(const struct chooser *ch, uint32_t leaf, uint32_t place, bool before,
                           uint32_t most)
{
    uint32_t size = ring_size(ch->topo, leaf), n = 0;
    while (n < most && is_free(ch, leaf, before ? place + size - 1 - n : place + n))
        n++;
    return n;
}

static void count_around(const struct chooser *ch, struct run *r)
{
    uint32_t rest = ring_size(ch->topo, r->leaf) - r->len;
    uint32_t before = count_free(ch, r->leaf, r->first, true, rest);
    uint32_t behind = count_free(ch, r->leaf, r->first + r->len, false, rest - before);
    r->spare = before + behind;
    r->splits = before && behind;
}

/* Prefers 'good' nodes, then as few as suffice. */
static bool is_better(const struct chooser *ch, const struct run *a, const struct run *b)
{
    uint32_t good = a->len < ch->good ? a->len : ch->good;
    uint32_t other = b->len < ch->good ? b->len : ch->good;
    if (!b->len)
        return true;
    if (good != other)
        return good > other;
    if (a->heaviest != b->heaviest)
        return a->heaviest < b->heaviest;
    if (a->len != b->len)
        return a->len < b->len;
    return a->splits != b->splits ? b->splits : a->spare < b->spare;
}

static void add_run(struct chooser *ch, const struct run *r)
{
    for (uint32_t i = 0; i < r->len; i++)
        choose_add(ch, node_at(ch->topo, r->leaf, r->first + i));
}

/* --- one run -----------------------------------------------------------------------------------
 */

static bool is_enough(const struct chooser *ch, const struct growing *g, uint32_t required)
{
    return g->run.len >= ch->min && g->sum >= ch->need && g->sum_more >= ch->need_more &&
           g->run.asked == required && (!ch->counts || choose_tally_does(&g->tally, ch));
}

/* Finds the shortest sufficient run from there; with 'good' nodes if they are free. */
static void find_run_from(const struct chooser *ch, uint32_t leaf, uint32_t first,
                          uint32_t required, struct run *best)
{
    struct growing g = {.run = {.leaf = leaf, .first = first}};
    uint32_t size = ring_size(ch->topo, leaf), most = ch->max < size ? ch->max : size;
    while (g.run.len < most && !is_enough(ch, &g, required) && is_free(ch, leaf, first + g.run.len))
        extend_run(ch, &g);
    if (!is_enough(ch, &g, required) || !g.run.len)
        return;
    while (g.run.len < most && g.run.len < ch->good && is_free(ch, leaf, first + g.run.len))
        extend_run(ch, &g);
    count_around(ch, &g.run);
    if (is_better(ch, &g.run, best))
        *best = g.run;
}

bool choose_in_ring(struct chooser *ch)
{
    struct run best = {0};
    uint32_t required = ch->required ? (uint32_t)bitset_count(ch->required) : 0;
    choose_nothing(ch);
    for (uint32_t leaf = 0; leaf < ch->topo->leaves; leaf++)
        for (uint32_t first = 0; first < ring_size(ch->topo, leaf); first++)
            find_run_from(ch, leaf, first, required, &best);
    add_run(ch, &best);
    return best.len > 0;
}

/* --- segments ----------------------------------------------------------------------------------
 */

#define PLACES (CONF_RING_NODES_MAX + 1)
#define NEVER UINT64_MAX

/* The cheapest placements of segments in a ring. The ring is cut into a row of nodes, which is
 * solved from its beginning by dynamic programming. */
struct layout {
    uint32_t cut; /* place in the ring of the row's first node */
    /* [p][n]: least cost of n segments on the first p nodes of the row, such that segments cover
     * all required nodes; NEVER: impossible. */
    uint64_t cost[PLACES][PLACES];
    bool ends[PLACES][PLACES]; /* whether the last of these segments ends with node p */
};

static bool is_required(const struct chooser *ch, uint32_t node)
{
    return ch->required && bitset_test(ch->required, node);
}

/* Cost of a segment from there on: low for light nodes, or for nodes that take the most tasks. */
static uint64_t cost_of(const struct chooser *ch, uint32_t leaf, uint32_t place, bool capable)
{
    uint64_t cost = 0;
    for (uint32_t i = 0; i < ch->segment; i++) {
        uint32_t node = node_at(ch->topo, leaf, place + i);
        if (!bitset_test(ch->fits, node))
            return NEVER;
        cost += capable ? UINT32_MAX - ch->tasks[node] : ch->weight[node];
    }
    return cost;
}

static void lower_cost(struct layout *l, uint32_t place, uint32_t count, uint64_t cost, bool ends)
{
    if (cost >= l->cost[place][count])
        return;
    l->cost[place][count] = cost;
    l->ends[place][count] = ends;
}

static void place_segments(const struct chooser *ch, uint32_t leaf, uint32_t cut, bool capable,
                           struct layout *l)
{
    uint32_t size = ring_size(ch->topo, leaf);
    l->cut = cut;
    for (uint32_t place = 0; place <= size; place++)
        for (uint32_t count = 0; count <= size; count++)
            l->cost[place][count] = NEVER;
    l->cost[0][0] = 0;
    for (uint32_t place = 0; place < size; place++) {
        bool fits = place + ch->segment <= size;
        uint64_t more = fits ? cost_of(ch, leaf, cut + place, capable) : NEVER;
        bool may_skip = !is_required(ch, node_at(ch->topo, leaf, cut + place));
        for (uint32_t count = 0; count <= place; count++) {
            uint64_t cost = l->cost[place][count];
            if (cost != NEVER && more != NEVER)
                lower_cost(l, place + ch->segment, count + 1, cost + more, true);
            if (cost != NEVER && may_skip)
                lower_cost(l, place + 1, count, cost, false);
        }
    }
}

bool choose_ring_room(const struct chooser *ch, uint32_t leaf, uint32_t *least, uint32_t *most)
{
    uint32_t size = ring_size(ch->topo, leaf);
    struct layout l;
    *least = UINT32_MAX;
    *most = 0;
    for (uint32_t cut = 0; cut < size; cut++) {
        place_segments(ch, leaf, cut, false, &l);
        for (uint32_t count = 0; count <= size; count++) {
            if (l.cost[size][count] == NEVER)
                continue;
            *least = count < *least ? count : *least;
            *most = count > *most ? count : *most;
        }
    }
    return *least != UINT32_MAX;
}

/* Adds the segments from the last place back to the first. */
static void add_laid_out(struct chooser *ch, uint32_t leaf, const struct layout *l, uint32_t count)
{
    for (uint32_t place = ring_size(ch->topo, leaf); place > 0;) {
        if (!l->ends[place][count]) {
            place--;
            continue;
        }
        place -= ch->segment;
        count--;
        for (uint32_t i = 0; i < ch->segment; i++)
            choose_add(ch, node_at(ch->topo, leaf, l->cut + place + i));
    }
}

/* Places the segments at the least cost. The last segment is at the end of the layout, which is
 * better if the node behind it is not free: free nodes are then not split. */
void choose_ring_add(struct chooser *ch, uint32_t leaf, uint32_t count, bool capable)
{
    uint32_t size = ring_size(ch->topo, leaf);
    struct layout l, best = {0};
    uint64_t least = NEVER;
    bool is_edge = false;
    for (uint32_t cut = 0; cut < size; cut++) {
        place_segments(ch, leaf, cut, capable, &l);
        bool edge = !bitset_test(ch->fits, node_at(ch->topo, leaf, cut));
        uint64_t cost = l.cost[size][count];
        if (cost > least || (cost == least && (is_edge || !edge)))
            continue;
        best = l;
        least = cost;
        is_edge = edge;
    }
    if (least != NEVER)
        add_laid_out(ch, leaf, &best, count);
}
