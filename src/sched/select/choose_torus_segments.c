/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice in a network of toruses: a sub-cube of one torus, of a shape and at a place that its
 * placements permit. Every such spot is examined. Of the sufficient spots the one with the lightest
 * nodes is taken, of these the one that leaves the most other spots free, and then one in the torus
 * with the fewest free nodes.
 *
 * Several segments get spots of the size of a segment, in any torus, without common nodes. If spots
 * of the placements overlap, this is a search. It is complete on small toruses. On large ones all
 * numbers of segments and all orders of the spots share TORUS_STEPS_MOST steps. An order begins
 * with the spots that leave the most other spots free, that pack densely, or that take the most
 * tasks. When the steps are used up, each order is tried once more without backtracking, in a few
 * steps for each corner of a placement. So any number of spots that do not overlap is found.
 */
#include <assert.h>
#include <stdlib.h>

#include "base/mem.h"
#include "sched/select/torus_spots.h"

struct order { /* an order of the spots */
    int (*compare)(const void *, const void *);
    const struct torus_spot **list; /* NULL: not sorted yet */
    uint32_t *rank;                 /* by number of a spot: its index in the list */
};
enum { ORDERS = 4 };

struct step { /* a chosen spot, and the state before it */
    uint32_t rank, open;
    long missing;
};

struct place { /* place of a node; without a view: none */
    struct torus_view *view;
    uint32_t cell;
};

struct search {
    struct chooser *ch;
    struct torus_spot *spots;
    uint32_t count; /* number of spots */
    struct order orders[ORDERS];
    uint64_t most_tasks, most_more; /* maximum over all spots */
    struct place *places;           /* by node; NULL: no node is required */

    const struct order *order; /* the order of this search */
    uint32_t wanted;
    struct step *chosen;
    uint32_t len;
    uint64_t tasks, more;    /* sums over the chosen spots */
    uint32_t *blocked;       /* by spot: number of chosen spots with a common node */
    uint32_t open;           /* number of spots neither blocked nor given up */
    uint32_t from;           /* spots before it in the order are given up */
    struct bitset *required; /* required nodes in no chosen spot */
    long missing;            /* the first of 'required'; negative: none */
    uint64_t steps;          /* over all searches; each examined spot or corner is one step */
    bool cut;                /* a search was ended by the step limit */
};

/* --- orders --------------------------------------------------------------------------------------
 */

static int compare_numbers(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static const struct torus_spot *get_sorted_spot(const void *item)
{
    return *(const struct torus_spot *const *)item;
}

/* Orders the spots as they are listed. */
static int by_place(const void *a, const void *b)
{
    const struct torus_spot *x = get_sorted_spot(a), *y = get_sorted_spot(b);
    if (x->view != y->view)
        return x->view < y->view ? -1 : 1;
    for (size_t i = CONF_AXES; i-- > 0;)
        if (x->box.first[i] != y->box.first[i])
            return x->box.first[i] < y->box.first[i] ? -1 : 1;
    for (size_t i = CONF_AXES; i-- > 0;)
        if (x->box.dims[i] != y->box.dims[i])
            return x->box.dims[i] < y->box.dims[i] ? -1 : 1;
    return compare_numbers(x->placement, y->placement);
}

static int by_cost(const void *a, const void *b)
{
    const struct torus_spot *x = get_sorted_spot(a), *y = get_sorted_spot(b);
    int order = compare_numbers(x->weight, y->weight);
    order = order ? order : compare_numbers(x->cost, y->cost);
    order = order ? order : compare_numbers(x->view->free, y->view->free);
    return order ? order : by_place(a, b);
}

static int by_tasks(const void *a, const void *b)
{
    const struct torus_spot *x = get_sorted_spot(a), *y = get_sorted_spot(b);
    int order = compare_numbers(y->tasks, x->tasks);
    return order ? order : by_cost(a, b);
}

static int by_more(const void *a, const void *b)
{
    const struct torus_spot *x = get_sorted_spot(a), *y = get_sorted_spot(b);
    int order = compare_numbers(y->more, x->more);
    return order ? order : by_cost(a, b);
}

static void sort_spots(const struct search *s, struct order *o)
{
    if (o->list)
        return;
    o->list = mem_new_array(const struct torus_spot *, s->count);
    o->rank = mem_new_array(uint32_t, s->count);
    for (uint32_t i = 0; i < s->count; i++)
        o->list[i] = &s->spots[i];
    qsort(o->list, s->count, sizeof(const struct torus_spot *), o->compare);
    for (uint32_t i = 0; i < s->count; i++)
        o->rank[o->list[i] - s->spots] = i;
}

/* --- steps ---------------------------------------------------------------------------------------
 */

static void block_spot(void *ctx, uint32_t number)
{
    struct search *s = ctx;
    if (s->blocked[number]++ == 0 && s->order->rank[number] >= s->from)
        s->open--;
}

static void unblock_spot(void *ctx, uint32_t number)
{
    struct search *s = ctx;
    assert(s->blocked[number]);
    s->blocked[number]--;
}

static void mark_required(struct search *s, const struct torus_spot *of, bool missing)
{
    assert(!of->required || s->ch->required);
    for (uint32_t i = 0; of->required && i < of->size; i++) {
        uint32_t node = torus_spot_node(of, i);
        s->steps++;
        if (!bitset_test(s->ch->required, node))
            continue;
        if (missing)
            bitset_set(s->required, node);
        else
            bitset_unset(s->required, node);
    }
}

static void take_spot(struct search *s, uint32_t rank)
{
    const struct torus_spot *spot = s->order->list[rank];
    assert(!s->blocked[spot - s->spots] && s->open);
    s->chosen[s->len++] = (struct step){rank, s->open, s->missing};
    s->tasks += spot->tasks;
    s->more += spot->more;
    s->steps += torus_spots_around(spot->view, &spot->box, block_spot, s);
    mark_required(s, spot, false);
    if (s->missing >= 0)
        s->missing = bitset_next(s->required, (size_t)s->missing);
    s->from = s->chosen[s->len - 1].missing < 0 ? rank + 1 : 0;
}

/* Gives up the spot, unless it was chosen for a required node: then the other spots with this node
 * follow. */
static void drop_spot(struct search *s)
{
    assert(s->len);
    const struct step *last = &s->chosen[--s->len];
    const struct torus_spot *spot = s->order->list[last->rank];
    s->tasks -= spot->tasks;
    s->more -= spot->more;
    s->steps += torus_spots_around(spot->view, &spot->box, unblock_spot, s);
    mark_required(s, spot, true);
    s->missing = last->missing;
    s->open = last->open - (last->missing < 0);
    s->from = last->missing < 0 ? last->rank + 1 : 0;
}

struct nearest { /* the first unblocked spot from this one of the order on */
    const struct search *s;
    uint32_t from, best;
};

static void track_nearest_spot(void *ctx, uint32_t number)
{
    struct nearest *n = ctx;
    uint32_t rank = n->s->order->rank[number];
    if (!n->s->blocked[number] && rank >= n->from && rank < n->best)
        n->best = rank;
}

static uint32_t find_spot_of_missing(struct search *s, uint32_t from)
{
    const struct place *place = &s->places[s->missing];
    struct torus_box box = {.dims = {1, 1, 1}};
    struct nearest n = {.s = s, .from = from, .best = s->count};
    uint32_t cell = place->cell;
    if (!place->view)
        return s->count;
    for (size_t i = 0; i < CONF_AXES; i++) {
        box.first[i] = cell % place->view->unit->dims[i];
        cell /= place->view->unit->dims[i];
    }
    s->steps += torus_spots_around(place->view, &box, track_nearest_spot, &n);
    return n.best;
}

/* Returns the first spot from this one of the order on, with the missing node if there is one; the
 * number of spots: none. */
static uint32_t find_spot(struct search *s, uint32_t from)
{
    s->steps++;
    if (s->missing >= 0)
        return find_spot_of_missing(s, from);
    for (; from < s->count && s->blocked[s->order->list[from] - s->spots]; from++)
        s->steps++;
    return from;
}

/* Whether the remaining spots can still satisfy the job. */
static bool may_succeed(const struct search *s)
{
    uint64_t left = s->wanted - s->len;
    return s->open >= left && s->tasks + left * s->most_tasks >= s->ch->need &&
           s->more + left * s->most_more >= s->ch->need_more;
}

static bool are_spots_enough(const struct search *s)
{
    return s->missing < 0 && s->tasks >= s->ch->need && s->more >= s->ch->need_more;
}

/* --- searches ------------------------------------------------------------------------------------
 */

static void start_search(struct search *s, struct order *o, uint32_t wanted)
{
    sort_spots(s, o);
    s->order = o;
    s->wanted = wanted;
    memset(s->blocked, 0, sizeof(*s->blocked) * s->count);
    bitset_zero(s->required);
    if (s->ch->required)
        bitset_copy(s->required, s->ch->required);
    s->missing = bitset_next(s->required, 0);
    s->len = s->from = 0;
    s->open = s->count;
    s->tasks = s->more = 0;
    s->steps += s->count / 16; /* the approximate cost */
}

/* Chooses spots of required nodes first, then the others in order. False: there are none, or the
 * step limit is reached. */
static bool search_in_order(struct search *s, struct order *o, uint32_t wanted, uint64_t end)
{
    uint32_t at = 0;
    start_search(s, o, wanted);
    while (s->steps < end) {
        if (s->len == wanted && are_spots_enough(s))
            return true;
        uint32_t next = s->count;
        if (s->len < wanted && may_succeed(s))
            next = find_spot(s, at);
        if (next < s->count) {
            take_spot(s, next);
            at = s->from;
        } else if (s->len) {
            at = s->chosen[s->len - 1].rank + 1;
            drop_spot(s);
        } else {
            return false;
        }
    }
    return false;
}

/* False: there are no 'wanted' spots, or they were not found. */
static bool search_count(struct search *s, uint32_t wanted)
{
    for (size_t i = 0; i < ORDERS && s->steps < TORUS_STEPS_MOST; i++) {
        uint64_t end = s->steps + (TORUS_STEPS_MOST - s->steps) / 2;
        if (!s->orders[i].compare)
            continue;
        if (search_in_order(s, &s->orders[i], wanted, end))
            return true;
        if (s->steps < end) /* no other order would find more */
            return false;
        s->cut = true;
    }
    return false;
}

/* Takes spots without backtracking: the least number, then more until the job fits. */
static bool take_spots(struct search *s, struct order *o, uint32_t least, uint32_t good,
                       uint32_t most)
{
    start_search(s, o, most);
    while (s->len < most && !(s->len >= good && s->len >= least && are_spots_enough(s))) {
        uint32_t next = find_spot(s, s->from);
        if (next == s->count)
            break;
        take_spot(s, next);
    }
    return s->len && s->len >= least && are_spots_enough(s);
}

/* Whether enough steps are left for another number of segments. */
static bool may_search(const struct search *s)
{
    return s->steps < TORUS_STEPS_MOST - TORUS_STEPS_MOST / 8;
}

/* Whether 'count' spots, each as capable as the most capable one, would satisfy the job. */
static bool may_suffice(const struct search *s, uint32_t count)
{
    return count * s->most_tasks >= s->ch->need && count * s->most_more >= s->ch->need_more;
}

/* Tries 'good' spots, then fewer, then more: the first number that is found. */
static bool search_counts(struct search *s, uint32_t least, uint32_t good, uint32_t most)
{
    uint32_t fewest = least ? least : 1, first = good < s->count ? good : s->count;
    most = most < s->count ? most : s->count;
    for (uint32_t n = first; n >= fewest && may_search(s); n--)
        if (may_suffice(s, n) && search_count(s, n))
            return true;
    for (uint32_t n = good < fewest ? fewest : good + 1; n <= most && may_search(s); n++)
        if (may_suffice(s, n) && search_count(s, n))
            return true;
    for (size_t i = 0; i < ORDERS && s->cut; i++)
        if (s->orders[i].compare && take_spots(s, &s->orders[i], fewest, first, most))
            return true;
    return false;
}

static void find_places(struct search *s, const struct torus_views *c)
{
    s->places = mem_new_array(struct place, s->ch->fits->size);
    for (size_t i = 0; i < c->count; i++)
        for (uint32_t k = 0; k < c->views[i].unit->cells.len; k++) {
            uint32_t node = c->views[i].unit->cells.data[k];
            if (node != CONF_NO_NODE)
                s->places[node] = (struct place){&c->views[i], k};
        }
}

static void prepare_search(struct search *s, struct torus_views *c, const struct torus_spots *spots)
{
    torus_views_number(c, spots);
    for (uint32_t i = 0; i < s->count; i++) {
        struct torus_spot *spot = &s->spots[i];
        torus_spot_cost(spot);
        s->most_tasks = spot->tasks > s->most_tasks ? spot->tasks : s->most_tasks;
        s->most_more = spot->more > s->most_more ? spot->more : s->most_more;
    }
    if (s->ch->required)
        find_places(s, c);
    s->blocked = mem_new_array(uint32_t, s->count);
    s->chosen = mem_new_array(struct step, s->count);
    s->required = bitset_new(s->ch->fits->size);
}

static void end_search(struct search *s)
{
    for (size_t i = 0; i < ORDERS; i++) {
        free(s->orders[i].list);
        free(s->orders[i].rank);
    }
    free(s->places);
    free(s->blocked);
    free(s->chosen);
    bitset_free(s->required);
}

bool choose_torus_segments(struct chooser *ch, uint32_t least, uint32_t good, uint32_t most)
{
    struct torus_views c;
    struct torus_spots spots = {0};
    choose_nothing(ch);
    torus_views_init(&c, ch);
    torus_views_list(&c, ch->segment, ch->segment, &spots);
    struct search s = {.ch = ch,
                       .spots = spots.list.data,
                       .count = (uint32_t)spots.list.len,
                       .orders = {{by_cost}, {by_place}, {by_tasks}, {by_more}}};
    bool found = false;
    if (!ch->need_more)
        s.orders[3].compare = NULL;
    if (s.count && s.count >= least) {
        prepare_search(&s, &c, &spots);
        found = search_counts(&s, least, good, most);
        for (uint32_t i = 0; found && i < s.len; i++) {
            const struct torus_spot *spot = s.order->list[s.chosen[i].rank];
            for (uint32_t k = 0; k < spot->size; k++)
                choose_add(ch, torus_spot_node(spot, k));
        }
    }
    ch->steps = s.steps;
    end_search(&s);
    vec_done(&spots.list);
    torus_views_done(&c);
    return found;
}

static bool has_counts(const struct chooser *ch, const struct torus_spot *s)
{
    struct choose_tally tally = {{0}};
    for (uint32_t i = 0; ch->counts && i < s->size; i++)
        choose_tally_add(&tally, ch, torus_spot_node(s, i), true);
    return !ch->counts || choose_tally_does(&tally, ch);
}

struct demand {
    const struct chooser *ch;
    uint64_t required; /* number of the job's required nodes */
};

static bool is_spot_enough(void *ctx, const struct torus_spot *s)
{
    const struct demand *d = ctx;
    const struct chooser *ch = d->ch;
    return s->tasks >= ch->need && s->more >= ch->need_more && s->required == d->required &&
           has_counts(ch, s);
}

/* Prefers more nodes up to 'good', then nodes of a low weight, then fewer nodes. */
static bool is_better(const struct chooser *ch, struct torus_spot *a, struct torus_spot *b)
{
    uint32_t good = a->size < ch->good ? a->size : ch->good;
    uint32_t other = b->size < ch->good ? b->size : ch->good;
    if (good != other)
        return good > other;
    if (a->weight != b->weight)
        return a->weight < b->weight;
    if (a->size != b->size)
        return a->size < b->size;
    uint64_t cost = torus_spot_cost(a), other_cost = torus_spot_cost(b);
    return cost != other_cost ? cost < other_cost : a->view->free < b->view->free;
}

/* If any spot suffices, the list ends with the first sufficient one. */
static struct torus_spot *find_best_spot(const struct chooser *ch, struct torus_views *c,
                                         struct torus_spots *spots)
{
    struct demand d = {ch, ch->required ? bitset_count(ch->required) : 0};
    struct torus_spot *best = NULL;
    if (ch->any_will_do)
        return torus_views_find(c, ch->min, ch->max, is_spot_enough, &d, spots)
                   ? &vec_last(&spots->list)
                   : NULL;
    torus_views_list(c, ch->min, ch->max, spots);
    vec_foreach (&spots->list, s)
        if (is_spot_enough(&d, s) && (!best || is_better(ch, s, best)))
            best = s;
    return best;
}

bool choose_in_torus(struct chooser *ch)
{
    struct torus_views c;
    struct torus_spots spots = {0};
    choose_nothing(ch);
    torus_views_init(&c, ch);
    const struct torus_spot *best = find_best_spot(ch, &c, &spots);
    for (uint32_t i = 0; best && i < best->size; i++)
        choose_add(ch, torus_spot_node(best, i));
    vec_done(&spots.list);
    torus_views_done(&c);
    return best;
}
