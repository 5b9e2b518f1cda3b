/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/joint.h"

#include <assert.h>
#include <stdlib.h>

#include "cluster/job/license_tied.h"
#include "sched/plan/ledger.h"
#include "sched/plan/planned_start.h"
#include "sched/plan/set_turn.h"
#include "sched/plan/timeline_priv.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

#define ROUNDS_MOST 64 /* moments that are tried for one planned start */
/* Where the short way finds no places, others are searched one by one: for sets that may have few
 * nodes, for each so many choices of a part, and so many in a pass. */
#define SEARCH_NODES 64
#define SEARCH_CHOICES 500
#define SEARCH_PASS 20000
/* Of a small set, other numbers of units on its nodes, too. */
#define SMALL_NODES 16
#define SMALL_PARTS 4
#define SMALL_CHOICES 4000
/* For planned starts: each moment, and all of them in a pass. */
#define PLANNED_CHOICES 200
#define PLANNED_PASS 4000

struct space {             /* where parts are placed: one of the two */
    struct ledger *ledger; /* what is free now */
    struct timeline *timeline;
    int64_t from; /* of the timeline; TIMELINE_NOW: at once */
    struct ledger
        *units; /* on the timeline, at once: which units the parts have; NULL: no matter */
};

const struct job *joint_component(const struct plan *p, const struct job *leader, uint32_t offset)
{
    const struct job *as = p->variant.as;
    const struct job *j = offset ? job_set_component(leader, offset) : leader;
    j = offset && j && as && as->id == j->id ? as : j;
    return j && p->choice ? joint_view(p->choice, j, offset) : j;
}

bool joint_has_partitions(const struct plan *p, const struct job *leader)
{
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *j = joint_component(p, leader, i);
        if (!j || !j->part)
            return false;
    }
    return true;
}

bool joint_is_variant(const struct plan *p, const struct job *component)
{
    return p->variant.as && p->variant.as->id == component->id;
}

enum reason joint_reason_of_absent(const struct job *component)
{
    if (component->state != PB__JOB_STATE__PENDING)
        return REASON_CLEANING;
    return component->reason ? component->reason : REASON_PRIORITY;
}

void joint_begin(struct joint *s, struct plan *p, const struct job *leader)
{
    const struct plan_variant *v = &p->variant;
    uint32_t end = v->count ? v->first + v->count : job_set_count(leader);
    *s = (struct joint){.plan = p, .placed = bitset_new(p->cluster->nodes.len)};
    for (uint32_t i = v->first; i < end; i++) {
        const struct job *j = joint_component(p, leader, i);
        assert(j);
        vec_push(&s->order, (uint32_t)s->parts.len);
        vec_push(&s->parts, ((struct joint_part){.job = j,
                                                 .in_one = i == 0 || joint_is_variant(p, j),
                                                 .license = p->choice ? p->choice->of[i] : 0}));
    }
}

void joint_end(struct joint *s)
{
    vec_foreach (&s->parts, part) {
        select_done(&part->where);
        bitset_free(part->nodes);
        free(part->room);
    }
    vec_done(&s->parts);
    vec_done(&s->order);
    bitset_free(s->placed);
}

void joint_take(struct joint *s, struct selection *where, struct placements *more)
{
    vec_foreach (&s->parts, part) {
        const struct job *j = part->job;
        struct selection *to = where;
        if (part != s->parts.data) {
            vec_push(&more->list,
                     ((struct placement){
                         .id = j->id, .part = j->part, .in = part->in, .license = part->license}));
            to = &vec_last(&more->list).where;
        }
        *to = part->where;
        part->where = (struct selection){0};
    }
    vec_foreach (&s->order, at)
        vec_push(&more->order, *at);
}

/* --- one part ----------------------------------------------------------------------------------
 */

/* The job itself, in whatever partition the part has been looked at. */
static const struct job *job_of(const struct joint *s, const struct joint_part *part)
{
    return part->in_one ? part->job : cluster_find_job(s->plan->cluster, part->job->id);
}

static struct job_copy *make_room(struct joint_part *part)
{
    part->room = part->room ? part->room : mem_new(struct job_copy);
    return part->room;
}

static void leave_out_licenses(struct joint_part *part)
{
    struct job_copy *room = make_room(part);
    if (part->job != &room->job)
        room->job = *part->job;
    room->job.want.licenses = (struct license_needs){0};
    part->job = &room->job;
}

/* The job in each of its partitions where no gate is closed. False: there are no more. */
static bool enter_partition(const struct joint *s, struct joint_part *part, uint32_t n,
                            const struct job *of)
{
    bool in_one = part->in_one || !of->partitions;
    if (n >= (in_one ? 1 : of->partitions->count))
        return false;
    part->job = in_one ? of : job_partitions_view(of, of->partitions->of[n].part, make_room(part));
    if (part->job->want.licenses.any)
        part->job = license_view_alternative(part->job, part->license, make_room(part));
    if (s->without_licenses && part->job->want.licenses.list.len)
        leave_out_licenses(part);
    return true;
}

static bool takes_whole_units(const struct request *r)
{
    return r->whole_sockets || r->use_threads;
}

/* In one of its partitions. */
static bool may_take_whole_units(const struct joint_part *part)
{
    const struct job_partitions *all = part->in_one ? NULL : part->job->partitions;
    bool may = takes_whole_units(&part->job->want);
    for (uint32_t i = 0; all && i < all->count; i++) {
        struct job_copy room;
        may =
            may || takes_whole_units(&job_partitions_view(part->job, all->of[i].part, &room)->want);
    }
    return may;
}

static void begin_ledger(struct joint *s, struct ledger *l, const struct free_view *view)
{
    ledger_begin_on(l, s->plan->cluster, view);
    s->chooses_units = false;
    vec_foreach (&s->parts, part)
        s->chooses_units = s->chooses_units || may_take_whole_units(part);
    l->chooses_units = s->chooses_units;
}

/* Whether it matters which cores of a node are free, what the partition's jobs have there, or how
 * much of the node is reserved: then the part has no node together with another one. */
static bool looks_at_cores(const struct joint *s, const struct job *j)
{
    const struct conf_part *p = &j->part->conf;
    vec_foreach (&s->plan->cluster->resvs, r)
        if (resv_in_parts(*r))
            return true;
    bool follows_gres = j->want.gres.list.len && j->want.gres_binding != GRES_BINDING_ANY &&
                        !takes_whole_units(&j->want);
    bool restricts = s->plan->cluster->has_restricted_cores;
    return (s->chooses_units && (follows_gres || restricts)) || j->want.tasks_per_socket ||
           request_is_bound(&j->want) || p->max_cpus_per_node != UINT32_MAX ||
           p->max_cpus_per_socket != UINT32_MAX;
}

/* The nodes of other parts, or of those of them that have none together with another one. */
static void leave_out_nodes(const struct joint *s, const struct joint_part *part,
                            struct bitset *allowed)
{
    if (looks_at_cores(s, part->job)) {
        bitset_andnot(allowed, s->placed);
        return;
    }
    vec_foreach (&s->order, at) {
        const struct joint_part *before = &s->parts.data[*at];
        if (before == part)
            return;
        if (looks_at_cores(s, before->job))
            vec_foreach (&before->where.shares, share)
                bitset_unset(allowed, share->node);
    }
}

static bool fits_on_ledger(const struct joint *s, const struct ledger *l, struct joint_part *part,
                           struct bitset *allowed)
{
    struct plan *p = s->plan;
    const struct job *j = part->job;
    _cleanup_(license_view_done) struct license_view licenses = {0};
    if (!j->want.shared && l->base == &p->cluster->pool.now)
        bitset_and(allowed, p->cluster->pool.spare.open);
    if (!resv_narrow(p->resv, j, part->in, p->now_sec, allowed))
        return false;
    const struct free_view *view = resv_view(p->resv, j, part->in, p->now_sec, ledger_view(l));
    struct free_view limited = *view;
    limited.limit = s->most;
    view = s->most ? &limited : view;
    view = license_view_init(&licenses, &p->claims, p->cluster, j, part->in, p->now_sec, view);
    return select_nodes(p->cluster, j, allowed, view, &part->where) == 0;
}

static bool fits_in(struct joint *s, const struct space *space, struct joint_part *part,
                    const struct bitset *avoid)
{
    struct plan *p = s->plan;
    bool now = space->ledger || space->from == TIMELINE_NOW;
    _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, part->job, part->in);
    p->work += p->cluster->nodes.len;
    if (avoid)
        bitset_andnot(allowed, avoid);
    if (now)
        leave_out_nodes(s, part, allowed);
    if (space->ledger)
        return fits_on_ledger(s, space->ledger, part, allowed);
    struct timeline *t = space->timeline;
    t->in = part->in;
    t->view.busy = space->units ? space->units->busy : NULL;
    t->view.limit = s->most;
    bool fits = timeline_fits_from(t, part->job, allowed, space->from, &part->where);
    t->view.busy = NULL;
    t->view.limit = NULL;
    return fits;
}

static bool may_use(const struct job *j, const struct resv *r)
{
    bool may = false;
    vec_foreach (&j->resvs, of)
        may |= *of == r;
    return may;
}

/* A magnetic reservation attracts a set when all of its components may use it. */
static bool attracts_set(const struct joint *s, const struct job *j, const struct resv *r)
{
    if (!r || !(r->flags & RESV_MAGNETIC) || j->resv_asked)
        return true;
    vec_foreach (&s->parts, part)
        if (!may_use(part->job, r))
            return false;
    return true;
}

/* In that of its partitions, and of the reservations it may run in. */
static bool fits_in_partition(struct joint *s, const struct space *space, struct joint_part *part,
                              const struct bitset *avoid)
{
    if (!part->in_one && !job_partitions_link(part->job)->in)
        return false;
    if (set_turn_is_kept_out(s->plan, part->job)) {
        s->kept_out = true;
        return false;
    }
    for (size_t i = 0; resv_place(part->job, i, &part->in); i++) {
        select_clear(&part->where);
        if (attracts_set(s, part->job, part->in) && fits_in(s, space, part, avoid))
            return true;
    }
    return false;
}

/* In one of its partitions. */
static bool fits_part(struct joint *s, const struct space *space, struct joint_part *part,
                      const struct bitset *avoid)
{
    const struct job *of = job_of(s, part);
    for (uint32_t n = 0; enter_partition(s, part, n, of); n++)
        if (fits_in_partition(s, space, part, avoid))
            return true;
    select_clear(&part->where);
    return false;
}

static void place_part(struct joint *s, const struct space *space, const struct joint_part *part)
{
    vec_foreach (&part->where.shares, share)
        bitset_set(s->placed, share->node);
    if (space->ledger || space->units)
        ledger_place(space->ledger ? space->ledger : space->units, part->job, &part->where);
    if (space->ledger)
        return;
    if (space->from == TIMELINE_NOW)
        calendar_start(&space->timeline->calendar, part->job, &part->where);
    else
        calendar_reserve(&space->timeline->calendar, part->job, &part->where, space->from);
}

/* --- all parts ---------------------------------------------------------------------------------
 */

struct bitset *joint_candidates(const struct cluster *c, const struct job *j, bool in_one)
{
    struct bitset *nodes = select_candidates(c, j);
    for (uint32_t n = 0; !in_one && j->partitions && n < j->partitions->count; n++) {
        struct job_copy room;
        const struct job *other = job_partitions_view(j, j->partitions->of[n].part, &room);
        _cleanup_bitset_ struct bitset *more = select_candidates(c, other);
        bitset_or(nodes, more);
    }
    return nodes;
}

/* Those that have the fewest nodes to choose from come first. */
static void order_parts(struct joint *s)
{
    uint64_t count[JOB_SET_MAX];
    if (s->parts.data[0].nodes)
        return;
    vec_foreach (&s->parts, part) {
        const struct job *j = part->job;
        part->nodes = joint_candidates(s->plan->cluster, j, part->in_one);
        bitset_and(part->nodes, s->plan->cluster->pool.usable);
        count[part - s->parts.data] = bitset_count(part->nodes);
    }
    for (size_t i = 1; i < s->order.len; i++)
        for (size_t k = i; k && count[s->order.data[k]] < count[s->order.data[k - 1]]; k--) {
            uint32_t first = s->order.data[k];
            s->order.data[k] = s->order.data[k - 1];
            s->order.data[k - 1] = first;
        }
}

/* Nodes that parts may have which are placed after this one. */
static struct bitset *find_wanted_later(const struct joint *s, size_t at)
{
    struct bitset *set = bitset_new(s->plan->cluster->nodes.len);
    for (size_t i = at + 1; i < s->order.len; i++)
        bitset_or(set, s->parts.data[s->order.data[i]].nodes);
    return set;
}

/* Places all of them in this order. The place in the order of the one that does not fit; as many as
 * there are: all do. */
static size_t place_in_order(struct joint *s, const struct space *space)
{
    bitset_zero(s->placed);
    for (size_t i = 0; i < s->order.len; i++) {
        struct joint_part *part = &s->parts.data[s->order.data[i]];
        _cleanup_bitset_ struct bitset *later = find_wanted_later(s, i);
        bool apart = i + 1 < s->order.len && !bitset_contains(later, part->nodes) &&
                     fits_part(s, space, part, later);
        if (!apart && !fits_part(s, space, part, NULL))
            return i;
        place_part(s, space, part);
    }
    return s->order.len;
}

static void move_to_front(struct joint *s, size_t at)
{
    uint32_t part = s->order.data[at];
    for (; at > 0; at--)
        s->order.data[at] = s->order.data[at - 1];
    s->order.data[0] = part;
}

static void clear_places(struct joint *s)
{
    vec_foreach (&s->parts, part)
        select_clear(&part->where);
}

/* One that is moved to the front has found nothing beside those before it: after as many attempts
 * as there are parts each has been first. Not 'alone': one does not even fit by itself. */
static bool try_orders(struct joint *s, const struct space *space, bool *alone)
{
    order_parts(s);
    for (size_t attempt = 0; attempt <= s->order.len; attempt++) {
        if (space->timeline)
            timeline_begin_trial(space->timeline);
        size_t failed = place_in_order(s, space);
        if (space->timeline)
            timeline_end_trial(space->timeline, false);
        if (!space->timeline || space->units)
            ledger_roll_back(space->timeline ? space->units : space->ledger, 0);
        if (failed == s->order.len)
            return true;
        clear_places(s);
        *alone = failed > 0;
        if (failed == 0)
            return false;
        move_to_front(s, failed);
    }
    return false;
}

static bool place_all(struct joint *s, const struct space *space, bool *alone)
{
    struct ledger units;
    struct space chosen = *space;
    if (space->ledger || space->from != TIMELINE_NOW)
        return try_orders(s, space, alone);
    begin_ledger(s, &units, &s->plan->cluster->pool.now);
    chosen.units = s->chooses_units ? &units : NULL;
    bool all = try_orders(s, &chosen, alone);
    ledger_end(&units);
    return all;
}

struct search { /* of places for all parts, one by one */
    struct joint *joint;
    const struct space *space;
    bool by_units; /* with fewer units of a node, too, and not only without the node */
    uint32_t choices, choices_most;
};

struct limits { /* of one part */
    struct bitset *avoid;
    uint32_t *most; /* by node; NULL: not by units */
};

static void note_placed(struct joint *s, const struct ledger *l)
{
    bitset_zero(s->placed);
    vec_foreach (&l->entries, e)
        bitset_set(s->placed, e->node);
}

/* Rolls back all but the first 'count' parts of the order. A trial on the timeline can only be
 * rolled back as a whole. */
static void keep_first(struct joint *s, const struct space *space, size_t count, size_t mark)
{
    if (space->ledger) {
        ledger_roll_back(space->ledger, mark);
        note_placed(s, space->ledger);
        return;
    }
    timeline_end_trial(space->timeline, false);
    timeline_begin_trial(space->timeline);
    bitset_zero(s->placed);
    for (size_t i = 0; i < count; i++)
        place_part(s, space, &s->parts.data[s->order.data[i]]);
}

static bool search_from(struct search *search, size_t at);
static bool search_in(struct search *search, size_t at, uint32_t partition, struct limits *l);

/* With less of the node than it had there. */
static bool search_without(struct search *search, size_t at, uint32_t partition, struct limits *l,
                           const struct share *had)
{
    uint32_t before = l->most ? l->most[had->node] : 0;
    if (!before)
        bitset_set(l->avoid, had->node);
    else
        l->most[had->node] = (before < had->units ? before : had->units) - 1;
    bool found = search_in(search, at, partition, l);
    if (!before)
        bitset_unset(l->avoid, had->node);
    else
        l->most[had->node] = before;
    return found;
}

/* Places the parts from 'at' on, that one in this of its partitions and within the limits: where
 * the others do not fit beside it, it is placed without one of its nodes, and so on. */
static bool search_in(struct search *search, size_t at, uint32_t partition, struct limits *l)
{
    struct joint *s = search->joint;
    struct ledger *ledger = search->space->ledger;
    struct joint_part *part = &s->parts.data[s->order.data[at]];
    size_t mark = ledger ? ledger_mark(ledger) : 0;
    enter_partition(s, part, partition, job_of(s, part));
    if (++search->choices > search->choices_most)
        return false;
    s->most = l->most;
    bool fits = fits_in_partition(s, search->space, part, l->avoid);
    s->most = NULL;
    if (!fits)
        return false;
    place_part(s, search->space, part);
    if (at + 1 == s->order.len || search_from(search, at + 1))
        return true;
    keep_first(s, search->space, at, mark);
    struct selection had = part->where;
    part->where = (struct selection){0};
    bool found = false;
    for (size_t i = 0; i < had.shares.len && !found; i++)
        found = search_without(search, at, partition, l, &had.shares.data[i]);
    select_done(&had);
    return found;
}

static bool search_part(struct search *search, size_t at)
{
    struct joint *s = search->joint;
    size_t nodes = s->plan->cluster->nodes.len;
    struct joint_part *part = &s->parts.data[s->order.data[at]];
    const struct job *of = job_of(s, part);
    bool found = false;
    for (uint32_t n = 0; !found && enter_partition(s, part, n, of); n++) {
        _cleanup_bitset_ struct bitset *avoid = bitset_new(nodes);
        _cleanup_free_ uint32_t *most = search->by_units ? mem_new_array(uint32_t, nodes) : NULL;
        for (size_t i = 0; most && i < nodes; i++)
            most[i] = UINT32_MAX;
        found = search_in(search, at, n, &(struct limits){avoid, most});
    }
    return found;
}

static void swap_parts(struct joint *s, size_t a, size_t b)
{
    uint32_t part = s->order.data[a];
    s->order.data[a] = s->order.data[b];
    s->order.data[b] = part;
}

/* Each of those that are not placed yet as the next one: what a part takes depends on what it
 * finds. */
static bool search_from(struct search *search, size_t at)
{
    struct joint *s = search->joint;
    for (size_t i = at; i < s->order.len; i++) {
        swap_parts(s, at, i);
        if (search_part(search, at))
            return true;
        swap_parts(s, at, i);
    }
    return false;
}

/* Adds the number of choices to 'choices'. */
static bool run_search(struct joint *s, const struct space *space, bool by_units,
                       uint32_t choices_most, uint64_t *choices)
{
    struct search search = {
        .joint = s, .space = space, .by_units = by_units, .choices_most = choices_most};
    bitset_zero(s->placed);
    bool found = search_from(&search, 0);
    *choices += search.choices;
    if (!found)
        clear_places(s);
    return found;
}

static size_t count_candidates(const struct joint *s)
{
    _cleanup_bitset_ struct bitset *all = bitset_new(s->plan->cluster->nodes.len);
    vec_foreach (&s->parts, part)
        bitset_or(all, part->nodes);
    return bitset_count(all);
}

static bool is_small(const struct joint *s, size_t nodes)
{
    return nodes <= SMALL_NODES && s->parts.len <= SMALL_PARTS;
}

/* Node by node where there are few nodes, and unit by unit where there are fewer. */
static bool search_places(struct joint *s, const struct space *space)
{
    size_t nodes = count_candidates(s);
    uint64_t *choices = &s->plan->joint_choices;
    s->gave_up = *choices >= SEARCH_PASS;
    if (s->gave_up || nodes > SEARCH_NODES)
        return false;
    return run_search(s, space, false, SEARCH_CHOICES, choices) ||
           (is_small(s, nodes) && run_search(s, space, true, SMALL_CHOICES, choices));
}

/* The same on the timeline, with fewer choices; at once not for parts whose units matter. */
static bool search_planned(struct joint *s, const struct space *space)
{
    uint64_t *choices = &s->plan->joint_planned;
    size_t nodes = count_candidates(s);
    bool by_units = space->from == TIMELINE_NOW && s->chooses_units;
    if (by_units || *choices >= PLANNED_PASS || nodes > SEARCH_NODES)
        return false;
    timeline_begin_trial(space->timeline);
    bool found = run_search(s, space, false, PLANNED_CHOICES, choices) ||
                 (is_small(s, nodes) && run_search(s, space, true, PLANNED_CHOICES, choices));
    timeline_end_trial(space->timeline, false);
    return found;
}

bool joint_fits_now(struct joint *s)
{
    struct ledger ledger;
    struct space space = {.ledger = &ledger};
    bool alone = true;
    begin_ledger(s, &ledger, &s->plan->cluster->pool.now);
    bool all = place_all(s, &space, &alone);
    if (!all && alone)
        all = search_places(s, &space);
    ledger_end(&ledger);
    return all;
}

bool joint_fits_on(struct joint *s, const struct free_view *view)
{
    struct ledger ledger;
    struct space space = {.ledger = &ledger};
    bool alone;
    begin_ledger(s, &ledger, view);
    bool all = place_all(s, &space, &alone);
    ledger_end(&ledger);
    return all;
}

struct bitset *joint_nodes(struct joint *s)
{
    struct bitset *all = bitset_new(s->plan->cluster->nodes.len);
    order_parts(s);
    vec_foreach (&s->parts, part)
        bitset_or(all, part->nodes);
    if (s->plan->kept)
        bitset_andnot(all, s->plan->kept);
    return all;
}

bool joint_leaves_room(struct joint *s, struct timeline *t)
{
    bool alone;
    return place_all(s, &(struct space){.timeline = t, .from = TIMELINE_NOW}, &alone);
}

/* In one of its partitions, as far as is known without a look at the nodes. */
static bool might_fit_somewhere(const struct plan *p, const struct job *j, bool in_one)
{
    if (in_one || !j->partitions)
        return plan_might_fit(p, j);
    for (uint32_t i = 0; i < j->partitions->count; i++) {
        struct job_copy room;
        if (plan_might_fit(p, job_partitions_view(j, j->partitions->of[i].part, &room)))
            return true;
    }
    return false;
}

static bool all_might_fit(const struct plan *p, const struct job *leader)
{
    const struct plan_variant *v = &p->variant;
    uint32_t end = v->count ? v->first + v->count : job_set_count(leader);
    for (uint32_t i = v->first; i < end; i++) {
        const struct job *j = joint_component(p, leader, i);
        if (!might_fit_somewhere(p, j, i == 0 || joint_is_variant(p, j)))
            return false;
    }
    return true;
}

static bool has_tied_parts(const struct joint *s)
{
    vec_foreach (&s->parts, part)
        if (license_needs_tied(s->plan->cluster, part->job))
            return true;
    return false;
}

/* Whether all parts fit, were there no licences: of a set that does not, no choice of pools does.
 * It is remembered while no node is taken. */
static bool fits_without_licenses(struct plan *p, const struct job *leader)
{
    struct joint joint;
    const struct plan_note *note = plan_note(p, leader);
    if (note->has_nodes && note->nodes_taken == p->cluster->pool.taken)
        return true;
    joint_begin(&joint, p, leader);
    joint.without_licenses = true;
    bool fits = joint_fits_now(&joint) || joint.gave_up || joint.kept_out;
    joint_end(&joint);
    if (fits) {
        struct plan_note *changed = plan_note_change(p, leader);
        changed->has_nodes = true;
        changed->nodes_taken = p->cluster->pool.taken;
    }
    return fits;
}

/* That nothing of it fits holds until something becomes free, with whichever licences. Where these
 * are tied to nodes claims of others on pools may end before: of such a set it holds for the nodes
 * alone, and its licences are judged by gate_licenses(), which reads 'unfit', as before. */
static void note_unfit(struct plan *p, const struct job *leader, const struct joint *joint)
{
    if (p->asks || p->kept || joint->gave_up || joint->kept_out)
        return;
    if (!has_tied_parts(joint))
        plan_note_change(p, leader)->unfit = true;
    else if (!fits_without_licenses(p, leader))
        plan_note_change(p, leader)->lacks_nodes = true;
}

bool joint_can_start(struct plan *p, const struct job *leader, struct decision *d)
{
    struct joint joint;
    const struct plan_note *note = plan_note(p, leader);
    if (note->unfit || note->lacks_nodes || !all_might_fit(p, leader))
        return false;
    joint_begin(&joint, p, leader);
    bool fits = joint_fits_now(&joint);
    if (!fits)
        note_unfit(p, leader, &joint);
    if (fits && !p->variant.now && planned_start_others(p, leader)) {
        planned_start_lay_out(p);
        assert(p->timeline);
        fits = joint_leaves_room(&joint, p->timeline);
    }
    if (fits) {
        d->in = joint.parts.data[0].in;
        joint_take(&joint, &d->where, &d->more);
    }
    joint_end(&joint);
    return fits;
}

/* --- a planned start ----------------------------------------------------------------------------
 */

/* Returns the earliest start from that time on that the part would have alone, in one of its
 * partitions. 0: none. */
static int64_t find_start_alone(struct joint *s, struct timeline *t, struct joint_part *part,
                                int64_t from)
{
    struct plan *p = s->plan;
    const struct job *of = job_of(s, part);
    int64_t first = p->now_sec + CLUSTER_NO_LIMIT_SEC;
    for (uint32_t n = 0; first > from && enter_partition(s, part, n, of); n++) {
        if (!part->in_one && !job_partitions_link(part->job)->in)
            continue;
        part->in = resv_home(part->job);
        t->in = part->in;
        _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, part->job, part->in);
        timeline_set_licenses(t, &p->claims, from);
        int64_t at = timeline_find(t, part->job, allowed, &part->where);
        select_clear(&part->where);
        p->work += p->cluster->nodes.len;
        first = at < first ? at : first;
    }
    return first < p->now_sec + CLUSTER_NO_LIMIT_SEC ? first : 0;
}

/* The latest of the earliest starts that each of them would have alone. 0: one has none. */
static int64_t find_latest(struct joint *s, struct timeline *t, int64_t from)
{
    int64_t latest = from;
    vec_foreach (&s->parts, part) {
        int64_t at = find_start_alone(s, t, part, latest);
        if (!at)
            return 0;
        latest = at > latest ? at : latest;
    }
    return latest;
}

/* The first moment of the timeline after this one. 0: there is none. */
static int64_t find_next_moment(const struct timeline *t, int64_t after)
{
    vec_foreach (&t->moments, at)
        if (*at > after)
            return *at;
    return 0;
}

/* Jobs are beyond their limits, and count as ending now. */
static bool has_late_jobs(const struct timeline *t)
{
    vec_foreach (&t->moments, at)
        if (*at == t->calendar.now_sec)
            return true;
    return false;
}

static bool plan_at(struct joint *s, const struct space *space)
{
    bool alone = true;
    return place_all(s, space, &alone) || (alone && search_planned(s, space));
}

int64_t joint_find_start(struct joint *s, struct timeline *t, int64_t due)
{
    int64_t now = s->plan->now_sec, at = due > now ? due : now;
    assert(t);
    timeline_fill(t, SIZE_MAX);
    for (int round = 0; at && round < ROUNDS_MOST; round++) {
        at = find_latest(s, t, at);
        bool at_once = at == now;
        if (at_once && plan_at(s, &(struct space){.timeline = t, .from = TIMELINE_NOW}))
            return at;
        if (at && (!at_once || has_late_jobs(t)) &&
            plan_at(s, &(struct space){.timeline = t, .from = at}))
            return at;
        at = at ? find_next_moment(t, at) : 0;
    }
    clear_places(s);
    return 0;
}
