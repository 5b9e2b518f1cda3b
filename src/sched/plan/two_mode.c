/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/two_mode.h"

#include "cluster/job/job_set_text.h"
#include "conf/conf_sets.h"
#include "sched/plan/depth.h"
#include "sched/plan/gate.h"
#include "sched/plan/joint.h"
#include "sched/plan/planned_start.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

/* --- what is known of a set ----------------------------------------------------------------------
 */

static struct plan_set *find_set(struct plan *p, const struct job *j)
{
    uint32_t at, count = job_set_count(j);
    if (idmap_get(&p->set_index, job_set_id(j), &at))
        return &p->sets.data[at];
    bool reserves = depth_has_places(p, count, !p->blocked);
    idmap_set(&p->set_index, job_set_id(j), (uint32_t)p->sets.len);
    vec_push(
        &p->sets,
        ((struct plan_set){
            .id = job_set_id(j), .count = count, .reserves = reserves, .backfilled = p->blocked}));
    p->depth.promised += reserves ? count : 0;
    return &vec_last(&p->sets);
}

static bool could_ever_fit(struct plan *p, struct plan_set *set)
{
    const struct job *leader = cluster_find_job(p->cluster, set->id);
    if (set->reserves && !set->checked && leader && !leader->partitions &&
        joint_has_partitions(p, leader))
        set->never = !joint_could_fit(p, leader, NULL);
    set->checked = true;
    return !set->never;
}

static struct plan_set_start *find_note(const struct plan *p, uint32_t set_id)
{
    vec_foreach (&p->notes->set_starts, note)
        if (note->set_id == set_id)
            return note;
    return NULL;
}

/* The latest start that this pass has found for a component of the set, but for this one. 0: none.
 */
static int64_t find_latest(const struct plan *p, uint32_t set_id, uint32_t but_id)
{
    int64_t latest = 0;
    vec_foreach (&p->heads, head) {
        const struct job *j = cluster_find_job(p->cluster, head->id);
        if (j && j->set && job_set_id(j) == set_id && j->id != but_id && head->at_sec > latest)
            latest = head->at_sec;
    }
    return latest;
}

/* The component has no start before that. */
static int64_t find_not_before(const struct plan *p, const struct plan_set *set,
                               const struct job *j)
{
    const struct plan_set_start *note = p->mode == 2 ? find_note(p, set->id) : NULL;
    if (p->mode == 1)
        return find_latest(p, set->id, j->id);
    return note ? note->latest_at : 0;
}

static struct plan_head *find_head(const struct plan *p, uint32_t id)
{
    vec_foreach (&p->heads, head)
        if (head->id == id)
            return head;
    return NULL;
}

/* --- one component -------------------------------------------------------------------------------
 */

/* Whether it could start now beside what those before it keep. */
static bool find_start_now(struct plan *p, const struct job *j, int64_t not_before,
                           struct selection *where, int64_t *at_sec)
{
    const struct resv *in = resv_home(j);
    if (not_before > p->now_sec || !license_may_start(&p->claims, p->cluster, j, in, p->now_sec))
        return false;
    planned_start_lay_out(p);
    _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, j, in);
    p->work += p->cluster->nodes.len;
    *at_sec = p->now_sec;
    return calendar_fits_now(&p->timeline->calendar, j, in, allowed, where);
}

/* The earliest start beside what those before it keep. False: none can be foreseen. */
static bool find_start(struct plan *p, const struct job *j, int64_t not_before,
                       struct selection *where, int64_t *at_sec)
{
    planned_start_lay_out(p);
    _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, j, resv_home(j));
    int64_t due = planned_start_license_time(p, j);
    if (!due)
        return false;
    due = due > not_before ? due : not_before;
    timeline_set_licenses(p->timeline, &p->claims, due);
    p->work += p->cluster->nodes.len;
    *at_sec = planned_start_search(p, p->timeline, j, allowed, due, where);
    if (!where->shares.len || depth_is_beyond(p, *at_sec)) {
        select_clear(where);
        return false;
    }
    return true;
}

/* The place is the component's; one that it had in another partition is not any more. */
static void keep_place(struct plan *p, const struct job *j, uint32_t license,
                       struct selection *where, int64_t at_sec)
{
    struct plan_head *head = find_head(p, j->id);
    if (head) {
        select_done(&head->where);
        planned_start_forget(p);
    } else {
        vec_push(&p->heads, ((struct plan_head){.id = j->id, .license = license}));
        head = &vec_last(&p->heads);
        p->depth.components++;
        depth_count_place(p, j);
    }
    head->part = j->part;
    head->placed = true;
    head->at_sec = at_sec;
    head->where = *where;
    *where = (struct selection){0};
    if (at_sec > p->now_sec && at_sec < p->head_at)
        p->head_at = at_sec;
}

static enum reason find_closed_gate(const struct plan *p, const struct job *j)
{
    bool keeps_place;
    for (uint32_t i = 0; i < job_set_count(j); i++) {
        const struct job *component = job_set_component(j, i);
        if (!component)
            return REASON_BAD_CONSTRAINTS;
        if (!job_partitions_is_queued(component))
            return joint_reason_of_absent(component);
    }
    return gate_of_start(p, j, &keeps_place);
}

/* --- a set ---------------------------------------------------------------------------------------
 */

struct places {
    VEC(struct plan_head) list;
};

static void places_done(struct places *places)
{
    vec_foreach (&places->list, head)
        select_done(&head->where);
    vec_done(&places->list);
}

/* What the set keeps. */
static struct places take_places(struct plan *p, const struct plan_set *set)
{
    struct places taken = {0};
    size_t left = 0;
    if (!set->found)
        return taken;
    vec_foreach (&p->heads, head) {
        const struct job *j = cluster_find_job(p->cluster, head->id);
        if (j && j->set && job_set_id(j) == set->id)
            vec_push(&taken.list, *head);
        else
            p->heads.data[left++] = *head;
    }
    if (left < p->heads.len)
        planned_start_forget(p);
    p->heads.len = left;
    p->depth.components -= taken.list.len;
    return taken;
}

static void give_places_back(struct plan *p, struct places *places)
{
    vec_foreach (&places->list, head)
        vec_push(&p->heads, *head);
    p->depth.components += places->list.len;
    vec_done(&places->list);
    planned_start_forget(p);
}

/* It does not start in this pass, and keeps nothing. */
static void lose_set(struct plan *p, struct plan_set *set)
{
    struct places places = take_places(p, set);
    set->lost = true;
    set->found = 0;
    places_done(&places);
}

/* The same, for this reason: other sets may have the planned starts that were promised to it. */
static void exclude_set(struct plan *p, struct plan_set *set, enum reason reason,
                        struct decision *d)
{
    if (!set->lost && set->reserves)
        p->depth.promised -= set->count;
    lose_set(p, set);
    d->reason = reason;
}

/* All components have a start, and it is now. The set may have changed since the pass came to it.
 */
static bool can_start(const struct plan *p, const struct plan_set *set)
{
    const struct job *leader = cluster_find_job(p->cluster, set->id);
    if (set->lost || set->tried || set->found < set->count || set->latest_at > p->now_sec ||
        !leader || !leader->set || !job_set_is_whole(leader))
        return false;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct job *j = job_set_component(leader, i);
        if (!job_partitions_is_queued(j) || !find_head(p, j->id))
            return false;
    }
    return true;
}

/* Those behind the first job that waits, and not of its set, wait for their turn. */
static enum reason find_reason(const struct plan *p, const struct plan_set *set)
{
    return !p->blocked || p->blocked_by == set->id ? REASON_RESOURCES : REASON_PRIORITY;
}

static void wait_for_others(const struct plan *p, int64_t at_sec, struct decision *d)
{
    d->start_at = at_sec;
    if (at_sec <= p->now_sec)
        d->detail = mem_strdup(JOB_SET_TEXT_WAITS);
}

/* Places all components jointly, with the choice of alternative licences with which they can start;
 * 'begins': they do. */
static bool place_set(struct plan *p, const struct job *leader, bool begins, struct decision *d)
{
    struct joint_choice choice;
    struct job_copy sum;
    joint_choice_begin(&choice, p);
    joint_choose(p, leader, &choice);
    d->license = choice.of[0];
    joint_licenses_init(&sum, p->cluster, leader, &choice);
    bool starts = joint_can_start(p, joint_component(p, leader, 0), d);
    if (starts && begins)
        license_begin(&p->claims, p->cluster, &sum.job, d->in,
                      joint_tied_nodes(p->cluster, &sum.job, d->license, &d->where, &d->more),
                      p->now_sec);
    joint_licenses_done(&sum);
    joint_choice_end(&choice, p);
    return starts;
}

/* Whether all components fit now beside what those before them keep. Of a set for which this is not
 * so no component keeps anything that it would give up again. */
static bool fits_now(struct plan *p, const struct job *leader)
{
    bool fits = false;
    for (uint32_t i = 0; i < job_partitions_count(leader) && !fits; i++) {
        struct job_copy room;
        struct decision d = {0};
        const struct part *part =
            leader->partitions ? leader->partitions->of[i].part : leader->part;
        fits = place_set(p, job_partitions_view(leader, part, &room), false, &d);
        plan_decision_done(&d);
    }
    return fits;
}

/* Whether the component may have a start, now or later. */
static bool may_have_place(struct plan *p, const struct plan_set *set, const struct job *j,
                           bool counts)
{
    if ((counts && !depth_takes(p, j)) || !depth_is_served(p, j))
        return false;
    return set->reserves || set->found || fits_now(p, cluster_find_job(p->cluster, set->id));
}

/* All components are placed jointly on what is free and what they had kept, each perhaps on other
 * nodes. False: they do not fit there together, for example on nodes that a job is just leaving,
 * and wait for what they keep. */
static bool start_set(struct plan *p, struct plan_set *set, struct decision *d)
{
    const struct job *leader = cluster_find_job(p->cluster, set->id);
    const struct part *part = find_head(p, set->id)->part;
    struct job_copy room;
    leader = job_partitions_view(leader, part, &room);
    struct places places = take_places(p, set);
    *d = (struct decision){.kind = PLAN_START,
                           .job = cluster_find_job(p->cluster, set->id),
                           .part = part,
                           .backfilled = set->backfilled,
                           .switches_since = leader->switches_since,
                           .switches_waived = leader->switches_waived,
                           .preempt_look_at = leader->preempt_look_at};
    set->tried = true;
    if (!place_set(p, leader, true, d)) {
        give_places_back(p, &places);
        return false;
    }
    places_done(&places);
    planned_start_forget(p);
    set->started = true;
    return true;
}

bool two_mode_look(struct plan *p, const struct job *j, bool counts, struct decision *d)
{
    struct plan_set *set = find_set(p, j);
    const struct plan_head *head = find_head(p, j->id);
    struct selection where = {0};
    int64_t at_sec = 0;
    d->of_component = true;
    enum reason closed = find_closed_gate(p, j);
    if (!closed && !could_ever_fit(p, set))
        closed = REASON_BAD_CONSTRAINTS;
    if (closed) {
        exclude_set(p, set, closed, d);
        return true;
    }
    d->reason = REASON_PRIORITY;
    if (set->lost || !may_have_place(p, set, j, counts)) {
        lose_set(p, set);
        return true;
    }
    int64_t not_before = find_not_before(p, set, j);
    bool found = set->reserves ? find_start(p, j, not_before, &where, &at_sec)
                               : find_start_now(p, j, not_before, &where, &at_sec);
    d->reason = find_reason(p, set);
    if (head && (!found || head->at_sec <= at_sec)) { /* it is as early in another partition */
        wait_for_others(p, head->at_sec, d);
        select_done(&where);
        return true;
    }
    p->blocked_by = p->blocked ? p->blocked_by : set->id;
    p->blocked = true;
    if (!found) {
        if (!j->partitions) /* it may have a start in another partition */
            lose_set(p, set);
        select_done(&where);
        return true;
    }
    keep_place(p, j, d->license, &where, at_sec);
    set->found += !head;
    set->latest_at = find_latest(p, set->id, 0);
    wait_for_others(p, at_sec, d);
    struct decision starts;
    if (conf_sets_start_at_once(p->cluster->conf) && can_start(p, set) &&
        start_set(p, set, &starts)) {
        free(d->detail);
        *d = starts;
    }
    return true;
}

bool two_mode_next_start(struct plan *p, struct decision *d)
{
    vec_foreach (&p->sets, set)
        if (can_start(p, set) && start_set(p, set, d))
            return true;
    return false;
}

/* --- the modes -----------------------------------------------------------------------------------
 */

void two_mode_begin(struct plan *p)
{
    p->mode = p->notes->mode == 1 ? 2 : 1;
    p->afresh = true; /* starts were foreseen beside what the other mode keeps */
}

void two_mode_complete(struct plan *p)
{
    struct plan_notes *notes = p->notes;
    if (!p->sets.len) /* the mode was of no use */
        return;
    notes->mode = p->mode;
    vec_clear(&notes->set_starts);
    vec_foreach (&p->sets, set)
        if (p->mode == 1 && !set->lost && !set->started && set->found == set->count)
            vec_push(&notes->set_starts, ((struct plan_set_start){set->id, set->latest_at}));
}
