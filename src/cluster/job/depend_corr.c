/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/depend_corr.h"

#include "cluster/cluster.h"

static void own_elements(const struct job *j, struct idset *out)
{
    idset_copy(out, &j->tasks);
    if (!j->tasks.count)
        idset_add(out, j->task);
}

/* --- conversion between one element and several -------------------------------------------------
 */

static void enter_single(struct depend_item *item, uint32_t task)
{
    item->state = idset_has(&item->sets->good, task)  ? DEPEND_FULFILLED
                  : idset_has(&item->sets->bad, task) ? DEPEND_FAILED
                                                      : DEPEND_UNFULFILLED;
    item->element = task;
    idset_done(&item->sets->good);
    idset_done(&item->sets->bad);
}

static void leave_single(struct depend_item *item)
{
    if (item->state == DEPEND_FULFILLED)
        idset_add(&item->sets->good, item->element);
    else if (item->state == DEPEND_FAILED)
        idset_add(&item->sets->bad, item->element);
    item->element = DEPEND_WHOLE;
}

static void settle_item(const struct job *j, struct depend_item *item)
{
    item->state = item->sets->good.count == j->tasks.count  ? DEPEND_FULFILLED
                  : item->sets->bad.count == j->tasks.count ? DEPEND_FAILED
                                                            : DEPEND_UNFULFILLED;
}

/* Combines the states of all items for each element. */
static void sum_up(struct job *j)
{
    struct depend *d = j->waits.on;
    bool first = true;
    d->of = j->tasks.count;
    idset_done(&d->ready);
    idset_done(&d->failed);
    vec_foreach (&d->items, item) {
        if (!depend_is_parted(item))
            continue;
        struct idset *all = d->any ? &d->failed : &d->ready,
                     *some = d->any ? &d->ready : &d->failed;
        const struct idset *of_all = d->any ? &item->sets->bad : &item->sets->good,
                           *of_some = d->any ? &item->sets->good : &item->sets->bad;
        if (first)
            idset_copy(all, of_all);
        else
            idset_intersect(all, of_all);
        if (!some->count)
            idset_copy(some, of_some);
        else if (of_some->count)
            idset_unite(some, of_some);
        first = false;
    }
    d->parted = !first;
    depend_count(d);
}

void depend_corr_fit(struct cluster *c, struct job *j)
{
    struct depend *d = j->waits.on;
    bool any = false;
    vec_foreach (&d->items, item) {
        if (!item->corr)
            continue;
        if (!j->tasks.count && item->element == DEPEND_WHOLE)
            enter_single(item, j->task);
        else if (j->tasks.count && item->element != DEPEND_WHOLE)
            leave_single(item);
        any = true;
        if (!depend_is_parted(item))
            continue;
        idset_intersect(&item->sets->good, &j->tasks);
        idset_intersect(&item->sets->bad, &j->tasks);
        settle_item(j, item);
    }
    if (!any)
        return;
    sum_up(j);
    depend_relink(c, j);
}

/* Gives 'e' the states of its element, taken from 'j', which has several elements left. */
static void deal_one(struct cluster *c, struct job *j, struct job *e)
{
    struct depend *from = j->waits.on, *to = e->waits.on;
    for (size_t i = 0; i < from->items.len && i < to->items.len; i++) {
        struct depend_item *x = &from->items.data[i], *y = &to->items.data[i];
        if (!depend_is_parted(x) || !y->corr)
            continue;
        y->state = idset_has(&x->sets->good, e->task)  ? DEPEND_FULFILLED
                   : idset_has(&x->sets->bad, e->task) ? DEPEND_FAILED
                                                       : DEPEND_UNFULFILLED;
        y->element = e->task;
        idset_remove(&x->sets->good, e->task);
        idset_remove(&x->sets->bad, e->task);
        settle_item(j, x);
    }
    idset_remove(&from->ready, e->task);
    idset_remove(&from->failed, e->task);
    from->of = j->tasks.count;
    depend_reindex(c, j);
    depend_corr_fit(c, e);
}

void depend_corr_deal(struct cluster *c, struct job *j, struct job *e)
{
    struct depend *from = j->waits.on, *to = e->waits.on;
    if (from && to && from->parted && j->tasks.count && !e->tasks.count) {
        deal_one(c, j, e);
        return;
    }
    for (size_t i = 0; from && to && i < from->items.len && i < to->items.len; i++) {
        struct depend_item *x = &from->items.data[i], *y = &to->items.data[i];
        if (!depend_is_parted(x) || !y->corr)
            continue;
        idset_copy(&y->sets->good, &x->sets->good);
        idset_copy(&y->sets->bad, &x->sets->bad);
        y->element = DEPEND_WHOLE;
    }
    if (to)
        depend_corr_fit(c, e);
    if (from)
        depend_corr_fit(c, j);
}

void depend_corr_gather(struct job *j, const struct job *from)
{
    struct depend *to = j->waits.on;
    struct idset own = {0};
    own_elements(from, &own);
    for (size_t i = 0; to && from->waits.on && i < to->items.len; i++) {
        const struct depend_item *x = &from->waits.on->items.data[i];
        struct depend_item *y = &to->items.data[i];
        if (!y->corr)
            continue;
        if (y->element != DEPEND_WHOLE)
            leave_single(y);
        const struct idset *good = x->state == DEPEND_FULFILLED ? &own : NULL,
                           *bad = x->state == DEPEND_FAILED ? &own : NULL;
        if (depend_is_parted(x)) {
            good = &x->sets->good;
            bad = &x->sets->bad;
        }
        if (good)
            idset_unite(&y->sets->good, good);
        if (bad)
            idset_unite(&y->sets->bad, bad);
    }
    idset_done(&own);
}

/* --- states of the items ------------------------------------------------------------------------
 */

static bool is_decided(const struct depend_item *item, uint32_t element)
{
    return idset_has(&item->sets->good, element) || idset_has(&item->sets->bad, element);
}

static bool apply_one(struct job *j, struct depend_item *item, uint32_t element, bool well)
{
    struct depend *d = j->waits.on;
    if (!idset_has(&j->tasks, element) || is_decided(item, element))
        return false;
    idset_add(well ? &item->sets->good : &item->sets->bad, element);
    settle_item(j, item);
    if (d->items.len == 1) /* equals the result of sum_up() */
        idset_add(well ? &d->ready : &d->failed, element);
    return true;
}

bool depend_corr_apply(struct job *j, struct depend_item *item, const struct idset *elements,
                       bool well)
{
    struct idset fresh = {0}, decided = {0};
    if (!depend_is_parted(item))
        return false;
    if (elements->count == 1 && j->waits.on->items.len == 1)
        return apply_one(j, item, idset_first(elements), well);
    idset_copy(&fresh, &j->tasks);
    idset_intersect(&fresh, elements);
    idset_split(&fresh, &item->sets->good, &decided);
    idset_done(&decided);
    idset_split(&fresh, &item->sets->bad, &decided);
    bool any = fresh.count > 0;
    if (any) {
        idset_unite(well ? &item->sets->good : &item->sets->bad, &fresh);
        settle_item(j, item);
        sum_up(j);
    }
    idset_done(&fresh);
    idset_done(&decided);
    return any;
}

static void take_out(struct idset *from, const struct idset *what)
{
    struct idset both = {0};
    idset_split(from, what, &both);
    idset_done(&both);
}

/* Finds the elements of the array that have not succeeded so far, and those that never will. */
static void find_bad(const struct array *a, struct idset *other, struct idset *failed)
{
    for (const struct job *r = array_first(a); r; r = array_after(r)) {
        struct depend_outcome o = depend_outcome_of(r);
        struct idset own = {0};
        if (o.over && o.state == PB__JOB_STATE__COMPLETED)
            continue;
        own_elements(r, &own);
        idset_unite(o.over ? failed : other, &own);
        idset_done(&own);
    }
}

void depend_corr_look(struct job *j, struct depend_item *item, const struct array *a)
{
    struct idset good = {0}, other = {0}, failed = {0};
    idset_copy(&good, &j->tasks);
    if (a) { /* elements that never existed, and purged elements that failed */
        struct idset none = {0};
        idset_copy(&none, &j->tasks);
        take_out(&none, &a->all);
        idset_unite(&none, &a->gone_failed);
        idset_unite(&item->sets->bad, &none);
        idset_done(&none);
        find_bad(a, &other, &failed);
    }
    take_out(&good, &other);
    take_out(&good, &failed);
    if (failed.count)
        depend_corr_apply(j, item, &failed, false);
    take_out(&good, &item->sets->bad);
    bool lost = a && a->missing; /* the final states of missing elements are unknown */
    if (good.count && !lost)
        depend_corr_apply(j, item, &good, true);
    idset_done(&good);
    idset_done(&other);
    idset_done(&failed);
}

/* --- elements that can start, and elements that cannot ------------------------------------------
 */

uint32_t depend_first_ready(const struct job *j)
{
    const struct depend *d = j->waits.on;
    return idset_first(d && d->parted && d->ready.count ? &d->ready : &j->tasks);
}

const struct idset *depend_corr_doomed(const struct depend *d)
{
    bool others = d->by_state[DEPEND_UNFULFILLED] || d->by_state[DEPEND_FULFILLED] || d->singletons;
    return d->parted && !(d->any && others) ? &d->failed : NULL;
}
