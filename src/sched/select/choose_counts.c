/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice if given numbers of nodes must be of given sorts.
 *
 * If each node counts once, the sets of a size that satisfy the counts are the bases of a matroid:
 * nodes are taken in any order of preference, each if it raises the rank or if the choice has space
 * for a node that does not; the result is optimal in that order. The rank of a set S is the
 * minimum, over the sets T of sorts, of the number of nodes in S of a sort in T plus the counts of
 * the other sorts (Koenig, Ore).
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sched/select/choose.h"

#define TRIES 32 /* maximum numbers of nodes that count twice */

static unsigned sort_sets(const struct choose_counts *counts)
{
    return 1u << counts->sorts;
}

static unsigned sorts_of(const struct choose_counts *counts, size_t node)
{
    return counts->of[counts->kind[node]];
}

static uint64_t sum_asked(const struct choose_counts *counts, unsigned set)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < counts->sorts; i++)
        sum += set >> i & 1 ? counts->nodes[i] : 0;
    return sum;
}

void choose_tally_add(struct choose_tally *t, const struct chooser *ch, size_t node, bool add)
{
    unsigned sorts = sorts_of(ch->counts, node);
    for (unsigned set = 1; set < sort_sets(ch->counts); set++)
        if (set & sorts)
            t->hits[set] += add ? 1 : UINT32_MAX;
}

bool choose_tally_does(const struct choose_tally *t, const struct chooser *ch)
{
    const struct choose_counts *counts = ch->counts;
    for (unsigned set = 1; set < sort_sets(counts); set++)
        if ((counts->apart || !(set & (set - 1))) && t->hits[set] < sum_asked(counts, set))
            return false;
    return true;
}

/* --- each node counts once ---------------------------------------------------------------------
 */

struct item {
    uint32_t node, weight;
    uint64_t has; /* tasks, or part of the job's total request */
};

struct trial {
    struct chooser *ch;
    struct choose_counts counts;
    struct item *items; /* nodes that are not required */
    size_t len;
    uint64_t asked; /* nodes, over all counts */
    /* Bound: by set of sorts; the minimum is the rank. */
    uint64_t rank, bound[1u << CHOOSE_COUNTS_MAX];
    uint64_t spare; /* number of nodes left that need not raise the rank */
};

static bool raises_rank(const struct trial *t, unsigned sorts)
{
    if (t->rank == t->asked)
        return false;
    for (unsigned set = 0; set < sort_sets(&t->counts); set++)
        if (t->bound[set] == t->rank && !(set & sorts))
            return false;
    return true;
}

static bool take_node(struct trial *t, uint32_t node)
{
    unsigned sorts = sorts_of(&t->counts, node);
    bool up = raises_rank(t, sorts);
    if (!up && t->spare == 0)
        return false;
    t->spare -= !up;
    t->rank += up;
    for (unsigned set = 1; set < sort_sets(&t->counts); set++)
        t->bound[set] += (set & sorts) != 0;
    choose_add(t->ch, node);
    return true;
}

/* Takes up to 'size' nodes within the weight limit in the order of the list. */
static bool take_all(struct trial *t, uint64_t size, uint32_t heaviest)
{
    struct chooser *ch = t->ch;
    const struct bitset *required = ch->required;
    ch->required = NULL;
    choose_start(ch);
    ch->required = required;
    t->rank = 0;
    t->spare = size - t->asked;
    for (unsigned set = 0; set < sort_sets(&t->counts); set++)
        t->bound[set] = t->asked - sum_asked(&t->counts, set);
    if (required)
        bitset_foreach (required, i)
            if (!take_node(t, (uint32_t)i))
                return false;
    for (size_t i = 0; i < t->len && ch->count < size; i++)
        if (t->items[i].weight <= heaviest)
            take_node(t, t->items[i].node);
    return t->rank == t->asked && choose_enough(ch);
}

static int by_weight(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

static int by_what_it_has(const void *a, const void *b)
{
    const struct item *x = a, *y = b;
    return x->has != y->has ? (x->has > y->has ? -1 : 1) : by_weight(a, b);
}

static uint64_t at_least(const struct trial *t, uint64_t nodes)
{
    return nodes > t->asked ? nodes : t->asked;
}

/* Takes the most capable nodes, with the lowest weight limit and then the fewest nodes. 'by_more':
 * prefers nodes with the largest part of the job's total request. */
static bool take_capable(struct trial *t, bool by_more)
{
    uint64_t size = t->ch->max < t->ch->fits->size ? t->ch->max : t->ch->fits->size;
    uint64_t few = at_least(t, t->ch->min), low = 0, high = 0;
    for (size_t i = 0; i < t->len; i++) {
        uint32_t node = t->items[i].node;
        t->items[i].has = by_more ? t->ch->more[node] : t->ch->tasks[node];
    }
    qsort(t->items, t->len, sizeof(*t->items), by_what_it_has);
    if (size < few || !take_all(t, size, UINT32_MAX))
        return false;
    for (size_t i = 0; i < t->len; i++)
        high = t->items[i].weight > high ? t->items[i].weight : high;
    while (low < high) {
        uint64_t middle = (low + high) / 2;
        if (take_all(t, size, (uint32_t)middle))
            high = middle;
        else
            low = middle + 1;
    }
    while (few < size) {
        uint64_t middle = (few + size) / 2;
        if (take_all(t, middle, (uint32_t)high))
            size = middle;
        else
            few = middle + 1;
    }
    return take_all(t, size, (uint32_t)high);
}

/* Takes 'good' light nodes, or else the nodes that take the most tasks. */
static bool choose_apart(struct trial *t)
{
    struct chooser *ch = t->ch;
    t->asked = sum_asked(&t->counts, sort_sets(&t->counts) - 1);
    if (t->asked > ch->max)
        return false;
    qsort(t->items, t->len, sizeof(*t->items), by_weight);
    return take_all(t, at_least(t, ch->good), UINT32_MAX) || take_capable(t, false) ||
           (ch->need_more && take_capable(t, true));
}

/* --- a node may count for both of two sorts ----------------------------------------------------
 */

enum { BOTH, ONE, OTHER };

struct cost { /* cost of a choice; required nodes are in all choices */
    uint32_t nodes, heaviest;
    uint64_t sum;
};

static struct cost cost_of(const struct chooser *ch)
{
    struct cost cost = {.nodes = ch->count > ch->good ? ch->count : 0};
    bitset_foreach (ch->chosen, i) {
        if (ch->required && bitset_test(ch->required, (size_t)i))
            continue;
        cost.heaviest = ch->weight[i] > cost.heaviest ? ch->weight[i] : cost.heaviest;
        cost.sum += ch->weight[i];
    }
    return cost;
}

static bool is_less(struct cost a, struct cost b)
{
    if (a.nodes != b.nodes)
        return a.nodes < b.nodes;
    return a.heaviest != b.heaviest ? a.heaviest < b.heaviest : a.sum < b.sum;
}

/* Chooses with 'twice' nodes that count twice; the other nodes count once. */
static bool choose_twice(struct trial *t, const struct choose_counts *given, uint32_t twice)
{
    t->counts.nodes[BOTH] = twice;
    t->counts.nodes[ONE] = given->nodes[0] - twice;
    t->counts.nodes[OTHER] = given->nodes[1] - twice;
    return choose_apart(t);
}

static bool choose_two(struct trial *t, const struct choose_counts *given, size_t kinds)
{
    static const uint8_t of[] = {0, 1 << ONE, 1 << OTHER, 1 << BOTH | 1 << ONE | 1 << OTHER};
    uint8_t *map = mem_new_array(uint8_t, kinds + 1);
    uint32_t a = given->nodes[0], b = given->nodes[1], most = a < b ? a : b, best = 0;
    uint32_t step = most / TRIES + 1;
    struct cost least = {0};
    bool found = false;
    for (size_t k = 0; k < kinds; k++)
        map[k] = of[given->of[k] & 3];
    t->counts = (struct choose_counts){.sorts = 3, .of = map, .kind = given->kind};
    for (uint64_t less = 0; less < (uint64_t)most + step; less += step) {
        uint32_t twice = less < most ? most - (uint32_t)less : 0;
        if (choose_twice(t, given, twice) && (!found || is_less(cost_of(t->ch), least))) {
            least = cost_of(t->ch);
            best = twice;
            found = true;
        }
    }
    found = found && choose_twice(t, given, best);
    free(map);
    return found;
}

static size_t kinds_of(const struct chooser *ch)
{
    size_t kinds = 0;
    bitset_foreach (ch->fits, i)
        if (ch->counts->kind[i] >= kinds)
            kinds = ch->counts->kind[i] + 1;
    return kinds;
}

bool choose_counted(struct chooser *ch)
{
    const struct choose_counts *given = ch->counts;
    struct trial t = {.ch = ch, .counts = *given};
    t.items = mem_new_array(struct item, bitset_count(ch->fits) + 1);
    bitset_foreach (ch->fits, i)
        if (!ch->required || !bitset_test(ch->required, (size_t)i))
            t.items[t.len++] = (struct item){(uint32_t)i, ch->weight[i], 0};
    bool found =
        given->apart || given->sorts == 1 ? choose_apart(&t) : choose_two(&t, given, kinds_of(ch));
    free(t.items);
    return found;
}
