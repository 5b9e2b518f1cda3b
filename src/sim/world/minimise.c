/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the smallest plan that breaks the same promise, by delta debugging. It leaves out ever
 * smaller runs of items as long as the plan still breaks the promise; then it sets the numbers of
 * the remaining items to their defaults or halves them.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/sim.h"

struct minimiser {
    const char *promise;
    unsigned runs_left;
};

static bool still_breaks(struct minimiser *h, const struct sim_plan *plan)
{
    static const struct sim_options quiet = {0};
    struct sim_result result;
    struct err err = {0};
    if (h->runs_left == 0)
        return false;
    h->runs_left--;
    return sim_run(plan, &quiet, &result, &err) == -ERR_INTERNAL && result.promise &&
           strcmp(result.promise, h->promise) == 0;
}

static void copy_without(const struct sim_plan *from, size_t first, size_t count,
                         struct sim_plan *to)
{
    to->seed = from->seed;
    to->share = from->share;
    vec_clear(&to->items);
    for (size_t i = 0; i < from->items.len; i++)
        if (i < first || i >= first + count)
            vec_push(&to->items, from->items.data[i]);
}

static void swap_plans(struct sim_plan *a, struct sim_plan *b)
{
    struct sim_plan c = *a;
    *a = *b;
    *b = c;
}

static bool drop_items(struct minimiser *h, struct sim_plan *plan)
{
    struct sim_plan smaller = {0};
    bool dropped = false;
    for (size_t count = (plan->items.len + 1) / 2; count > 0; count /= 2) {
        for (size_t at = plan->items.len; at > 0;) {
            size_t first = at > count ? at - count : 0;
            copy_without(plan, first, at - first, &smaller);
            if (still_breaks(h, &smaller)) {
                swap_plans(plan, &smaller);
                dropped = true;
            }
            at = first < plan->items.len ? first : plan->items.len;
        }
    }
    sim_plan_done(&smaller);
    return dropped;
}

static bool try_number(struct minimiser *h, struct sim_plan *plan, int64_t *number, int64_t value)
{
    int64_t before = *number;
    if (value == before)
        return false;
    *number = value;
    if (still_breaks(h, plan))
        return true;
    *number = before;
    return false;
}

static bool shrink_numbers(struct minimiser *h, struct sim_plan *plan)
{
    bool shrunk = false;
    vec_foreach (&plan->items, item) {
        size_t at = 0;
        int64_t fallback, *number;
        while ((number = sim_plan_number(item, &at, &fallback))) {
            bool keeps_name = number == &item->id || number == &item->node;
            if (keeps_name)
                continue;
            if (fallback >= 0 && try_number(h, plan, number, fallback)) {
                shrunk = true;
                continue;
            }
            while (*number > 1 && try_number(h, plan, number, *number / 2))
                shrunk = true;
        }
    }
    return shrunk;
}

void sim_minimise(struct sim_plan *plan, unsigned most_runs)
{
    static const struct sim_options quiet = {0};
    struct minimiser h = {.runs_left = most_runs};
    struct sim_result result;
    struct err err = {0};
    if (sim_run(plan, &quiet, &result, &err) == 0 || !result.promise)
        return;
    h.promise = result.promise;
    bool smaller = true;
    while (smaller && h.runs_left)
        smaller = drop_items(&h, plan) || shrink_numbers(&h, plan);
}
