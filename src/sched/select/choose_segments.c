/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice for a job with --segment in a network of blocks (rings: choose_ring.c; toruses:
 * choose_torus_segments.c): all nodes of a segment are in one block. The lowest block of blocks
 * with space for all segments is taken, of those the one with the least left; in it the fewest
 * blocks, the last of them the tightest fit.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "cluster/node/topo.h"
#include "sched/select/choose.h"

struct segments {
    struct chooser *ch;
    const struct topo *t;
    uint32_t *room;              /* by leaf: maximum segments for which it has nodes */
    uint32_t *asked;             /* by leaf: segments needed for its required nodes */
    uint32_t *given;             /* by leaf: segments assigned to it */
    uint32_t req_first, req_end; /* leaves of the required nodes; end 0: none */
};

struct segment_node {
    uint32_t node, rank; /* required nodes first, then by rising rank */
    bool required;
};

static uint32_t round_up(uint32_t nodes, uint32_t size)
{
    return (nodes + size - 1) / size;
}

/* --- leaves -------------------------------------------------------------------------------------
 */

static uint32_t room_of(const struct chooser *ch, uint32_t nodes)
{
    uint32_t room = nodes / ch->segment;
    return ch->segments_apart && room > 1 ? 1 : room;
}

static bool count_leaf_segments(struct segments *s)
{
    const struct chooser *ch = s->ch;
    bool fits = true;
    s->req_first = UINT32_MAX;
    bitset_foreach (ch->fits, i)
        s->room[s->t->leaf[i]]++;
    if (ch->required)
        bitset_foreach (ch->required, i)
            s->asked[s->t->leaf[i]]++;
    for (uint32_t i = 0; i < s->t->leaves; i++) {
        s->room[i] = room_of(ch, s->room[i]);
        s->asked[i] = round_up(s->asked[i], ch->segment);
        fits = fits && s->asked[i] <= s->room[i];
        if (s->asked[i]) {
            s->req_first = i < s->req_first ? i : s->req_first;
            s->req_end = i + 1;
        }
    }
    return fits;
}

static bool is_ring(const struct chooser *ch)
{
    return ch->topo->net->kind == CONF_TOPO_RING;
}

static bool count_ring_segments(struct segments *s)
{
    bool fits = true;
    for (uint32_t i = 0; i < s->t->leaves; i++)
        fits = choose_ring_room(s->ch, i, &s->asked[i], &s->room[i]) && fits;
    return fits;
}

static uint64_t room_below(const struct segments *s, const struct topo_switch *sw)
{
    uint64_t room = 0;
    for (uint32_t i = sw->first; i < sw->end; i++)
        room += s->room[i];
    return room;
}

/* All blocks together are a block of blocks only if BlockSizes has a size that large. */
static bool is_block(const struct topo *t, const struct topo_switch *sw)
{
    const struct conf_network *net = t->net;
    size_t blocks = net->switches.len;
    return !sw->root || blocks == 1 || net->block_sizes.len < 2 ||
           vec_last(&net->block_sizes) / net->block_sizes.data[0] >= blocks;
}

static bool may_hold(const struct segments *s, const struct topo_switch *sw)
{
    bool apart = sw->root && sw->level == 0 && s->t->roots > 1; /* a node without a block */
    return !apart && (!s->ch->segments_together || is_block(s->t, sw)) &&
           (!s->req_end || (sw->first <= s->req_first && s->req_end <= sw->end));
}

/* --- the blocks --------------------------------------------------------------------------------
 */

/* Returns the tightest leaf with space for all remaining segments; otherwise the leaf with the most
 * space. */
static uint32_t next_leaf(const struct segments *s, const struct topo_switch *sw, uint32_t left)
{
    uint32_t best = sw->end, most = 0;
    for (uint32_t i = sw->first; i < sw->end; i++) {
        uint32_t room = s->room[i] - s->given[i];
        bool tighter = room >= left && (most < left || room < most);
        if (room && (tighter || (most < left && room > most))) {
            best = i;
            most = room;
        }
    }
    return best;
}

/* Assigns segments, to blocks of required nodes first. */
static bool give_segments(struct segments *s, const struct topo_switch *sw, uint32_t count)
{
    for (uint32_t i = 0; i < s->t->leaves; i++) {
        s->given[i] = s->asked[i];
        if (s->asked[i] > count)
            return false;
        count -= s->asked[i];
    }
    for (uint32_t i = sw->first; i < sw->end; i++) {
        uint32_t more = s->asked[i] ? s->room[i] - s->asked[i] : 0;
        more = more < count ? more : count;
        s->given[i] += more;
        count -= more;
    }
    while (count) {
        uint32_t leaf = next_leaf(s, sw, count);
        if (leaf == sw->end)
            return false;
        uint32_t more = s->room[leaf] - s->given[leaf];
        more = more < count ? more : count;
        s->given[leaf] += more;
        count -= more;
    }
    return true;
}

/* --- nodes of the segments ----------------------------------------------------------------------
 */

static int by_rank(const void *a, const void *b)
{
    const struct segment_node *x = a, *y = b;
    if (x->required != y->required)
        return x->required ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Adds light nodes, or the nodes that take the most tasks. */
static void add_nodes(struct segments *s, uint32_t leaf, bool capable)
{
    struct chooser *ch = s->ch;
    const uint32_t *first = &s->t->first[leaf];
    if (is_ring(ch)) {
        choose_ring_add(ch, leaf, s->given[leaf], capable);
        return;
    }
    struct segment_node *list = mem_new_array(struct segment_node, first[1] - first[0] + 1);
    size_t n = 0;
    for (uint32_t i = first[0]; i < first[1]; i++) {
        uint32_t node = s->t->nodes[i];
        bool required = ch->required && bitset_test(ch->required, node);
        if (bitset_test(ch->fits, node))
            list[n++] = (struct segment_node){
                node, capable ? UINT32_MAX - ch->tasks[node] : ch->weight[node], required};
    }
    qsort(list, n, sizeof(*list), by_rank);
    for (size_t i = 0; i < (size_t)s->given[leaf] * ch->segment; i++)
        choose_add(ch, list[i].node);
    free(list);
}

static bool add_all(struct segments *s, bool capable)
{
    struct chooser *ch = s->ch;
    bitset_zero(ch->chosen);
    ch->count = 0;
    ch->sum = ch->sum_more = 0;
    for (uint32_t i = 0; i < s->t->leaves; i++)
        if (s->given[i])
            add_nodes(s, i, capable);
    return choose_enough(ch);
}

/* --- the choice --------------------------------------------------------------------------------
 */

static bool take_below(struct segments *s, const struct topo_switch *sw, uint32_t count)
{
    return give_segments(s, sw, count) && (add_all(s, false) || add_all(s, true));
}

static bool take_segments(struct segments *s, uint32_t count)
{
    const struct topo *t = s->t;
    const struct topo_switch all = {.end = t->leaves};
    if (is_ring(s->ch))
        return take_below(s, &all, count);
    for (size_t at = 0; at < t->switches.len;) {
        uint32_t level = t->switches.data[at].level;
        const struct topo_switch *best = NULL;
        uint64_t least = UINT64_MAX;
        for (; at < t->switches.len && t->switches.data[at].level == level; at++) {
            const struct topo_switch *sw = &t->switches.data[at];
            uint64_t room = may_hold(s, sw) ? room_below(s, sw) : 0;
            if (room >= count && room < least) {
                best = sw;
                least = room;
            }
        }
        if (best && take_below(s, best, count))
            return true;
    }
    return false;
}

/* Tries 'good' segments, then fewer, then more. */
static bool take_any(struct segments *s, uint32_t from)
{
    const struct chooser *ch = s->ch;
    uint32_t size = ch->segment, most = (uint32_t)bitset_count(ch->fits);
    uint32_t least = round_up(from, size), good = ch->good / size;
    most = (most < ch->max ? most : ch->max) / size;
    good = good < most ? good : most;
    if (ch->topo->net->kind == CONF_TOPO_TORUS)
        return choose_torus_segments(s->ch, least, good, most);
    for (uint32_t n = good; n >= least && n > 0; n--)
        if (take_segments(s, n))
            return true;
    for (uint32_t n = good < least ? least : good + 1; n <= most; n++)
        if (take_segments(s, n))
            return true;
    return false;
}

bool choose_segments(struct chooser *ch)
{
    const struct topo *t = ch->topo;
    struct segments s = {.ch = ch, .t = t};
    uint32_t max = ch->max, good = ch->good;
    bool found = false;
    if (ch->min <= ch->segment) { /* all nodes may be in one segment, which is not restricted */
        ch->max = max < ch->segment ? max : ch->segment;
        ch->good = good < ch->max ? good : ch->max;
        found = choose_in_network(ch);
        ch->max = max;
        ch->good = good;
    }
    if (found || max <= ch->segment)
        return found;
    s.room = mem_new_array(uint32_t, t->leaves + 1);
    s.asked = mem_new_array(uint32_t, t->leaves + 1);
    s.given = mem_new_array(uint32_t, t->leaves + 1);
    found = (is_ring(ch) ? count_ring_segments(&s) : count_leaf_segments(&s)) &&
            take_any(&s, ch->min > ch->segment ? ch->min : ch->segment + 1);
    free(s.room);
    free(s.asked);
    free(s.given);
    return found;
}
