/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/choose.h"

#include <stdlib.h>

#include "base/mem.h"

static void choose(struct chooser *ch, size_t node)
{
    bitset_set(ch->chosen, node);
    ch->count++;
    ch->sum += ch->tasks[node];
}

static bool enough(const struct chooser *ch)
{
    return ch->count >= ch->min && ch->sum >= ch->need;
}

/* More would not be taken: -N 2-4 takes four nodes when they are free. */
static bool full(const struct chooser *ch)
{
    return ch->count >= ch->max || (enough(ch) && ch->count >= ch->good);
}

/* Back to the required nodes alone. */
static void start(struct chooser *ch)
{
    bitset_zero(ch->chosen);
    ch->count = 0;
    ch->sum = 0;
    if (!ch->required)
        return;
    bitset_foreach (ch->required, i)
        choose(ch, (size_t)i);
}

/* --- runs of consecutive nodes -----------------------------------------------------------------
 */

/* The next run of fitting, not chosen nodes of this weight at or after 'from'; false: none. */
static bool next_run(const struct chooser *ch, uint32_t weight, size_t from, size_t *first,
                     size_t *len)
{
    long i = bitset_next(ch->fits, from);
    while (i >= 0 && (bitset_test(ch->chosen, (size_t)i) || ch->weight[i] != weight))
        i = bitset_next(ch->fits, (size_t)i + 1);
    if (i < 0)
        return false;
    size_t end = *first = (size_t)i;
    while (end < ch->fits->size && bitset_test(ch->fits, end) && !bitset_test(ch->chosen, end) &&
           ch->weight[end] == weight)
        end++;
    *len = end - *first;
    return true;
}

/* The run closest in size to what is missing: the smallest that is enough, else the largest. */
static bool best_run(const struct chooser *ch, uint32_t weight, size_t wanted, size_t *first,
                     size_t *len)
{
    size_t at = 0, f, l;
    *len = 0;
    while (next_run(ch, weight, at, &f, &l)) {
        bool better = *len == 0 || (*len < wanted ? l > *len : l >= wanted && l < *len);
        if (better) {
            *first = f;
            *len = l;
        }
        at = f + l;
    }
    return *len > 0;
}

static void choose_runs(struct chooser *ch, uint32_t weight)
{
    size_t first, len;
    while (!full(ch)) {
        size_t wanted = ch->good > ch->count ? ch->good - ch->count : 1;
        if (!best_run(ch, weight, wanted, &first, &len))
            return;
        for (size_t i = first; i < first + len && !full(ch); i++)
            choose(ch, i);
    }
}

/* The lowest weight above 'over' among fitting nodes; -1: none. */
static int64_t next_weight(const struct chooser *ch, int64_t over)
{
    int64_t found = -1;
    bitset_foreach (ch->fits, i)
        if (ch->weight[i] > over && (found < 0 || ch->weight[i] < found))
            found = ch->weight[i];
    return found;
}

static bool choose_by_weight(struct chooser *ch)
{
    start(ch);
    for (int64_t w = next_weight(ch, -1); w >= 0 && !full(ch); w = next_weight(ch, w))
        choose_runs(ch, (uint32_t)w);
    return enough(ch);
}

/* --- the most capable nodes --------------------------------------------------------------------
 */

struct capable {
    size_t node;
    uint32_t tasks, weight;
};

static int more_capable(const void *a, const void *b)
{
    const struct capable *x = a, *y = b;
    if (x->tasks != y->tasks)
        return x->tasks > y->tasks ? -1 : 1;
    if (x->weight != y->weight)
        return x->weight < y->weight ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

/* The most capable ones that are not heavier. When they are not enough, nothing that is no heavier
 * is, within the maximum of nodes. */
static bool take_most_capable(struct chooser *ch, const struct capable *list, size_t n,
                              uint32_t heaviest)
{
    start(ch);
    for (size_t i = 0; i < n && !enough(ch) && ch->count < ch->max; i++)
        if (list[i].weight <= heaviest)
            choose(ch, list[i].node);
    return enough(ch);
}

/* Light nodes first: with the least bound on the weight that does. */
static bool choose_most_capable(struct chooser *ch)
{
    struct capable *list = mem_new_array(struct capable, bitset_count(ch->fits) + 1);
    size_t n = 0;
    uint32_t low = 0, high = UINT32_MAX;
    bitset_foreach (ch->fits, i)
        if (!ch->required || !bitset_test(ch->required, (size_t)i))
            list[n++] = (struct capable){(size_t)i, ch->tasks[i], ch->weight[i]};
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
    free(list);
    return found;
}

/* --- one window of consecutive nodes -----------------------------------------------------------
 */

struct window {
    size_t first, len, run; /* run: the length of the run it lies in */
};

static bool better_window(const struct chooser *ch, const struct window *a, const struct window *b)
{
    size_t x = a->len < ch->good ? a->len : ch->good, y = b->len < ch->good ? b->len : ch->good;
    if (b->len == 0 || x != y)
        return b->len == 0 || x > y;
    return a->run != b->run ? a->run < b->run : a->len < b->len;
}

/* The smallest windows of a run that hold what is required and enough tasks, one per first node. */
static void try_run(const struct chooser *ch, size_t begin, size_t run, size_t need_first,
                    size_t need_end, struct window *best)
{
    uint64_t sum = 0;
    size_t end = begin;
    for (size_t first = begin; first < begin + run && first <= need_first; first++) {
        while (end < begin + run && (end - first < ch->min || sum < ch->need || end < need_end))
            sum += ch->tasks[end++];
        if (end - first < ch->min || sum < ch->need || end < need_end)
            return;
        size_t len = end - first;
        if (len <= ch->max) {
            size_t more = begin + run - first;
            struct window w = {first, len < ch->good ? ch->good < more ? ch->good : more : len,
                               run};
            if (better_window(ch, &w, best))
                *best = w;
        }
        sum -= ch->tasks[first];
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
        choose(ch, best.first + i);
    return best.len > 0;
}

bool choose_nodes(struct chooser *ch)
{
    if (ch->required && !bitset_contains(ch->fits, ch->required))
        return false;
    if (ch->required && bitset_count(ch->required) > ch->max)
        return false;
    if (ch->contiguous)
        return choose_contiguous(ch);
    if (ch->max == 1)
        bitset_foreach (ch->fits, i)
            if (ch->tasks[i] < ch->need)
                bitset_unset(ch->fits, (size_t)i);
    if (ch->required && !bitset_contains(ch->fits, ch->required))
        return false;
    return choose_by_weight(ch) || choose_most_capable(ch);
}
