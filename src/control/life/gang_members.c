/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "control/life/gang_members.h"

#include "control/internal.h"
#include "control/life/gang.h"
#include "control/life/schedule.h"

uint64_t gang_set_place(const struct job *j)
{
    uint64_t place = 0;
    for (uint32_t i = 0; i < job_set_count(j) && !place; i++) {
        const struct job *component = job_set_component(j, i);
        place = component ? attempt_of(component)->gang_place : 0;
    }
    return place;
}

static bool is_ending(const struct job *j)
{
    return job_is_final(j) && job_nodes_left(j);
}

bool gang_job_has_slot(const struct job *j)
{
    const struct attempt *attempt = attempt_of(j);
    bool runs = j->state == PB__JOB_STATE__RUNNING && !attempt->configuring;
    return !attempt->gang_suspended && (runs || is_ending(j));
}

bool gang_set_has_slot(const struct job *j)
{
    bool active = false;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        active = active ||
                 (component && attempt_of(component)->gang_place && gang_job_has_slot(component));
    }
    return active && !attempt_of(j)->gang_suspended;
}

bool gang_job_still_runs(const struct job *j, const struct alloc_node *a)
{
    const struct attempt *attempt = attempt_of(j);
    bool stops = j->state == PB__JOB_STATE__SUSPENDED || is_ending(j);
    bool has_no_turn = attempt->gang_suspended || !attempt->gang_place;
    bool has_begun = attempt->ran_ms || attempt->halts > 1; /* it did not start suspended */
    return stops && has_no_turn && has_begun && !a->released && !a->parked && a->touched &&
           !a->halt_told;
}

/* Whether an operator has suspended it, and it still runs somewhere. */
static bool is_stopping(const struct job *j)
{
    if (attempt_of(j)->gang_place || !j->want.shared)
        return false;
    vec_foreach (&attempt_of(j)->alloc, a)
        if (gang_job_still_runs(j, a))
            return true;
    return false;
}

/* --- rotations ----------------------------------------------------------------------------------
 */

/* A partition is known by its place in cluster.parts; the number behind the last one: none. */
static size_t part_number(const struct control *c, const struct part *part)
{
    return part ? part->at : c->cluster->parts.len;
}

bool gang_knows_parts(const struct control *c)
{
    size_t count = c->conf->gang_overlap ? 0 : c->cluster->parts.len + 1;
    return c->gang->cluster == c->cluster && c->gang->rotations.len == count;
}

/* The first partition that has the same rotation. */
static size_t find_rotation(const struct control *c, const struct part *part)
{
    size_t number = part_number(c, part);
    bool is_joined = gang_knows_parts(c) && number < c->gang->rotations.len;
    return is_joined ? c->gang->rotations.data[number] : number;
}

static void join_parts(struct control *c, const struct part *a, const struct part *b)
{
    size_t *rotations = c->gang->rotations.data;
    size_t x = rotations[part_number(c, a)], y = rotations[part_number(c, b)];
    for (size_t i = 0; i < c->gang->rotations.len; i++)
        if (rotations[i] == x || rotations[i] == y)
            rotations[i] = x < y ? x : y;
}

static bool have_units_in_common(const struct alloc_node *a, const struct alloc_node *b)
{
    return !b->released && !b->parked && bitset_intersects(a->busy, b->busy);
}

/* With those that have units of the job, and with those of other components. */
static void join_parts_of_job(struct control *c, const struct job *j)
{
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (component && attempt_of(component)->gang_place)
            join_parts(c, j->part, component->part);
    }
    vec_foreach (&attempt_of(j)->alloc, a) {
        const struct node *n = c->cluster->nodes.data[a->node];
        for (size_t i = 0; i < n->holders.len && !a->released && !a->parked; i++) {
            struct job *other = cluster_find_job(c->cluster, n->holders.data[i]);
            if (other->part != j->part && attempt_of(other)->gang_place &&
                have_units_in_common(a, alloc_find(other, a->node)))
                join_parts(c, j->part, other->part);
        }
    }
}

void gang_part_rotations(struct control *c)
{
    vec_clear(&c->gang->rotations);
    for (size_t i = 0; i <= c->cluster->parts.len && !c->conf->gang_overlap; i++)
        vec_push(&c->gang->rotations, i);
    for (struct order_link *l = order_first(&c->cluster->ends); l && !c->conf->gang_overlap;
         l = order_next(l))
        if (attempt_of(job_of_end(l))->gang_place)
            join_parts_of_job(c, job_of_end(l));
}

bool gang_has_joined_parts(const struct control *c)
{
    for (size_t i = 0; i < c->gang->rotations.len; i++)
        if (c->gang->rotations.data[i] != i)
            return true;
    return false;
}

bool gang_share_rotation(const struct control *c, const struct job *other, const struct job *j)
{
    return c->conf->gang_overlap || find_rotation(c, other->part) == find_rotation(c, j->part);
}

/* --- members ------------------------------------------------------------------------------------
 */

/* The units of the node that are left to the rotation of the job: others are used by jobs that do
 * not share, or by another rotation. */
static uint32_t count_shareable(const struct control *c, const struct node *n, const struct job *j)
{
    size_t rotation = find_rotation(c, j->part);
    uint32_t count = n->units;
    for (uint32_t i = 0; n->use && i < n->units; i++) {
        const struct part *part = n->use[i].part;
        bool is_apart = !c->conf->gang_overlap && find_rotation(c, part) != rotation;
        count -= n->use[i].jobs && (!part || is_apart);
    }
    return count;
}

static void add_use(const struct control *c, struct rotation_member *m, const struct job *j,
                    const struct alloc_node *a)
{
    const struct node *n = c->cluster->nodes.data[a->node];
    uint32_t of = c->conf->gang_counts ? count_shareable(c, n, j) : 0;
    rotation_use_node(m, &(struct rotation_use){a->node, a->busy, a->units, of});
}

/* What it does not share is in nobody's way. */
static void add_uses(const struct control *c, struct rotation_member *m, const struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && !a->parked)
            add_use(c, m, j, a);
}

bool gang_job_takes_part(const struct job *j)
{
    return attempt_of(j)->gang_place && job_nodes_left(j) && !job_is_final(j);
}

/* Of the components of a set the first one that takes part stands for all. */
static bool stands_for_member(const struct job *j)
{
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (component && gang_job_takes_part(component))
            return component == j;
    }
    return false;
}

/* Components that are not configured yet do as the others, also as those that have ended and still
 * have their units. */
static void add_member(const struct control *c, struct rotation *r, const struct job *first)
{
    bool runs = false, waits = false, ends = false;
    int64_t left_ms = 0;
    for (uint32_t i = first->set_offset; i < job_set_count(first); i++) {
        const struct job *j = job_set_component(first, i);
        runs = runs || (j && gang_job_takes_part(j) && gang_job_has_slot(j));
        waits = waits || (j && gang_job_takes_part(j) && attempt_of(j)->gang_suspended);
        if (j && gang_job_takes_part(j) && control_left_ms(c, j) > left_ms)
            left_ms = control_left_ms(c, j);
    }
    for (uint32_t i = 0; i < job_set_count(first); i++) {
        const struct job *j = job_set_component(first, i);
        ends = ends || (j && attempt_of(j)->gang_place && is_ending(j) && gang_job_has_slot(j));
    }
    if (!runs && !waits && !ends)
        return;
    runs = runs || (ends && !waits);
    struct rotation_member *m = rotation_add(r, first->id, attempt_of(first)->gang_place, runs);
    m->left_ms = left_ms;
    for (uint32_t i = 0; i < job_set_count(first); i++) {
        const struct job *j = job_set_component(first, i);
        if (j && attempt_of(j)->gang_place)
            add_uses(c, m,
                     j); /* also of a component that is ending: it may share with the others */
    }
}

/* Each component ends for itself. What has ended while it was suspended does not count: it ends
 * beside those whose turn it is. */
static void add_ending(const struct control *c, struct rotation *r, const struct job *j)
{
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (component && (gang_job_takes_part(component) || attempt_of(component)->gang_suspended))
            return;
    }
    struct rotation_member *m = rotation_add(r, j->id, attempt_of(j)->gang_place, true);
    m->pinned = true;
    add_uses(c, m, j);
}

static void add_stopping(const struct control *c, struct rotation *r, const struct job *j)
{
    struct rotation_member *m = rotation_add(r, j->id, 0, true);
    m->pinned = true;
    add_uses(c, m, j);
}

static void rotation_open(const struct control *c, struct rotation *r)
{
    *r = (struct rotation){.counts = c->conf->gang_counts,
                           .nodes = c->cluster->nodes.len,
                           .last = c->gang->last_place};
}

/* Collects the members of all partitions, or of the rotation with this number. */
static void collect_members(const struct control *c, struct rotation *r, size_t number)
{
    rotation_open(c, r);
    for (struct order_link *l = order_first(&c->cluster->ends); l; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        bool takes_part = attempt_of(j)->gang_place;
        if (!c->conf->gang_overlap && find_rotation(c, j->part) != number)
            continue;
        if (is_stopping(j))
            add_stopping(c, r, j);
        else if (takes_part && is_ending(j))
            add_ending(c, r, j);
        else if (takes_part && stands_for_member(j))
            add_member(c, r, j);
    }
}

/* Whether a partition before this one has the same rotation. */
static bool is_joined(const struct control *c, size_t number)
{
    return gang_knows_parts(c) && number < c->gang->rotations.len &&
           c->gang->rotations.data[number] != number;
}

bool gang_next_rotation(const struct control *c, size_t *number, struct rotation *r)
{
    size_t last = c->conf->gang_overlap ? 0 : c->cluster->parts.len;
    while (*number <= last && is_joined(c, *number))
        (*number)++;
    if (*number > last)
        return false;
    collect_members(c, r, (*number)++);
    return true;
}

/* --- the present slot ----------------------------------------------------------------------------
 */

/* What others have of its nodes in the present slot, as one member; those as well whose turn is
 * over and that still run. On a node of several components they are counted too often: such a set
 * waits until the rotation is settled, in the same turn. */
static void add_others(const struct control *c, struct rotation *r, const struct job *j)
{
    struct rotation_member *m = rotation_add(r, 0, 0, true);
    m->pinned = true;
    vec_foreach (&attempt_of(j)->alloc, own) {
        const struct node *n = c->cluster->nodes.data[own->node];
        vec_foreach (&n->holders, id) {
            struct job *other = cluster_find_job(c->cluster, *id);
            if (job_set_id(other) == job_set_id(j))
                continue;
            const struct alloc_node *a = alloc_find(other, own->node);
            bool has_units = attempt_of(other)->gang_place && !a->released && !a->parked &&
                             gang_set_has_slot(other);
            if (gang_share_rotation(c, other, j) && (has_units || gang_job_still_runs(other, a)))
                add_use(c, m, other, a);
        }
    }
}

bool gang_fits_now(const struct control *c, const struct job *j)
{
    struct rotation r;
    bool fits = true;
    rotation_open(c, &r);
    for (uint32_t i = 0; i < job_set_count(j); i++)
        if (job_set_component(j, i))
            add_others(c, &r, job_set_component(j, i));
    struct rotation_member *m = rotation_add(&r, j->id, UINT64_MAX, false);
    for (uint32_t i = 0; i < job_set_count(j); i++)
        if (job_set_component(j, i))
            add_uses(c, m, job_set_component(j, i));
    rotation_settle(&r);
    vec_foreach (&r.members, member)
        fits = member->pinned ? fits : member->runs;
    rotation_done(&r);
    return fits;
}
