/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/set_turn.h"

#include <stdlib.h>

#include "base/mem.h"
#include "conf/conf_sets.h"
#include "sched/plan/depth.h"

struct look { /* at a component of a set, in the turn of the set */
    uint32_t id;
    const struct part *part; /* as the component is in this partition, */
    size_t walk_index;       /* which has this index in the order of the pass */
    uint32_t priority;
};

struct looks {
    VEC(struct look) list;
};

struct walk {     /* of a partition, from the first time that the pass leaves one in the middle, or
                     without backfill at a job that waits */
    bool is_over; /* the pass is through with the queue */
    bool is_left; /* the pass left it in the middle, with: */
    bool blocked; /* these are as in struct plan */
    uint32_t blocked_by;
    struct order_place at;
    struct plan_part_depth depth;
    uint32_t left_at;   /* rises with each time that a partition is left in the middle */
    uint32_t waits_for; /* id of the set to which the pass has to come in other partitions before it
                           goes on here; 0: none */
};

struct set_turns {
    struct looks looks;     /* of the set whose turn it is */
    size_t look_at;         /* the next of them */
    VEC(struct walk) walks; /* as plan.order; empty: no partition was left that way */
    uint32_t last_left_at;
    struct idmap had_turn; /* ids of sets */
};

static bool has_common_place(const struct job *j)
{
    return j->set && j->set->rule != CONF_RANK_OWN;
}

/* --- where the components wait -------------------------------------------------------------------
 */

/* Index in the order in which the pass walks the partitions; its length: it is not walked. */
static size_t find_walk_index(const struct plan *p, const struct part *part)
{
    size_t at = 0;
    while (at < p->order.len && p->order.data[at] != part)
        at++;
    return at;
}

static int64_t tier_at(const struct plan *p, size_t walk_index)
{
    return p->order.data[walk_index]->conf.priority_tier;
}

static const struct part *partition_at(const struct job *j, uint32_t at)
{
    return j->partitions ? j->partitions->of[at].part : j->part;
}

static int compare_looks(const void *a, const void *b)
{
    const struct look *x = a, *y = b;
    if (x->walk_index != y->walk_index)
        return x->walk_index < y->walk_index ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void sort_looks(struct looks *looks)
{
    if (looks->list.len)
        qsort(looks->list.data, looks->list.len, sizeof(looks->list.data[0]), compare_looks);
}

/* Looks at the first 'count' components in all of their partitions, in the order in which the pass
 * would come to them if they had no common place: by tier, then by priority. */
static struct looks list_looks(const struct plan *p, const struct job *j, uint32_t count)
{
    struct looks looks = {0};
    struct job_copy room;
    for (uint32_t i = 0; i < count; i++) {
        const struct job *component = job_set_component(j, i);
        if (!component || !job_partitions_is_queued(component))
            continue;
        for (uint32_t k = 0; k < job_partitions_count(component); k++) {
            const struct part *part = partition_at(component, k);
            size_t at = find_walk_index(p, part);
            if (at < p->order.len)
                vec_push(&looks.list,
                         ((struct look){
                             .id = component->id,
                             .part = part,
                             .walk_index = at,
                             .priority = job_partitions_view(component, part, &room)->priority}));
        }
    }
    sort_looks(&looks);
    return looks;
}

/* Of the partitions of these looks, which fall in tier. */
static int64_t choose_tier(const struct plan *p, const struct looks *looks,
                           enum conf_sets_rank rule)
{
    size_t count = looks->list.len;
    int64_t sum = 0, tier = tier_at(p, looks->list.data[0].walk_index);
    if (rule == CONF_RANK_LEAST)
        return tier_at(p, looks->list.data[count - 1].walk_index);
    vec_foreach (&looks->list, look)
        sum += tier_at(p, look->walk_index);
    vec_foreach (&looks->list, look) {
        int64_t lower = tier_at(p, look->walk_index);
        if (rule == CONF_RANK_MEAN && lower * (int64_t)count >= sum)
            tier = lower;
    }
    return tier;
}

/* The turn of the set is in the tier of the partition that the pass walks. */
static bool is_in_this_tier(const struct plan *p, const struct job *j)
{
    struct looks looks = list_looks(p, j, job_set_count(j));
    bool in_tier = looks.list.len && choose_tier(p, &looks, j->set->rule) == tier_at(p, p->part);
    vec_done(&looks.list);
    return in_tier;
}

bool set_turn_passes_over(const struct plan *p, const struct job *j)
{
    uint32_t had_turn;
    if (j->id == p->without || job_set_id(j) == p->without)
        return true;
    if (has_common_place(j))
        return (p->turns && idmap_get(&p->turns->had_turn, job_set_id(j), &had_turn)) ||
               !is_in_this_tier(p, j);
    return !p->mode && !job_set_is_leader(j);
}

/* --- partitions that are left in the middle ------------------------------------------------------
 */

/* Of the present partition. */
static struct walk *make_walk(struct plan *p)
{
    p->turns = p->turns ? p->turns : mem_new(struct set_turns);
    while (p->turns->walks.len < p->order.len)
        vec_push(&p->turns->walks, ((struct walk){.is_over = p->turns->walks.len < p->part}));
    return &p->turns->walks.data[p->part];
}

static void save_walk(struct plan *p, const struct order_place *at)
{
    struct walk *walk = make_walk(p);
    walk->is_left = true;
    walk->left_at = ++p->turns->last_left_at;
    walk->blocked = p->blocked;
    walk->blocked_by = p->blocked_by;
    walk->at = *at;
    walk->depth = p->depth.in_part;
    p->depth.in_part = (struct plan_part_depth){0};
}

/* False: the partition has not been walked yet. */
static bool resume_walk(struct plan *p, size_t walk_index)
{
    struct walk *walk = &p->turns->walks.data[walk_index];
    p->part = walk_index;
    walk->waits_for = 0;
    if (!walk->is_left)
        return false;
    walk->is_left = false;
    p->again = 0;
    p->blocked = walk->blocked;
    p->blocked_by = walk->blocked_by;
    p->at = walk->at;
    idmap_done(&p->depth.in_part.users);
    p->depth.in_part = walk->depth;
    walk->depth = (struct plan_part_depth){0};
    return true;
}

const struct order_link *set_turn_peek(const struct plan *p, const struct part *part,
                                       const struct order_place *from)
{
    struct order_place at = *from;
    struct order_link *l = order_peek(&part->queue, &at);
    while (l && set_turn_passes_over(p, job_partitions_job_of(l))) {
        order_step(&part->queue, &at);
        l = order_peek(&part->queue, &at);
    }
    return l;
}

/* NULL: no partition was left in the middle. */
static const struct walk *find_walk(const struct plan *p, size_t walk_index)
{
    return p->turns && p->turns->walks.len ? &p->turns->walks.data[walk_index] : NULL;
}

static bool is_over(const struct plan *p, size_t walk_index)
{
    const struct walk *walk = find_walk(p, walk_index);
    return walk ? walk->is_over : walk_index < p->part;
}

/* Another partition is not walked on before the turn of a set. False: it is, from that place. */
static bool has_paused(const struct plan *p, size_t walk_index, struct order_place *at)
{
    const struct walk *walk = find_walk(p, walk_index);
    *at = walk ? walk->at : (struct order_place){0};
    return is_over(p, walk_index) || (walk && walk->waits_for);
}

static bool is_at_or_behind(const struct order_link *next, int64_t key, uint64_t tie)
{
    return !next || next->key > key || (next->key == key && next->tie >= tie);
}

/* The walk of the partition has come to the place of the component, or is not going on before the
 * turn of another set. */
static bool has_reached(const struct plan *p, size_t walk_index, const struct job *component)
{
    const struct part *part = p->order.data[walk_index];
    struct job_copy room;
    struct order_place at;
    if (has_paused(p, walk_index, &at))
        return true;
    struct order_link *next = order_peek(&part->queue, &at);
    if (next && job_partitions_job_of(next)->set == component->set)
        return true;
    int64_t key = job_partitions_queue_key(job_partitions_view(component, part, &room));
    return is_at_or_behind(next, key, component->id);
}

/* A partition that waits until the pass has come to this set in another one. */
static bool find_waiting(const struct plan *p, uint32_t set_id, size_t *walk_index)
{
    for (size_t i = 0; p->turns && i < p->turns->walks.len; i++) {
        if (p->turns->walks.data[i].waits_for != set_id)
            continue;
        *walk_index = i;
        return true;
    }
    return false;
}

/* A partition of the same tier in which the pass has not come to the set. */
static bool find_behind(const struct plan *p, const struct looks *looks, size_t *walk_index)
{
    vec_foreach (&looks->list, look) {
        size_t at = look->walk_index;
        if (at == p->part || tier_at(p, at) != tier_at(p, p->part) ||
            has_reached(p, at, cluster_find_job(p->cluster, look->id)))
            continue;
        *walk_index = at;
        return true;
    }
    return false;
}

/* Leaves the present partition for that one before the turn of the set. 'back': that one has waited
 * for this one. */
static void leave_for(struct plan *p, uint32_t set_id, size_t walk_index, bool back,
                      const struct order_place *before)
{
    save_walk(p, before);
    p->turns->walks.data[p->part].waits_for = back ? 0 : set_id;
    if (!resume_walk(p, walk_index))
        plan_enter_part(p);
}

/* Leaves the present partition before the turn of the set for another one where the pass has to be
 * before. False: it is not to be left. */
static bool change_part(struct plan *p, const struct job *j, const struct order_place *before)
{
    size_t to = p->part;
    uint32_t set_id = job_set_id(j);
    struct looks looks = list_looks(p, j, job_set_count(j));
    bool back = find_waiting(p, set_id, &to);
    bool changes = back || find_behind(p, &looks, &to);
    vec_done(&looks.list);
    if (changes)
        leave_for(p, set_id, to, back, before);
    return changes;
}

/* Without backfill the pass looks at no job of a partition behind one that waits. */
static void note_blocked(struct plan *p)
{
    if (!p->backfill && p->blocked && conf_sets_rank_by(p->cluster->conf) != CONF_RANK_OWN)
        make_walk(p)->blocked = true;
}

bool set_turn_is_kept_out(const struct plan *p, const struct job *component)
{
    if (p->backfill || !has_common_place(component) || !p->turns || !p->turns->walks.len)
        return false;
    size_t at = find_walk_index(p, component->part);
    return at < p->order.len && p->turns->walks.data[at].is_over &&
           p->turns->walks.data[at].blocked;
}

bool set_turn_is_left(const struct plan *p, const struct part *part)
{
    size_t at = p->turns && p->turns->walks.len ? find_walk_index(p, part) : p->order.len;
    return at < p->order.len && p->turns->walks.data[at].is_left;
}

/* The waiting partition that was left last; without one the first partition that is not over. */
static size_t find_next_walk(const struct plan *p)
{
    const struct walk *walks = p->turns->walks.data;
    size_t next = p->order.len;
    for (size_t i = p->order.len; i-- > 0;) {
        bool waits = walks[i].waits_for && !walks[i].is_over;
        bool is_last = next == p->order.len || !walks[next].waits_for ||
                       walks[i].left_at > walks[next].left_at;
        if (waits ? is_last : !walks[i].is_over && (next == p->order.len || !walks[next].waits_for))
            next = i;
    }
    return next;
}

bool set_turn_begins_blocked(const struct plan *p)
{
    return p->turns && p->part < p->turns->walks.len && p->turns->walks.data[p->part].blocked;
}

bool set_turn_leave_part(struct plan *p)
{
    note_blocked(p);
    if (!p->turns || !p->turns->walks.len) {
        p->part++;
        return false;
    }
    p->turns->walks.data[p->part].is_over = true;
    size_t next = p->part = find_next_walk(p);
    return next < p->order.len && resume_walk(p, next);
}

void set_turn_done(struct plan *p)
{
    if (!p->turns)
        return;
    vec_foreach (&p->turns->walks, walk)
        idmap_done(&walk->depth.users);
    vec_done(&p->turns->walks);
    vec_done(&p->turns->looks.list);
    idmap_done(&p->turns->had_turn);
    free(p->turns);
}

/* --- the turn ------------------------------------------------------------------------------------
 */

const struct job *set_turn_begin(struct plan *p, const struct job *j,
                                 const struct order_place *before, const struct part **in)
{
    if (!has_common_place(j))
        return j;
    if (change_part(p, j, before))
        return NULL;
    p->turns = p->turns ? p->turns : mem_new(struct set_turns);
    vec_done(&p->turns->looks.list);
    p->turns->looks = list_looks(p, j, p->mode ? job_set_count(j) : 1);
    p->turns->look_at = 0;
    idmap_set(&p->turns->had_turn, job_set_id(j), 1);
    return set_turn_next(p, in);
}

/* A set that waits is before the jobs that follow it in each of its partitions. Without backfill
 * this is also so where the pass has not begun: the set is the first job there. */
static void end_turn(struct plan *p)
{
    const struct job *j = cluster_find_job(p->cluster, p->turns->looks.list.data[0].id);
    bool waits = p->blocked && j && job_partitions_is_queued(j);
    struct looks looks = {0};
    if (waits && !p->backfill)
        make_walk(p);
    if (waits && p->turns->walks.len)
        looks = list_looks(p, j, job_set_count(j));
    vec_foreach (&looks.list, look) {
        struct walk *walk = &p->turns->walks.data[look->walk_index];
        bool begins = !p->backfill && !walk->is_over && look->walk_index != p->part;
        if ((!walk->is_left && !begins) || walk->blocked)
            continue;
        walk->blocked = true;
        walk->blocked_by = p->mode ? job_set_id(j) : 0;
    }
    vec_done(&looks.list);
    vec_clear(&p->turns->looks.list);
    p->turns->look_at = 0;
}

const struct job *set_turn_next(struct plan *p, const struct part **in)
{
    if (!p->turns)
        return NULL;
    bool once_more = p->turns->look_at && p->again &&
                     p->turns->looks.list.data[p->turns->look_at - 1].id == p->again;
    p->turns->look_at -= once_more;
    while (p->turns->look_at < p->turns->looks.list.len) {
        const struct look *look = &p->turns->looks.list.data[p->turns->look_at++];
        const struct job *j = cluster_find_job(p->cluster, look->id);
        if (j && job_partitions_is_queued(j) && job_partitions_has(j, look->part)) {
            p->again = 0;
            *in = look->part;
            return j;
        }
    }
    if (p->turns->looks.list.len)
        end_turn(p);
    return NULL;
}

bool set_turn_lasts(const struct plan *p)
{
    return p->turns && p->turns->look_at < p->turns->looks.list.len;
}

/* --- a question about a set that the pass leaves out ---------------------------------------------
 */

/* The leader of the set that the pass leaves out. NULL: it leaves out another job, or none. */
static const struct job *find_left_out(const struct plan *p)
{
    const struct job *j = p->without ? cluster_find_job(p->cluster, p->without) : NULL;
    return j && has_common_place(j) && job_set_is_leader(j) && job_set_is_whole(j) ? j : NULL;
}

/* At all components: at the leader in 'part' alone, if it is not in its queue. */
static struct looks list_supposed_looks(const struct plan *p, const struct job *leader,
                                        const struct part *part)
{
    struct looks looks = list_looks(p, leader, job_set_count(leader));
    size_t moved_to = find_walk_index(p, part);
    if (job_partitions_has(leader, part) || moved_to == p->order.len)
        return looks;
    vec_foreach (&looks.list, look)
        if (look->id == leader->id)
            look->walk_index = moved_to;
    sort_looks(&looks);
    return looks;
}

/* The looks of the turn of the set, which are in partitions of one tier. None: it has no turn. */
static struct looks list_turn(const struct plan *p, const struct part *part)
{
    struct looks looks = {0};
    size_t left = 0;
    const struct job *leader = find_left_out(p);
    if (leader)
        looks = list_supposed_looks(p, leader, part);
    int64_t tier = looks.list.len ? choose_tier(p, &looks, leader->set->rule) : 0;
    vec_foreach (&looks.list, look)
        if (tier_at(p, look->walk_index) == tier)
            looks.list.data[left++] = *look;
    looks.list.len = left;
    return looks;
}

/* The walk of the partition has come to the place of the set, or is not going on before its turn.
 */
static bool has_come_to(const struct plan *p, size_t walk_index, const struct set_place *place)
{
    struct order_place at = p->at;
    if (walk_index != p->part && has_paused(p, walk_index, &at))
        return true;
    return is_at_or_behind(set_turn_peek(p, p->order.data[walk_index], &at), place->key,
                           place->tie);
}

/* Leaves the present partition for another one that the pass walks before the turn. */
static bool leave_for_turn(struct plan *p, const struct looks *turn, const struct set_place *place)
{
    size_t to = p->part;
    bool back = find_waiting(p, p->without, &to);
    for (size_t i = 0; i < turn->list.len && to == p->part; i++)
        if (!has_come_to(p, turn->list.data[i].walk_index, place))
            to = turn->list.data[i].walk_index;
    if (to == p->part)
        return false;
    leave_for(p, p->without, to, back, &p->at);
    return true;
}

/* There is no other partition in which the set can have its turn. */
static bool is_last_of_turn(const struct plan *p, const struct looks *turn)
{
    vec_foreach (&turn->list, look)
        if (look->walk_index != p->part && !is_over(p, look->walk_index))
            return false;
    return true;
}

enum set_turn_way set_turn_approach(struct plan *p, const struct set_place *place)
{
    struct looks turn = list_turn(p, place->part);
    enum set_turn_way way = SET_TURN_BEFORE;
    bool is_here = false;
    vec_foreach (&turn.list, look)
        is_here = is_here || look->walk_index == p->part;
    if (!turn.list.len)
        way = SET_TURN_ALONE;
    else if (tier_at(p, p->part) < tier_at(p, turn.list.data[0].walk_index))
        way = SET_TURN_REACHED;
    else if (is_here && depth_is_reached(p))
        way = is_last_of_turn(p, &turn) ? SET_TURN_REACHED : SET_TURN_BEFORE;
    else if (is_here && has_come_to(p, p->part, place))
        way = leave_for_turn(p, &turn, place) ? SET_TURN_MOVED : SET_TURN_REACHED;
    vec_done(&turn.list);
    return way;
}

void set_turn_list_parts(const struct plan *p, const struct part *own, struct set_parts *out)
{
    struct looks turn = list_turn(p, own);
    if (!turn.list.len)
        vec_push(&out->list, own);
    vec_foreach (&turn.list, look)
        if (look == turn.list.data || look->walk_index != look[-1].walk_index)
            vec_push(&out->list, p->order.data[look->walk_index]);
    vec_done(&turn.list);
}
