/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Alternative licences (-L a|b) of the components of a job set: the search chooses one alternative
 * of each component so that all components have their licences together. Combinations are tried in
 * the order in which the alternatives are named, varying the last component first; a choice for
 * some components that exceeds the licences is not continued. Only the choice of tied pools affects
 * the nodes.
 */
#include <string.h>

#include "cluster/job/license_tied.h"
#include "sched/plan/gate.h"
#include "sched/plan/joint.h"
#include "sched/plan/planned_start.h"
#include "sched/select/resv.h"

#define TRIES 1000        /* maximum of a search */
#define TRIES_PASS 100000 /* maximum of all searches of a pass; then a search is limited to */
#define TRIES_SHORT (2 * JOB_SET_MAX)
#define STARTS_MOST 64 /* maximum ways to choose tied pools for which a search tries a start */

/* A choice of tied pools: one component uses this alternative with tied pools; or no component uses
 * tied pools (tied false). */
struct way {
    uint32_t of, alternative;
    bool tied;
};

struct chooser { /* state of a search */
    const struct cluster *cluster;
    struct plan *plan; /* NULL: at submission */
    const struct job *leader;
    /* The result, and the choice of the present evaluation. */
    struct joint_choice *choice, *present;
    struct job_copy sum; /* the leader with the licences chosen so far */
    uint32_t tied;       /* number of components with tied pools chosen */
    uint32_t tries;
    /* will_do: whether the sum so far can succeed; if not, no larger sum can. accept: whether the
     * sum over all components is the wanted result. */
    bool (*will_do)(struct chooser *s);
    bool (*accept)(struct chooser *s);
    bool has_best;
    uint32_t best[JOB_SET_MAX];
    int64_t at, best_at;    /* time when the licences of the sum are free; 0: no result yet */
    bool has_tied;          /* some alternatives have tied pools */
    const struct way *only; /* only choices of this way; NULL: all */
    VEC(struct way) failed; /* ways with which the set does not start */
};

const struct job *joint_view(struct joint_choice *c, const struct job *j, uint32_t offset)
{
    if (!j->want.licenses.any)
        return j;
    if (!c->views[offset])
        c->views[offset] = mem_new(struct job_copy);
    if (c->viewed <= offset)
        c->viewed = offset + 1;
    return license_view_alternative(j, c->of[offset], c->views[offset]);
}

void joint_choice_begin(struct joint_choice *c, struct plan *p)
{
    *c = (struct joint_choice){.outer = p->choice};
    p->choice = c;
}

void joint_choice_end(struct joint_choice *c, struct plan *p)
{
    for (size_t i = 0; i < c->viewed; i++)
        free(c->views[i]);
    p->choice = c->outer;
}

void joint_choice_read(struct joint_choice *c, uint32_t first, const struct placements *more)
{
    c->of[0] = first;
    for (uint32_t i = 0; i < more->list.len; i++)
        c->of[i + 1] = more->list.data[i].license;
}

static bool has_alternatives(const struct job *component)
{
    return component && component->want.licenses.any;
}

bool joint_has_alternatives(const struct job *j)
{
    bool has = false;
    for (uint32_t i = 0; j->set && !has && i < job_set_count(j); i++)
        has = has_alternatives(job_set_component(j, i));
    return has;
}

/* --- the sum ------------------------------------------------------------------------------------
 */

static void add_need(struct license_needs *sum, const struct license_need *need)
{
    struct license_need copy = {mem_strdup(need->name), need->count, need->at};
    (void)license_add_need(sum, &copy, NULL);
}

static void add_needs(struct license_needs *sum, const struct job *j, uint32_t alternative)
{
    const struct license_needs *needs = &j->want.licenses;
    if (needs->any) {
        add_need(sum, &needs->list.data[alternative]);
        return;
    }
    vec_foreach (&needs->list, need)
        add_need(sum, need);
}

static bool chooses_tied(const struct cluster *c, const struct job *j, uint32_t alternative)
{
    const struct license_needs *needs = &j->want.licenses;
    return needs->any ? license_is_tied(c, &needs->list.data[alternative])
                      : license_needs_tied(c, j);
}

const struct selection *joint_tied_nodes(const struct cluster *c, const struct job *leader,
                                         uint32_t first, const struct selection *where,
                                         const struct placements *more)
{
    if (chooses_tied(c, job_set_component(leader, 0), first))
        return where;
    vec_foreach (&more->list, at) {
        const struct job *j = cluster_find_job(c, at->id);
        if (j && chooses_tied(c, j, at->license))
            return &at->where;
    }
    return where;
}

/* Components are placed one by one, which is impossible for tied pools that several components
 * use. */
static void deny_tied(const struct cluster *c, struct license_needs *sum)
{
    vec_foreach (&sum->list, need)
        if (license_is_tied(c, need))
            need->at = -1;
}

static const struct job *find_component(const struct job *leader, uint32_t offset)
{
    return offset ? job_set_component(leader, offset) : leader;
}

void joint_licenses_init(struct job_copy *copy, const struct cluster *c, const struct job *leader,
                         const struct joint_choice *choice)
{
    uint32_t tied = 0;
    copy->job = *leader;
    copy->job.want.licenses = (struct license_needs){0};
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *j = find_component(leader, i);
        uint32_t of = choice ? choice->of[i] : 0;
        if (!j)
            continue;
        add_needs(&copy->job.want.licenses, j, of);
        tied += chooses_tied(c, j, of);
    }
    if (tied > 1)
        deny_tied(c, &copy->job.want.licenses);
}

void joint_licenses_done(struct job_copy *copy)
{
    license_needs_done(&copy->job.want.licenses);
}

/* Keeps the needs of the sum that are not tied to nodes. */
static void keep_untied(const struct cluster *c, const struct license_needs *sum,
                        struct license_needs *out)
{
    vec_foreach (&sum->list, need)
        if (!license_is_tied(c, need))
            add_need(out, need);
}

enum reason joint_gate_of_start(const struct plan *p, const struct job *sum, bool has_own_tied,
                                bool *keeps_place)
{
    struct job_copy copy;
    if (has_own_tied || !license_needs_tied(p->cluster, sum))
        return gate_of_start(p, sum, keeps_place);
    copy.job = *sum;
    copy.job.want.licenses = (struct license_needs){0};
    keep_untied(p->cluster, &sum->want.licenses, &copy.job.want.licenses);
    enum reason closed = gate_of_start(p, &copy.job, keeps_place);
    license_needs_done(&copy.job.want.licenses);
    return closed;
}

/* --- the search ---------------------------------------------------------------------------------
 */

static const struct job *component_of(const struct chooser *s, uint32_t offset)
{
    return s->plan ? joint_component(s->plan, s->leader, offset)
                   : find_component(s->leader, offset);
}

static bool are_alike(const struct license_needs *a, const struct license_needs *b)
{
    bool alike = a->list.len == b->list.len;
    for (uint32_t i = 0; alike && i < a->list.len; i++)
        alike = a->list.data[i].at == b->list.data[i].at &&
                a->list.data[i].count == b->list.data[i].count;
    return alike;
}

/* Returns the next component with alternatives; the number of components: none. */
static uint32_t find_next(const struct chooser *s, uint32_t offset)
{
    uint32_t count = job_set_count(s->leader);
    while (offset < count && !has_alternatives(component_of(s, offset)))
        offset++;
    return offset;
}

static bool is_of_way(const struct chooser *s, uint32_t offset, uint32_t n)
{
    const struct way *way = s->only;
    if (!way)
        return true;
    if (offset == way->of)
        return n == way->alternative;
    return !chooses_tied(s->cluster, component_of(s, offset), n);
}

static bool search_from(struct chooser *s, uint32_t offset, const struct license_needs *before,
                        uint32_t least);

/* Tries alternative n of the component with all choices of the following components. 'least':
 * argument of search_from() for the next component. */
static bool search_with(struct chooser *s, uint32_t offset, uint32_t n, uint32_t least)
{
    const struct job *j = component_of(s, offset);
    struct license_needs *sum = &s->sum.job.want.licenses, saved = *sum;
    bool tied = chooses_tied(s->cluster, j, n);
    license_needs_copy(&saved, sum);
    add_needs(sum, j, n);
    s->tied += tied;
    s->choice->of[offset] = n;
    bool found = s->tied <= 1 && s->will_do(s) &&
                 search_from(s, offset + 1, &j->want.licenses, tied ? least : n);
    s->tied -= tied;
    license_needs_done(sum);
    *sum = saved;
    return found;
}

/* Identical consecutive components do not try permutations of the same licences, except for pools
 * tied to nodes: 'before' has the alternatives of the preceding component, and 'least' is its last
 * alternative without tied pools. */
static bool search_from(struct chooser *s, uint32_t offset, const struct license_needs *before,
                        uint32_t least)
{
    offset = find_next(s, offset);
    if (offset == job_set_count(s->leader))
        return s->accept(s);
    const struct license_needs *needs = &component_of(s, offset)->want.licenses;
    least = before && are_alike(before, needs) ? least : 0;
    for (uint32_t n = 0; n < needs->list.len; n++) {
        if (n < least && !chooses_tied(s->cluster, component_of(s, offset), n))
            continue;
        if (!is_of_way(s, offset, n))
            continue;
        if (!s->tries)
            return false;
        s->tries--;
        if (search_with(s, offset, n, least))
            return true;
    }
    s->choice->of[offset] = 0;
    return false;
}

static bool has_tied_alternatives(const struct plan *p, const struct job *j)
{
    return has_alternatives(j) && license_needs_tied(p->cluster, j);
}

/* Enumerates the ways to choose tied pools: each alternative of the first component with tied
 * pools, and the tied pools of each other component. Returns their number; 'way' (may be NULL)
 * receives the way with this number. */
static uint32_t find_ways(const struct plan *p, const struct job *leader, uint32_t number,
                          struct way *way)
{
    uint32_t found = 0;
    bool is_first = true;
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *j = joint_component(p, leader, i);
        if (!has_tied_alternatives(p, j))
            continue;
        for (uint32_t n = 0; n < license_count_alternatives(j); n++) {
            bool tied = chooses_tied(p->cluster, j, n);
            if (!tied && !is_first)
                continue;
            if (way && found == number)
                *way = (struct way){i, n, tied};
            found++;
        }
        is_first = false;
    }
    return found;
}

/* Searches the components without the present choice. */
static struct chooser begin_search(struct plan *p, const struct job *leader, struct joint_choice *c)
{
    struct joint_choice *present = p->choice;
    p->choice = NULL;
    return (struct chooser){.cluster = p->cluster,
                            .plan = p,
                            .present = present,
                            .leader = leader,
                            .choice = c,
                            .has_tied = find_ways(p, leader, 0, NULL)};
}

static bool run_search(struct chooser *s)
{
    uint32_t most = s->plan && s->plan->choice_tries > TRIES_PASS ? TRIES_SHORT : TRIES;
    s->tries = most;
    s->tied = 0;
    s->sum.job = *s->leader;
    s->sum.job.want.licenses = (struct license_needs){0};
    for (uint32_t i = 0; i < job_set_count(s->leader); i++) {
        const struct job *j = component_of(s, i);
        if (!j || j->want.licenses.any)
            continue;
        add_needs(&s->sum.job.want.licenses, j, 0);
        s->tied += license_needs_tied(s->cluster, j);
    }
    if (s->tied > 1)
        deny_tied(s->cluster, &s->sum.job.want.licenses);
    bool found = s->will_do(s) && search_from(s, 0, NULL, 0);
    license_needs_done(&s->sum.job.want.licenses);
    if (s->plan) {
        s->plan->choice_tries += most - s->tries;
        s->plan->work += most - s->tries;
    }
    return found;
}

static void note_best(struct chooser *s)
{
    s->has_best = true;
    memcpy(s->best, s->choice->of, sizeof s->best);
}

static void end_search(struct chooser *s)
{
    if (s->has_best)
        memcpy(s->choice->of, s->best, sizeof s->best);
    vec_done(&s->failed);
    s->plan->choice = s->present;
}

/* --- start now ----------------------------------------------------------------------------------
 */

static bool may_start(struct chooser *s)
{
    return license_may_start_somewhere(&s->plan->claims, s->cluster, &s->sum.job, s->plan->now_sec);
}

/* Whether all components can start with this choice. */
static bool starts_with(struct chooser *s)
{
    struct plan *p = s->plan;
    struct joint_choice views;
    struct decision d = {0};
    joint_choice_begin(&views, p);
    memcpy(views.of, s->choice->of, sizeof views.of);
    bool starts = joint_can_start(p, joint_component(p, s->leader, 0), &d);
    joint_choice_end(&views, p);
    plan_decision_done(&d);
    return starts;
}

/* Returns the way of the present choice. */
static struct way find_way_of(const struct chooser *s)
{
    for (uint32_t i = 0; i < job_set_count(s->leader); i++) {
        const struct job *j = component_of(s, i);
        uint32_t n = s->choice->of[i];
        if (has_alternatives(j) && chooses_tied(s->cluster, j, n))
            return (struct way){i, n, true};
    }
    return (struct way){0};
}

static bool has_failed(const struct chooser *s, const struct way *way)
{
    vec_foreach (&s->failed, other)
        if (other->tied == way->tied && other->of == way->of &&
            other->alternative == way->alternative)
            return true;
    return s->failed.len >= STARTS_MOST;
}

/* Whether the gates of the sum, and of another component with chosen tied pools, are open. */
static bool are_gates_open(const struct chooser *s, const struct way *way)
{
    bool keeps_place, own = chooses_tied(s->cluster, s->leader, s->choice->of[0]);
    if (joint_gate_of_start(s->plan, &s->sum.job, own, &keeps_place))
        return false;
    if (!way->tied || !way->of)
        return true;
    struct job_copy room;
    const struct job *j = component_of(s, way->of);
    return !gate_of_start(s->plan, license_view_alternative(j, way->alternative, &room),
                          &keeps_place);
}

/* Called with open gates. The chosen tied pools decide on which nodes a start is possible. */
static bool accept_open(struct chooser *s)
{
    struct way way = s->has_tied ? find_way_of(s) : (struct way){0};
    if (!are_gates_open(s, &way))
        return false;
    if (!s->has_best)
        note_best(s);
    if (!s->has_tied)
        return true;
    if (has_failed(s, &way))
        return false;
    if (starts_with(s))
        return true;
    vec_push(&s->failed, way);
    return false;
}

/* --- start later --------------------------------------------------------------------------------
 */

static bool is_earlier(struct chooser *s)
{
    struct plan *p = s->plan;
    s->at = license_earliest(&p->claims, p->cluster, &s->sum.job, p->now_sec, &p->work);
    return s->at && (!s->best_at || s->at < s->best_at);
}

static bool accept_earlier(struct chooser *s)
{
    note_best(s);
    s->best_at = s->at;
    return s->at <= s->plan->now_sec;
}

int64_t joint_choose_earliest(struct plan *p, const struct job *leader, uint32_t way,
                              struct joint_choice *c)
{
    struct chooser s = begin_search(p, leader, c);
    struct way only;
    s.will_do = is_earlier;
    s.accept = accept_earlier;
    s.only = way < find_ways(p, leader, way, &only) ? &only : NULL;
    run_search(&s);
    end_search(&s);
    return s.best_at;
}

uint32_t joint_count_ways(struct plan *p, const struct job *leader)
{
    struct joint_choice none;
    joint_choice_begin(&none, p);
    p->choice = NULL;
    uint32_t ways = find_ways(p, leader, 0, NULL);
    joint_choice_end(&none, p);
    return ways ? ways : 1;
}

void joint_choose(struct plan *p, const struct job *leader, struct joint_choice *c)
{
    if (!joint_has_alternatives(leader))
        return;
    struct chooser s = begin_search(p, leader, c);
    s.will_do = may_start;
    s.accept = accept_open;
    bool found = run_search(&s);
    bool is_open = found || s.has_best;
    s.has_best = is_open && !found;
    end_search(&s);
    if (!is_open)
        joint_choose_earliest(p, leader, UINT32_MAX, c);
}

/* --- at submission ------------------------------------------------------------------------------
 */

static bool is_possible(struct chooser *s)
{
    return license_needs_possible(s->cluster, &s->sum.job.want.licenses, NULL) == 0;
}

static bool accept_any(struct chooser *s)
{
    (void)s;
    return true;
}

int joint_licenses_possible(const struct cluster *c, const struct job *leader, struct err *err)
{
    struct joint_choice choice = {0};
    struct chooser s = {.cluster = c,
                        .leader = leader,
                        .choice = &choice,
                        .will_do = is_possible,
                        .accept = accept_any};
    if (run_search(&s) || !s.tries)
        return 0;
    struct job_copy first;
    joint_licenses_init(&first, c, leader, NULL);
    int rc = license_needs_possible(c, &first.job.want.licenses, err);
    joint_licenses_done(&first);
    return rc;
}
