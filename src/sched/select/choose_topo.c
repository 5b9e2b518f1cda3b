/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice by the network: within the lowest sufficient weight limit, below the lowest switch
 * with enough nodes, of those the one with the least left; there on the fewest leaves, the last of
 * them the tightest fit. Free resources are summed by leaf once, and a switch is a range of leaves.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "cluster/node/topo.h"
#include "sched/select/choose.h"

/* Maximum switches tried if the first one fails, or does not suffice on one leaf. */
#define SWITCHES_TRIED 8

struct sums { /* of one leaf, or of all leaves before one */
    uint64_t nodes, tasks, more;
};

struct pick {
    struct chooser *ch;
    const struct topo *t;
    uint32_t heaviest;   /* heavier nodes are ignored */
    struct sums *leaf;   /* fitting nodes of each leaf */
    struct sums *before; /* for each leaf the sum of the leaves before it; one more at the end */
    bool *used;          /* by leaf */
    uint32_t req_first, req_end; /* leaves of the required nodes; end 0: none */
    struct bitset *set;          /* scratch */
};

/* --- sums ---------------------------------------------------------------------------------------
 */

static void sum_pick(struct pick *p)
{
    const struct chooser *ch = p->ch;
    memset(p->leaf, 0, p->t->leaves * sizeof(*p->leaf));
    bitset_foreach (ch->fits, i) {
        struct sums *s = &p->leaf[p->t->leaf[i]];
        bool asked = ch->required && bitset_test(ch->required, (size_t)i);
        if (ch->weight[i] > p->heaviest && !asked)
            continue;
        s->nodes++;
        s->tasks += ch->tasks[i];
        s->more += ch->need_more ? ch->more[i] : 0;
    }
    for (uint32_t i = 0; i < p->t->leaves; i++)
        p->before[i + 1] = (struct sums){p->before[i].nodes + p->leaf[i].nodes,
                                         p->before[i].tasks + p->leaf[i].tasks,
                                         p->before[i].more + p->leaf[i].more};
}

static struct sums sums_of(const struct pick *p, const struct topo_switch *s)
{
    const struct sums *a = &p->before[s->first], *b = &p->before[s->end];
    return (struct sums){b->nodes - a->nodes, b->tasks - a->tasks, b->more - a->more};
}

/* Whether its total suffices; with a maximum of nodes the choice may still fail. */
static bool has_enough(const struct pick *p, const struct topo_switch *s)
{
    struct sums sums = sums_of(p, s);
    return sums.nodes >= p->ch->min && sums.tasks >= p->ch->need && sums.more >= p->ch->need_more &&
           (!p->req_end || (s->first <= p->req_first && p->req_end <= s->end));
}

static bool some_fabric_has(struct pick *p, uint32_t heaviest)
{
    p->heaviest = heaviest;
    sum_pick(p);
    for (size_t i = p->t->switches.len; i-- > 0;) /* large ones are at the end */
        if (p->t->switches.data[i].root && has_enough(p, &p->t->switches.data[i]))
            return true;
    return false;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

/* Finds the lowest weight limit with which there is enough. False: there is none. */
static bool bound_weight(struct pick *p)
{
    VEC(uint32_t) weights = {0};
    bitset_foreach (p->ch->fits, i)
        if (!weights.len || p->ch->weight[i] != vec_last(&weights))
            vec_push(&weights, p->ch->weight[i]);
    if (weights.len > 1)
        qsort(weights.data, weights.len, sizeof(*weights.data), by_number);
    size_t low = 0, high = weights.len ? weights.len - 1 : 0;
    bool found = weights.len && some_fabric_has(p, weights.data[high]);
    while (found && weights.data[low] < weights.data[high]) {
        size_t middle = (low + high) / 2;
        if (some_fabric_has(p, weights.data[middle]))
            high = middle;
        else
            low = middle + 1;
    }
    if (found && p->heaviest != weights.data[high])
        some_fabric_has(p, weights.data[high]);
    vec_done(&weights);
    return found;
}

/* --- leaves of a switch ------------------------------------------------------------------------
 */

struct missing {
    uint64_t nodes, tasks, more;
};

static uint64_t subtract_floor(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

static struct missing what_misses(const struct chooser *ch)
{
    return (struct missing){subtract_floor(ch->min, ch->count), subtract_floor(ch->need, ch->sum),
                            subtract_floor(ch->need_more, ch->sum_more)};
}

static bool is_enough(const struct sums *s, const struct missing *m)
{
    return s->nodes >= m->nodes && s->tasks >= m->tasks && s->more >= m->more;
}

struct ordered {
    uint32_t leaf;
    uint64_t rank; /* high ranks first */
};

static int by_rank(const void *a, const void *b)
{
    const struct ordered *x = a, *y = b;
    if (x->rank != y->rank)
        return x->rank > y->rank ? -1 : 1;
    return x->leaf < y->leaf ? -1 : x->leaf > y->leaf;
}

struct leaves {
    VEC(uint32_t) list; /* in the order of use */
};

/* Returns the sufficient leaf with the fewest nodes; CONF_NO_SWITCH: none suffices. */
static uint32_t find_tightest(const struct pick *p, const struct topo_switch *s,
                              const struct missing *m)
{
    uint32_t best = CONF_NO_SWITCH;
    for (uint32_t i = s->first; i < s->end; i++)
        if (!p->used[i] && p->leaf[i].nodes && is_enough(&p->leaf[i], m) &&
            (best == CONF_NO_SWITCH || p->leaf[i].nodes < p->leaf[best].nodes))
            best = i;
    return best;
}

static uint64_t rank_of(const struct sums *s, unsigned by)
{
    return by == 0 ? s->nodes : by == 1 ? s->tasks : s->more;
}

/* Orders leaves with the most first, until one suffices for the rest. */
static void line_up(struct pick *p, const struct topo_switch *s, unsigned by, struct leaves *out)
{
    struct missing m = what_misses(p->ch);
    struct ordered *order = mem_new_array(struct ordered, s->end - s->first + 1);
    size_t n = 0;
    vec_clear(&out->list);
    for (uint32_t i = s->first; i < s->end; i++)
        if (!p->used[i] && p->leaf[i].nodes)
            order[n++] = (struct ordered){i, rank_of(&p->leaf[i], by)};
    qsort(order, n, sizeof(*order), by_rank);
    for (size_t i = 0; i < n && (m.nodes || m.tasks || m.more); i++) {
        const struct sums *sums = &p->leaf[order[i].leaf];
        struct missing one = {by == 0 ? m.nodes : 0, by == 1 ? m.tasks : 0, by == 2 ? m.more : 0};
        uint32_t last = is_enough(sums, &one) ? find_tightest(p, s, &m) : CONF_NO_SWITCH;
        uint32_t leaf = last != CONF_NO_SWITCH ? last : order[i].leaf;
        vec_push(&out->list, leaf);
        p->used[leaf] = true;
        m = (struct missing){subtract_floor(m.nodes, p->leaf[leaf].nodes),
                             subtract_floor(m.tasks, p->leaf[leaf].tasks),
                             subtract_floor(m.more, p->leaf[leaf].more)};
    }
    vec_foreach (&out->list, leaf)
        p->used[*leaf] = false;
    free(order);
}

static void take_leaf(struct pick *p, uint32_t leaf)
{
    struct chooser *ch = p->ch;
    const uint32_t *nodes = p->t->nodes;
    bitset_zero(p->set);
    for (uint32_t i = p->t->first[leaf]; i < p->t->first[leaf + 1]; i++)
        if (bitset_test(ch->fits, nodes[i]) && ch->weight[nodes[i]] <= p->heaviest)
            bitset_set(p->set, nodes[i]);
    choose_light(ch, p->set);
}

/* Leaves with required nodes are used in any case. */
static void take_used(struct pick *p)
{
    struct chooser *ch = p->ch;
    choose_start(ch);
    memset(p->used, 0, p->t->leaves * sizeof(*p->used));
    if (!ch->required)
        return;
    bitset_foreach (ch->required, i)
        p->used[p->t->leaf[i]] = true;
    for (uint32_t i = p->req_first; i < p->req_end && !choose_enough(ch); i++)
        if (p->used[i])
            take_leaf(p, i);
}

static uint32_t leaves_of(struct pick *p)
{
    uint32_t count = 0;
    memset(p->used, 0, p->t->leaves * sizeof(*p->used));
    bitset_foreach (p->ch->chosen, i) {
        uint32_t leaf = p->t->leaf[i];
        count += !p->used[leaf];
        p->used[leaf] = true;
    }
    return count;
}

static bool few_enough(struct pick *p)
{
    return !p->ch->max_leaves || leaves_of(p) <= p->ch->max_leaves;
}

/* Tries any choice below the switch. */
static bool pick_anyhow(struct pick *p, const struct topo_switch *s)
{
    struct chooser *ch = p->ch;
    struct bitset *fits = ch->fits;
    bitset_zero(p->set);
    for (uint32_t i = p->t->first[s->first]; i < p->t->first[s->end]; i++) {
        uint32_t node = p->t->nodes[i];
        bool asked = ch->required && bitset_test(ch->required, node);
        if (bitset_test(fits, node) && (asked || ch->weight[node] <= p->heaviest))
            bitset_set(p->set, node);
    }
    ch->fits = p->set;
    bool found = choose_flat(ch);
    ch->fits = fits;
    return found && few_enough(p);
}

static bool pick_from(struct pick *p, const struct topo_switch *s)
{
    struct chooser *ch = p->ch;
    struct leaves best = {0}, other = {0};
    take_used(p);
    for (unsigned by = 0; by < (ch->need_more ? 3 : 2) && !choose_enough(ch); by++) {
        struct leaves *to = by ? &other : &best;
        line_up(p, s, by, to);
        if (by && other.list.len < best.list.len) {
            struct leaves fewer = other;
            other = best;
            best = fewer;
        }
    }
    for (size_t i = 0; i < best.list.len && !choose_enough(ch); i++)
        take_leaf(p, best.list.data[i]);
    vec_done(&best.list);
    vec_done(&other.list);
    return (choose_enough(ch) && few_enough(p)) || pick_anyhow(p, s);
}

/* --- the switch --------------------------------------------------------------------------------
 */

struct candidate {
    uint32_t number;
    uint64_t nodes;
};

static int by_nodes(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Tries the switches with the least left first; among equal ones the switch with the fewest
 * leaves. */
static bool pick_best(struct pick *p, const struct candidate *list, size_t n, unsigned *tried)
{
    const struct topo_switch *best = NULL, *last = NULL;
    uint32_t fewest = UINT32_MAX;
    for (size_t i = 0; i < n && fewest > 1 && *tried < SWITCHES_TRIED; i++, ++*tried) {
        const struct topo_switch *s = &p->t->switches.data[list[i].number];
        last = s;
        uint32_t leaves = pick_from(p, s) ? leaves_of(p) : UINT32_MAX;
        if (leaves < fewest) {
            best = s;
            fewest = leaves;
        }
    }
    return best && (best == last || pick_from(p, best));
}

/* Tries the switches of one level, which begins at *at. */
static bool pick_level(struct pick *p, size_t *at, unsigned *tried)
{
    const struct topo *t = p->t;
    uint32_t level = t->switches.data[*at].level;
    VEC(struct candidate) list = {0};
    for (; *at < t->switches.len && t->switches.data[*at].level == level; ++*at) {
        const struct topo_switch *s = &t->switches.data[*at];
        if (has_enough(p, s))
            vec_push(&list, ((struct candidate){(uint32_t)*at, sums_of(p, s).nodes}));
    }
    if (list.len > 1)
        qsort(list.data, list.len, sizeof(*list.data), by_nodes);
    bool found = pick_best(p, list.data, list.len, tried);
    vec_done(&list);
    return found;
}

static void see_required(struct pick *p)
{
    p->req_first = UINT32_MAX;
    if (!p->ch->required)
        return;
    bitset_foreach (p->ch->required, i) {
        uint32_t leaf = p->t->leaf[i];
        p->req_first = leaf < p->req_first ? leaf : p->req_first;
        p->req_end = leaf + 1 > p->req_end ? leaf + 1 : p->req_end;
    }
}

static bool pick_lowest(struct pick *p)
{
    unsigned tried = 0;
    bool found = false;
    for (size_t at = 0; at < p->t->switches.len && !found && tried < SWITCHES_TRIED;)
        found = pick_level(p, &at, &tried);
    return found;
}

bool choose_by_topo(struct chooser *ch)
{
    const struct topo *t = ch->topo;
    struct pick p = {.ch = ch, .t = t, .set = bitset_new(ch->fits->size)};
    p.leaf = mem_new_array(struct sums, t->leaves + 1);
    p.before = mem_new_array(struct sums, t->leaves + 1);
    p.used = mem_new_array(bool, t->leaves + 1);
    see_required(&p);
    bool there = bound_weight(&p), found = there && pick_lowest(&p);
    if (there && !found) { /* a maximum of nodes may need heavier nodes */
        some_fabric_has(&p, UINT32_MAX);
        found = pick_lowest(&p);
    }
    if (there && !found && !ch->max_leaves)
        found = choose_in_fabric(ch);
    bitset_free(p.set);
    free(p.leaf);
    free(p.before);
    free(p.used);
    return found;
}

/* --- fabrics -----------------------------------------------------------------------------------
 */

static bool choose_among(struct chooser *ch, struct bitset *among)
{
    struct bitset *fits = ch->fits;
    bitset_zero(ch->chosen);
    ch->count = 0;
    ch->sum = ch->sum_more = 0;
    bool may =
        bitset_count(among) >= ch->min && (!ch->required || bitset_contains(among, ch->required));
    ch->fits = among;
    bool found = may && choose_flat(ch);
    ch->fits = fits;
    return found;
}

static void add_below(const struct chooser *ch, const struct topo_switch *s, struct bitset *set)
{
    const struct topo *t = ch->topo;
    for (uint32_t i = t->first[s->first]; i < t->first[s->end]; i++)
        if (bitset_test(ch->fits, t->nodes[i]))
            bitset_set(set, t->nodes[i]);
}

/* Chooses an unconnected node, at most one. */
static bool choose_alone(struct chooser *ch, struct bitset *set)
{
    uint32_t max = ch->max, good = ch->good;
    bitset_zero(set);
    vec_foreach (&ch->topo->switches, s)
        if (s->root && s->from == CONF_NO_SWITCH && s->level == 0)
            add_below(ch, s, set);
    if (ch->min > 1 || max == 0 || bitset_empty(set))
        return false;
    ch->max = ch->good = 1;
    bool found = choose_among(ch, set);
    ch->max = max;
    ch->good = good;
    return found;
}

static bool on_few_leaves(const struct chooser *ch)
{
    const struct topo *t = ch->topo;
    _cleanup_free_ bool *used = mem_new_array(bool, t->leaves + 1);
    uint32_t count = 0;
    bitset_foreach (ch->chosen, i) {
        count += !used[t->leaf[i]];
        used[t->leaf[i]] = true;
    }
    return count <= ch->max_leaves;
}

/* Chooses below the lowest switch at which a choice without regard to leaves uses few enough
 * leaves. */
static bool choose_few_leaves(struct chooser *ch, struct bitset *set)
{
    const struct topo *t = ch->topo;
    for (size_t i = 0; i < t->switches.len; i++) {
        bitset_zero(set);
        add_below(ch, &t->switches.data[i], set);
        if (!bitset_empty(set) && choose_among(ch, set) && on_few_leaves(ch))
            return true;
    }
    return false;
}

bool choose_in_fabric(struct chooser *ch)
{
    _cleanup_bitset_ struct bitset *set = bitset_new(ch->fits->size);
    const struct topo *t = ch->topo;
    if (ch->max_leaves)
        return choose_few_leaves(ch, set);
    for (size_t i = t->switches.len; i-- > 0;) {
        const struct topo_switch *s = &t->switches.data[i];
        if (!s->root || (s->from == CONF_NO_SWITCH && s->level == 0))
            continue;
        bitset_zero(set);
        add_below(ch, s, set);
        if (choose_among(ch, set))
            return true;
    }
    return choose_alone(ch, set);
}
