/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/preempt.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "sched/plan/gate.h"
#include "sched/plan/joint.h"
#include "sched/plan/set_turn.h"
#include "sched/plan/victims.h"
#include "sched/select/resv.h"

#define VICTIM_SEARCHES_MOST 32 /* maximum unsuccessful searches in one pass */
#define ELEMENTS_MOST 64        /* maximum elements of one array with victims in one pass */
#define EXEMPT_PRIORITY_NONE UINT64_MAX

/* --- rules -------------------------------------------------------------------------------------
 */

bool preempt_has(const struct conf *conf, const char *name)
{
    _cleanup_free_ char *old = mem_printf("preempt_%s", name);
    return conf_list_has(conf->preempt_parameters, name) ||
           conf_list_has(conf->scheduler_parameters, old);
}

static const char *find_mode(const struct conf *conf, const struct conf_part *p)
{
    return p->preempt_mode && *p->preempt_mode ? p->preempt_mode : conf->preempt_mode;
}

bool preempt_needs_priority(const struct conf *conf, const struct conf_part *p)
{
    return conf_list_has(find_mode(conf, p), "PRIORITY");
}

enum preempt_mode preempt_mode_of(const struct conf *conf, const struct conf_part *p)
{
    const char *mode = find_mode(conf, p);
    if (!str_case_eq(conf->preempt_type, "preempt/partition_prio"))
        return PREEMPT_OFF;
    return conf_list_has(mode, "SUSPEND")   ? PREEMPT_SUSPEND
           : conf_list_has(mode, "REQUEUE") ? PREEMPT_REQUEUE
           : conf_list_has(mode, "CANCEL")  ? PREEMPT_CANCEL
                                            : PREEMPT_OFF;
}

enum preempt_mode preempt_mode_of_job(const struct conf *conf, const struct job *j)
{
    enum preempt_mode highest = PREEMPT_OFF;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (!component || job_is_final(component))
            continue;
        enum preempt_mode mode =
            component->part ? preempt_mode_of(conf, &component->part->conf) : PREEMPT_OFF;
        if (mode == PREEMPT_OFF)
            return PREEMPT_OFF;
        highest = mode > highest ? mode : highest;
    }
    return highest;
}

static uint64_t exempt_priority(const struct conf *conf)
{
    _cleanup_free_ char *value = conf_list_value(conf->preempt_parameters, "min_exempt_priority");
    return value ? strtoull(value, NULL, 10) : EXEMPT_PRIORITY_NONE;
}

int64_t preempt_tier(const struct job *j)
{
    return j->part ? (int64_t)j->part->conf.priority_tier : INT64_MAX;
}

enum preempt_mode preempt_mode_in(const struct plan *p, const struct part *part)
{
    assert(part->at < p->preempt_modes.len);
    return p->preempt_modes.data[part->at];
}

/* Orders by tier, then by priority. */
static int by_precedence(const void *a, const void *b)
{
    const struct job *x = *(const struct job *const *)a, *y = *(const struct job *const *)b;
    if (preempt_tier(x) != preempt_tier(y))
        return preempt_tier(x) > preempt_tier(y) ? -1 : 1;
    if (x->priority != y->priority)
        return x->priority > y->priority ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void sort_yielded(struct plan *p)
{
    VEC(const struct job *) jobs = {0};
    vec_foreach (&p->cluster->yielded, id) {
        const struct job *j = cluster_find_job(p->cluster, *id);
        if (j)
            vec_push(&jobs, j);
    }
    if (jobs.len)
        qsort(jobs.data, jobs.len, sizeof(jobs.data[0]), by_precedence);
    vec_foreach (&jobs, j)
        vec_push(&p->yielded, (*j)->id);
    vec_done(&jobs);
}

/* A preemptor keeps its nodes while all of its victims are exiting. */
static void find_preemptor_tier(struct plan *p)
{
    struct order_link *l = order_first(&p->cluster->ends);
    p->room_tier = p->victim_tier;
    for (; l && l->key <= p->now_sec; l = order_next(l)) {
        const struct job *j = job_of_end(l);
        if (attempt_of(j)->completing && attempt_of(j)->preempted_at &&
            preempt_tier(j) < p->room_tier)
            p->room_tier = preempt_tier(j);
        p->work++;
    }
}

void preempt_begin(struct plan *p)
{
    const struct conf *conf = p->cluster->conf;
    bool any = false;
    p->head_at = p->victim_tier = p->room_tier = INT64_MAX;
    p->exempt_priority = exempt_priority(conf);
    p->reclaims_licenses = conf_list_has(conf->preempt_parameters, "reclaim_licenses");
    vec_foreach (&p->cluster->parts, at) {
        const struct part *part = *at;
        enum preempt_mode mode = preempt_mode_of(conf, &part->conf);
        vec_push(&p->preempt_modes, (uint8_t)mode);
        any = any || mode != PREEMPT_OFF;
        if (mode != PREEMPT_OFF && part->running && part->conf.priority_tier < p->victim_tier)
            p->victim_tier = part->conf.priority_tier;
    }
    if (any)
        find_preemptor_tier(p);
    sort_yielded(p);
}

void preempt_end(struct plan *p)
{
    bitset_free(take_ptr(p->kept));
    vec_done(&p->victims);
    select_done(&p->room_at);
    vec_done(&p->yielded);
    vec_done(&p->preempted_in_vain);
    vec_done(&p->preempt_modes);
}

/* Reserves the node against all later jobs of this pass. */
static void keep_node(struct plan *p, uint32_t node)
{
    if (!p->kept)
        p->kept = bitset_new(p->cluster->nodes.len);
    bitset_set(p->kept, node);
}

/* Also reserves the rest of leaves that the job uses exclusively. */
static void keep_nodes(struct plan *p, const struct job *j, const struct selection *where)
{
    _cleanup_(select_done) struct selection wide = {0};
    where = select_widen(p->cluster, j, where, &wide);
    vec_foreach (&where->shares, share)
        keep_node(p, share->node);
}

/* --- for a pending job --------------------------------------------------------------------------
 */

/* Whether the job ends before the planned starts of earlier jobs that would need its nodes. */
static bool is_over_before(const struct plan *p, const struct job *j)
{
    return p->head_at == INT64_MAX || job_ends_at(j, p->now_sec) <= p->head_at;
}

static bool has_none(const struct plan *p, const struct job *j)
{
    vec_foreach (&p->preempted_in_vain, other)
        if (alike_covers(j, *other))
            return true;
    return false;
}

/* The sockets that will be free after the victims have ended are unknown; a job that must start at
 * once cannot wait for victims. */
static bool may_preempt(const struct plan *p, const struct job *j)
{
    return preempt_tier(j) > p->room_tier && !plan_note(p, j)->has_no_victim &&
           p->preempted_in_vain.len < VICTIM_SEARCHES_MOST && !j->want.tasks_per_socket &&
           !j->trial && is_over_before(p, j) && !has_none(p, j);
}

/* Whether each of the nodes can hold only one such share. */
static bool takes_most(const struct plan *p, const struct selection *where)
{
    vec_foreach (&where->shares, s)
        if (s->units * 2 <= p->cluster->nodes.data[s->node]->units)
            return false;
    return true;
}

static uint32_t may_start(const struct job *j)
{
    uint32_t n = gate_count_elements(j);
    return n < ELEMENTS_MOST ? n : ELEMENTS_MOST;
}

static void count_preemptors(struct plan *p, const struct job *j, const struct selection *where)
{
    p->room = p->room_for == j->id ? p->room + 1 : 1;
    p->room_for = takes_most(p, where) ? j->id : 0;
}

bool preempt_goes_on(struct plan *p, const struct job *j)
{
    return p->room_for == j->id && p->room < may_start(j);
}

/* Whether 'j' is one of the copies in the plan, which are overwritten for the next job. */
static bool is_copy(const struct plan *p, const struct job *j)
{
    return (p->changed && j == &p->changed->job) || (p->either && j == &p->either->job);
}

bool preempt_may_reclaim(const struct plan *p, const struct job *j)
{
    return p->reclaims_licenses && j->want.licenses.list.len && !j->want.licenses.any &&
           !(p->either && j == &p->either->job) && p->reclaim_searches < VICTIM_SEARCHES_MOST;
}

bool preempt_look(struct plan *p, const struct job *j, int64_t *look_at)
{
    struct selection where = {0};
    bool reclaims = preempt_may_reclaim(p, j);
    vec_clear(&p->victims);
    if (!may_preempt(p, j))
        return false;
    *look_at = 0;
    const struct resv *in = resv_home(j);
    _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, j, in);
    p->lacks_priority = false;
    bool found = (reclaims || license_may_start(&p->claims, p->cluster, j, in, p->now_sec)) &&
                 resv_narrow(p->resv, j, in, p->now_sec, allowed) &&
                 victims_find(p, j, allowed, reclaims, &where, look_at);
    /* A job that starts meanwhile may take licences that this one lacks. */
    if (!p->asks)
        plan_note_change(p, j)->has_no_victim = !found && !*look_at && !p->lacks_priority &&
                                                !p->kept && !j->partitions && !reclaims &&
                                                !p->cluster->resvs.len;
    p->reclaim_searches += reclaims && !found;
    if (!found && !j->partitions && !reclaims) /* the job differs between its partitions */
        vec_push(&p->preempted_in_vain, is_copy(p, j) ? p->changed_of : j);
    if (found)
        keep_nodes(p, j, &where);
    if (found)
        count_preemptors(p, j, &where);
    select_done(&p->room_at);
    p->room_at = where;
    return found;
}

/* The sockets that will be free after the victims have ended are unknown. */
static bool may_preempt_for_set(const struct plan *p, const struct joint *joint)
{
    vec_foreach (&joint->parts, part) {
        const struct job *j = part->job;
        if (preempt_tier(j) <= p->room_tier || j->want.tasks_per_socket || j->trial ||
            !is_over_before(p, j) || set_turn_is_kept_out(p, j))
            return false;
    }
    return p->set_victim_searches < VICTIM_SEARCHES_MOST;
}

bool preempt_look_set(struct plan *p, const struct job *leader, const struct job *sum,
                      int64_t *look_at)
{
    struct selection where = {0};
    struct joint joint;
    vec_clear(&p->victims);
    if (plan_note(p, leader)->has_no_victim)
        return false;
    joint_begin(&joint, p, leader);
    *look_at = 0;
    p->lacks_priority = false;
    bool looks = may_preempt_for_set(p, &joint);
    bool found = looks &&
                 license_may_start(&p->claims, p->cluster, sum, resv_home(leader), p->now_sec) &&
                 victims_find_for_set(p, leader, &joint, &where, look_at);
    for (size_t i = 0; found && i < joint.parts.len; i++)
        keep_nodes(p, joint.parts.data[i].job, &joint.parts.data[i].where);
    bool has_kept_out = joint.kept_out;
    joint_end(&joint);
    plan_note_change(p, leader)->has_no_victim = looks && !found && !*look_at &&
                                                 !p->lacks_priority && !p->kept && !has_kept_out &&
                                                 !p->cluster->resvs.len;
    p->set_victim_searches += looks && !found;
    select_done(&where);
    return found;
}

/* --- resuming victims ---------------------------------------------------------------------------
 */

static bool has_units(const struct job *j, uint32_t node)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (a->node == node && !a->released && !a->parked)
            return true;
    return false;
}

/* Whether jobs of higher tiers hold its nodes: they run long, and it waits for them. */
static bool is_under(const struct plan *p, const struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a) {
        const struct node *n = p->cluster->nodes.data[a->node];
        for (size_t i = 0; i < n->holders.len && !a->released; i++) {
            const struct job *other = cluster_find_job(p->cluster, n->holders.data[i]);
            if (other && preempt_tier(other) > preempt_tier(j) && has_units(other, a->node))
                return true;
        }
    }
    return false;
}

static bool is_kept(const struct plan *p, const struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && p->kept && bitset_test(p->kept, a->node))
            return true;
    return false;
}

/* Whether its nodes are reserved for other jobs before its limit. */
static bool is_reserved(const struct plan *p, const struct job *j)
{
    _cleanup_bitset_ struct bitset *set = bitset_new(p->cluster->nodes.len);
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released)
            bitset_set(set, a->node);
    size_t nodes = bitset_count(set);
    return !resv_narrow(p->resv, j, attempt_of(j)->resv, p->now_sec, set) ||
           bitset_count(set) < nodes;
}

static void keep_nodes_of(struct plan *p, const struct job *j)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released)
            keep_node(p, a->node);
}

/* Excludes a job that still runs in its GraceTime. */
static bool is_suspended(const struct job *j)
{
    return j && j->yielded && attempt_is_parked(j);
}

/* A job set resumes as a whole. */
static bool can_go_on(struct plan *p, const struct job *leader)
{
    bool can = true, under = false;
    for (uint32_t i = 0; i < job_set_count(leader); i++) {
        const struct job *j = job_set_component(leader, i);
        if (!is_suspended(j))
            continue;
        if (is_kept(p, j) || is_reserved(p, j))
            return false;
        can = can && park_check_return(p->cluster, j, NULL) == 0;
        under = under || is_under(p, j);
    }
    for (uint32_t i = 0; !can && !under && i < job_set_count(leader); i++)
        if (is_suspended(job_set_component(leader, i)))
            keep_nodes_of(p, job_set_component(leader, i));
    return can;
}

const struct job *preempt_next_resumed(struct plan *p, int64_t tier)
{
    while (p->yielded_at < p->yielded.len) {
        const struct job *j = cluster_find_job(p->cluster, p->yielded.data[p->yielded_at]);
        bool waits = is_suspended(j) && job_set_is_leader(j);
        if (waits && preempt_tier(j) < tier)
            return NULL;
        p->yielded_at++;
        p->work += waits ? attempt_of(j)->alloc.len : 0;
        if (waits && can_go_on(p, j))
            return j;
    }
    return NULL;
}
