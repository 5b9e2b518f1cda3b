/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/select/choose.h"

#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/vec.h"
#include "cluster/node/topo.h"

void choose_add(struct chooser *ch, size_t node)
{
    bitset_set(ch->chosen, node);
    ch->count++;
    ch->sum += ch->tasks[node];
    ch->sum_more += ch->need_more ? ch->more[node] : 0;
}

bool choose_enough(const struct chooser *ch)
{
    return ch->count >= ch->min && ch->sum >= ch->need && ch->sum_more >= ch->need_more;
}

/* Whether the choice has 'good' nodes: -N 2-4 takes four nodes if they are free. */
static bool is_full(const struct chooser *ch)
{
    return ch->count >= ch->max || (choose_enough(ch) && ch->count >= ch->good);
}

void choose_nothing(struct chooser *ch)
{
    bitset_zero(ch->chosen);
    ch->count = 0;
    ch->sum = ch->sum_more = 0;
}

/* Reduces the choice to the required nodes. */
void choose_start(struct chooser *ch)
{
    choose_nothing(ch);
    if (!ch->required)
        return;
    bitset_foreach (ch->required, i)
        choose_add(ch, (size_t)i);
}

/* --- reserve of the most capable nodes ----------------------------------------------------------
 */

struct capable {
    size_t node;
    uint64_t tasks;
    uint32_t weight;
};

/* If the maximum number of nodes is the limit, a node may be chosen only if the remaining places
 * can hold the rest of the tasks with the most capable of the other nodes. */
struct reserve {
    const struct capable *list; /* most capable first */
    size_t *rank;               /* by node: its index in the list */
    size_t edge;                /* nodes before this index that are not chosen are reserved */
    uint64_t tasks;             /* their tasks */
};

static void init_reserve(struct reserve *r, const struct chooser *ch, const struct capable *list,
                         size_t n)
{
    *r = (struct reserve){.list = list, .rank = mem_new_array(size_t, ch->fits->size + 1)};
    for (size_t i = 0; i < n; i++)
        r->rank[list[i].node] = i;
    for (; r->edge < n && r->edge < ch->max - ch->count; r->edge++)
        r->tasks += list[r->edge].tasks;
}

/* Returns the index of the least capable reserved node. */
static size_t find_last_kept(const struct reserve *r, const struct chooser *ch)
{
    size_t last = r->edge;
    while (last > 0 && bitset_test(ch->chosen, r->list[last - 1].node))
        last--;
    assert(last > 0);
    return last - 1;
}

/* Chooses the node unless the rest of the tasks would not fit then. */
static bool take_reserved(struct reserve *r, struct chooser *ch, size_t node)
{
    size_t gone = r->rank[node] < r->edge ? r->rank[node] : find_last_kept(r, ch);
    uint64_t left = r->tasks - r->list[gone].tasks;
    if (ch->sum + ch->tasks[node] + left < ch->need)
        return false;
    r->tasks = left;
    r->edge = gone == r->rank[node] ? r->edge : gone;
    choose_add(ch, node);
    return true;
}

/* --- runs of consecutive nodes -----------------------------------------------------------------
 */

struct run {
    uint32_t first, len;
    /* The job's total request (generic resources, or tasks) that it holds; counted only up to what
     * was missing when the runs were listed. */
    uint64_t amount;
    bool adjoins; /* it is next to a chosen node */
};

struct runs {
    VEC(struct run) list; /* runs that are not taken yet */
    enum { IN_PLACE, BY_LENGTH, BY_AMOUNT } order;
    struct reserve *reserve; /* NULL: any node may be chosen */
};

static uint64_t get_node_amount(const struct chooser *ch, size_t node)
{
    return ch->need_more ? ch->more[node] : ch->tasks[node];
}

static uint64_t count_missing_amount(const struct chooser *ch)
{
    uint64_t need = ch->need_more ? ch->need_more : ch->need;
    uint64_t sum = ch->need_more ? ch->sum_more : ch->sum;
    return need > sum ? need - sum : 0;
}

static void list_runs(const struct chooser *ch, const struct bitset *set, struct runs *runs)
{
    const uint64_t missing = count_missing_amount(ch);
    vec_clear(&runs->list);
    runs->order = IN_PLACE;
    for (long i = bitset_next(set, 0); i >= 0;) {
        long end = bitset_next_clear(set, (size_t)i);
        size_t after = end < 0 ? set->size : (size_t)end;
        struct run run = {.first = (uint32_t)i, .len = (uint32_t)(after - (size_t)i)};
        for (size_t node = (size_t)i; node < after && run.amount < missing; node++)
            run.amount += get_node_amount(ch, node);
        run.adjoins = (i > 0 && bitset_test(ch->chosen, (size_t)i - 1)) ||
                      (after < set->size && bitset_test(ch->chosen, after));
        vec_push(&runs->list, run);
        i = end < 0 ? -1 : bitset_next(set, after);
    }
}

static int by_length(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->len != y->len)
        return x->len < y->len ? -1 : 1;
    return x->first < y->first ? -1 : x->first > y->first;
}

static int by_amount(const void *a, const void *b)
{
    const struct run *x = a, *y = b;
    if (x->amount != y->amount)
        return x->amount < y->amount ? -1 : 1;
    return by_length(a, b);
}

/* Returns the index of the best run with all that is missing: a run next to a chosen node, then the
 * shortest one. If no run suffices, returns the length of the list. */
static size_t find_run(const struct runs *runs, const struct chooser *ch, size_t wanted,
                       uint64_t missing)
{
    size_t best = runs->list.len;
    for (size_t i = 0; i < runs->list.len; i++) {
        const struct run *run = &runs->list.data[i], *than;
        if (run->len < wanted || run->amount < missing)
            continue;
        than = best < runs->list.len ? &runs->list.data[best] : NULL;
        if (!than || run->adjoins > than->adjoins ||
            (run->adjoins == than->adjoins && by_length(run, than) < 0))
            best = i;
        if (run->len == wanted && (run->adjoins || !ch->count))
            break; /* no run is better */
    }
    return best;
}

/* If no run has all that is missing, the largest runs are taken, and finally the smallest one that
 * suffices. This order needs only one pass over the runs. */
static size_t best_run(struct runs *runs, const struct chooser *ch, size_t wanted, uint64_t missing)
{
    size_t best = runs->order == IN_PLACE ? find_run(runs, ch, wanted, missing) : runs->list.len;
    bool lengths = wanted > 1;
    if (best < runs->list.len)
        return best;
    if (runs->order != (lengths ? BY_LENGTH : BY_AMOUNT)) {
        qsort(runs->list.data, runs->list.len, sizeof *runs->list.data,
              lengths ? by_length : by_amount);
        runs->order = lengths ? BY_LENGTH : BY_AMOUNT;
    }
    best = lengths ? vec_lower(&runs->list, run, run->len < wanted)
                   : vec_lower(&runs->list, run, run->amount < missing);
    if (best < runs->list.len)
        return best;
    const struct run last = vec_last(&runs->list);
    return lengths ? vec_lower(&runs->list, run, run->len < last.len)
                   : vec_lower(&runs->list, run, run->amount < last.amount);
}

/* Returns the node of the run that has all that is missing with the least excess; or -1. */
static long find_best_fit(const struct chooser *ch, const struct run *run)
{
    uint64_t missing = ch->need > ch->sum ? ch->need - ch->sum : 0;
    long best = -1;
    for (size_t i = run->first; i < run->first + run->len; i++) {
        bool fits = ch->tasks[i] >= missing &&
                    (!ch->need_more || ch->sum_more + ch->more[i] >= ch->need_more);
        if (fits && (best < 0 || get_node_amount(ch, i) < get_node_amount(ch, (size_t)best)))
            best = (long)i;
        if (fits && get_node_amount(ch, i) == count_missing_amount(ch))
            break;
    }
    return best;
}

static void take_node(struct chooser *ch, struct runs *runs, size_t node)
{
    if (is_full(ch))
        return;
    if (runs->reserve)
        take_reserved(runs->reserve, ch, node);
    else
        choose_add(ch, node);
}

/* Takes one node if one suffices, otherwise one after the other, from a chosen neighbour on. */
static void take_run(struct chooser *ch, struct runs *runs, const struct run *run, size_t wanted)
{
    long single = wanted <= 1 && !run->adjoins ? find_best_fit(ch, run) : -1;
    size_t after = run->first + run->len;
    bool down = run->adjoins && after < ch->chosen->size && bitset_test(ch->chosen, after) &&
                !(run->first > 0 && bitset_test(ch->chosen, run->first - 1));
    if (single >= 0)
        take_node(ch, runs, (size_t)single);
    for (size_t i = 0; single < 0 && i < run->len && !is_full(ch); i++)
        take_node(ch, runs, down ? after - 1 - i : run->first + i);
}

static void choose_runs(struct chooser *ch, struct runs *runs)
{
    while (!is_full(ch) && runs->list.len) {
        size_t wanted = ch->good > ch->count ? ch->good - ch->count : 1;
        size_t best = best_run(runs, ch, wanted, count_missing_amount(ch));
        const struct run run = runs->list.data[best];
        take_run(ch, runs, &run, wanted);
        vec_remove(&runs->list, best);
    }
}

/* --- lowest weight first -----------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

struct weights {
    VEC(uint32_t) list;
};

/* Lists the weights of the nodes in the set, rising, possibly with duplicates. */
static void list_weights(const struct chooser *ch, const struct bitset *among, struct weights *w)
{
    bitset_foreach (among, i)
        if (!w->list.len || ch->weight[i] != vec_last(&w->list))
            vec_push(&w->list, ch->weight[i]);
    if (w->list.len > 1)
        qsort(w->list.data, w->list.len, sizeof *w->list.data, by_number);
}

/* Selects the nodes of this weight that are not chosen. */
static void of_weight(const struct chooser *ch, const struct bitset *among, uint32_t weight,
                      bool all, struct bitset *set)
{
    bitset_copy(set, among);
    bitset_andnot(set, ch->chosen);
    if (all)
        return;
    bitset_foreach (set, i)
        if (ch->weight[i] != weight)
            bitset_unset(set, (size_t)i);
}

struct ranked {
    uint32_t node, weight;
    uint64_t rank; /* low ranks first */
};

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Chooses nodes one by one: the least loaded ones, or the last ones. */
static void choose_ranked(struct chooser *ch, const struct bitset *among)
{
    struct ranked *list = mem_new_array(struct ranked, bitset_count(among) + 1);
    size_t n = 0;
    bitset_foreach (among, i)
        if (!bitset_test(ch->chosen, (size_t)i))
            list[n++] = (struct ranked){(uint32_t)i, ch->weight[i],
                                        UINT32_MAX - (ch->idle ? ch->idle[i] : (uint32_t)i)};
    qsort(list, n, sizeof *list, by_rank);
    for (size_t i = 0; i < n && !is_full(ch); i++)
        choose_add(ch, list[i].node);
    free(list);
}

static void choose_light_runs(struct chooser *ch, const struct bitset *among,
                              struct reserve *reserve)
{
    _cleanup_bitset_ struct bitset *set = bitset_new(among->size);
    struct weights w = {0};
    struct runs runs = {.reserve = reserve};
    list_weights(ch, among, &w);
    for (size_t i = 0; i < w.list.len && !is_full(ch); i++) {
        if (i > 0 && w.list.data[i] == w.list.data[i - 1])
            continue;
        of_weight(ch, among, w.list.data[i], w.list.data[0] == vec_last(&w.list), set);
        list_runs(ch, set, &runs);
        choose_runs(ch, &runs);
    }
    vec_done(&w.list);
    vec_done(&runs.list);
}

void choose_light(struct chooser *ch, const struct bitset *among)
{
    if (ch->idle || ch->from_end)
        choose_ranked(ch, among);
    else
        choose_light_runs(ch, among, NULL);
}

static bool choose_by_weight(struct chooser *ch)
{
    choose_start(ch);
    choose_light(ch, ch->fits);
    return choose_enough(ch);
}

/* --- one window of consecutive nodes -----------------------------------------------------------
 */

struct window {
    size_t first, len, run; /* run: length of the run that contains it */
};

static bool better_window(const struct chooser *ch, const struct window *a, const struct window *b)
{
    size_t x = a->len < ch->good ? a->len : ch->good, y = b->len < ch->good ? b->len : ch->good;
    if (b->len == 0 || x != y)
        return b->len == 0 || x > y;
    return a->run != b->run ? a->run < b->run : a->len < b->len;
}

struct growing { /* a window and its sums */
    size_t first, end, need_end;
    uint64_t sum, more; /* sum: tasks; more: part of the job's total request */
    struct choose_tally tally;
};

static bool is_enough(const struct chooser *ch, const struct growing *w)
{
    return w->end - w->first >= ch->min && w->sum >= ch->need && w->more >= ch->need_more &&
           w->end >= w->need_end && (!ch->counts || choose_tally_does(&w->tally, ch));
}

static void count_growth(const struct chooser *ch, struct growing *w, size_t node, bool add)
{
    uint64_t more = ch->need_more ? ch->more[node] : 0;
    w->sum = add ? w->sum + ch->tasks[node] : w->sum - ch->tasks[node];
    w->more = add ? w->more + more : w->more - more;
    if (ch->counts)
        choose_tally_add(&w->tally, ch, node, add);
}

/* Tries the smallest windows of a run that contain the required nodes and enough tasks, one for
 * each first node. */
static void try_run(const struct chooser *ch, size_t begin, size_t run, size_t need_first,
                    size_t need_end, struct window *best)
{
    struct growing at = {.end = begin, .need_end = need_end};
    for (size_t first = begin; first < begin + run && first <= need_first; first++) {
        at.first = first;
        while (at.end < begin + run && !is_enough(ch, &at))
            count_growth(ch, &at, at.end++, true);
        if (!is_enough(ch, &at))
            return;
        size_t len = at.end - first;
        if (len <= ch->max) {
            size_t more = begin + run - first;
            struct window w = {first, len < ch->good ? ch->good < more ? ch->good : more : len,
                               run};
            if (better_window(ch, &w, best))
                *best = w;
        }
        count_growth(ch, &at, first, false);
    }
}

static bool choose_contiguous(struct chooser *ch)
{
    size_t need_first = SIZE_MAX, need_end = 0;
    struct window best = {0};
    if (ch->required)
        bitset_foreach (ch->required, i) {
            need_first = need_first == SIZE_MAX ? (size_t)i : need_first;
            need_end = (size_t)i + 1;
        }
    for (long i = bitset_next(ch->fits, 0); i >= 0;) {
        size_t begin = (size_t)i, end = begin;
        while (end < ch->fits->size && bitset_test(ch->fits, end))
            end++;
        if (need_first == SIZE_MAX || (need_first >= begin && need_end <= end))
            try_run(ch, begin, end - begin, need_first, need_end, &best);
        i = bitset_next(ch->fits, end);
    }
    for (size_t i = 0; i < best.len; i++)
        choose_add(ch, best.first + i);
    return best.len > 0;
}

/* --- choice of the most capable nodes -----------------------------------------------------------
 */

static int more_capable(const void *a, const void *b)
{
    const struct capable *x = a, *y = b;
    if (x->tasks != y->tasks)
        return x->tasks > y->tasks ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* Takes the most capable nodes within the weight limit. If they do not suffice, no choice within
 * the weight limit and the maximum number of nodes does. */
static bool take_most_capable(struct chooser *ch, const struct capable *list, size_t n,
                              uint32_t heaviest)
{
    choose_start(ch);
    for (size_t i = 0; i < n && !choose_enough(ch) && ch->count < ch->max; i++)
        if (list[i].weight <= heaviest)
            choose_add(ch, list[i].node);
    return choose_enough(ch);
}

/* Takes as many light nodes within the weight limit as leave places for the rest of the tasks. */
static void take_light_first(struct chooser *ch, const struct capable *list, size_t n,
                             uint32_t heaviest)
{
    _cleanup_bitset_ struct bitset *among = bitset_new(ch->fits->size);
    _cleanup_free_ struct capable *light = mem_new_array(struct capable, n + 1);
    struct reserve reserve;
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i].weight <= heaviest) {
            bitset_set(among, list[i].node);
            light[count++] = list[i];
        }
    choose_start(ch);
    init_reserve(&reserve, ch, light, count);
    choose_light_runs(ch, among, &reserve);
    free(reserve.rank);
    assert(choose_enough(ch));
}

/* Takes consecutive nodes of the lightest possible weight. */
static bool choose_light_window(struct chooser *ch, uint32_t heaviest)
{
    _cleanup_bitset_ struct bitset *all = bitset_dup(ch->fits);
    bool lighter = false, found = false;
    bitset_foreach (all, i) {
        lighter = lighter || ch->weight[i] < heaviest;
        if (ch->weight[i] > heaviest)
            bitset_unset(ch->fits, (size_t)i);
    }
    if (!lighter && (!ch->required || bitset_contains(ch->fits, ch->required))) {
        choose_nothing(ch);
        found = choose_contiguous(ch);
    }
    bitset_copy(ch->fits, all);
    return found;
}

/* Chooses with the lowest sufficient weight limit. 'by_more': prefers nodes with the largest part
 * of the job's total request. */
static bool choose_capable(struct chooser *ch, bool by_more)
{
    struct capable *list = mem_new_array(struct capable, bitset_count(ch->fits) + 1);
    size_t n = 0;
    uint32_t low = 0, high = UINT32_MAX;
    bitset_foreach (ch->fits, i)
        if (!ch->required || !bitset_test(ch->required, (size_t)i))
            list[n++] =
                (struct capable){(size_t)i, by_more ? ch->more[i] : ch->tasks[i], ch->weight[i]};
    qsort(list, n, sizeof *list, more_capable);
    bool found = take_most_capable(ch, list, n, high);
    while (found && low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (take_most_capable(ch, list, n, middle))
            high = middle;
        else
            low = middle + 1;
    }
    found = found && take_most_capable(ch, list, n, low);
    if (found && !ch->need_more && !ch->idle && !ch->from_end && !choose_light_window(ch, low))
        take_light_first(ch, list, n, low);
    free(list);
    return found;
}

static bool choose_most_capable(struct chooser *ch)
{
    return choose_capable(ch, false) || (ch->need_more && choose_capable(ch, true));
}

bool choose_flat(struct chooser *ch)
{
    if (ch->contiguous)
        return choose_contiguous(ch);
    if (ch->counts)
        return choose_counted(ch);
    return choose_by_weight(ch) || choose_most_capable(ch);
}

bool choose_in_network(struct chooser *ch)
{
    switch (ch->topo->net->kind) {
    case CONF_TOPO_RING:
        return choose_in_ring(ch);
    case CONF_TOPO_TORUS:
        return choose_in_torus(ch);
    default:
        return choose_by_topo(ch);
    }
}

static bool choose_some(struct chooser *ch)
{
    if (ch->required && !bitset_contains(ch->fits, ch->required))
        return false;
    if (ch->required && bitset_count(ch->required) > ch->max)
        return false;
    if (ch->max == 1 && !ch->contiguous)
        bitset_foreach (ch->fits, i)
            if (ch->tasks[i] < ch->need || (ch->need_more && ch->more[i] < ch->need_more))
                bitset_unset(ch->fits, (size_t)i);
    if (ch->required && !bitset_contains(ch->fits, ch->required))
        return false;
    if (!ch->topo)
        return choose_flat(ch);
    if (ch->segment)
        return choose_segments(ch);
    bool in_row = ch->contiguous || ch->counts || ch->spread;
    bool by_switches =
        ch->topo->net->kind == CONF_TOPO_TREE || ch->topo->net->kind == CONF_TOPO_BLOCK;
    return in_row && by_switches ? choose_in_fabric(ch) : choose_in_network(ch);
}

/* Chooses exactly 'size' nodes. */
static bool choose_size(struct chooser *ch, const struct bitset *fits, uint32_t size)
{
    bitset_copy(ch->fits, fits);
    bitset_zero(ch->chosen);
    ch->count = 0;
    ch->sum = ch->sum_more = 0;
    ch->min = ch->max = ch->good = size;
    return choose_some(ch);
}

/* Chooses the largest permitted number up to 'good', otherwise the smallest one above it. */
static bool choose_among(struct chooser *ch, const struct bitset *fits, uint32_t good)
{
    VEC(uint32_t) list = {0};
    size_t most = bitset_count(fits), above = 0;
    bool found = false;
    most = most < ch->max ? most : ch->max;
    for (int64_t n = idset_next(ch->sizes, ch->min); n >= 0 && (uint64_t)n <= most;
         n = idset_next(ch->sizes, n + 1))
        vec_push(&list, (uint32_t)n);
    while (above < list.len && list.data[above] <= good)
        above++;
    for (size_t i = above; i-- > 0 && !found;)
        found = choose_size(ch, fits, list.data[i]);
    for (size_t i = above; i < list.len && !found; i++)
        found = choose_size(ch, fits, list.data[i]);
    vec_done(&list);
    return found;
}

bool choose_nodes(struct chooser *ch)
{
    if (!ch->sizes)
        return choose_some(ch);
    uint32_t min = ch->min, max = ch->max, good = ch->good;
    _cleanup_bitset_ struct bitset *fits = bitset_dup(ch->fits);
    bool found = choose_some(ch); /* if it fails, fewer nodes fail as well */
    if (!found || idset_has(ch->sizes, ch->count))
        return found;
    ch->min = min;
    ch->max = max;
    return choose_among(ch, fits, good);
}

bool choose_largest(struct chooser *ch, uint32_t most)
{
    int64_t best = -1;
    for (int64_t n = ch->sizes ? idset_next(ch->sizes, ch->min) : -1;
         n >= 0 && n <= most && n <= ch->max; n = idset_next(ch->sizes, n + 1))
        best = n;
    if (best >= 0)
        ch->max = (uint32_t)best;
    return !ch->sizes || best >= 0;
}
