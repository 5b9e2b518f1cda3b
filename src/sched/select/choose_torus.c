/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The choice in a network of toruses: a sub-cube of one torus, of a shape and at a place that its
 * placements permit. Every such spot is examined. Of the sufficient spots the one with the lightest
 * nodes is taken, of these the one that leaves the most other spots free, and then one in the torus
 * with the fewest free nodes.
 */
#include "sched/select/torus_spots.h"

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
static struct torus_spot *find_spot(const struct chooser *ch, struct torus_views *c,
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
    const struct torus_spot *best = find_spot(ch, &c, &spots);
    for (uint32_t i = 0; best && i < best->size; i++)
        choose_add(ch, torus_spot_node(best, i));
    vec_done(&spots.list);
    torus_views_done(&c);
    return best;
}
