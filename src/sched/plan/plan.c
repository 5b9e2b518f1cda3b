/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan.h"

#include <assert.h>
#include <string.h>

#include "cluster/job/license_tied.h"
#include "sched/plan/blocked.h"
#include "sched/plan/depth.h"
#include "sched/plan/failed.h"
#include "sched/plan/gate.h"
#include "sched/plan/joint.h"
#include "sched/plan/planned_start.h"
#include "sched/plan/preempt.h"
#include "sched/plan/set_turn.h"
#include "sched/plan/two_mode.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

#define LOOK_WORK 100 /* of a job, in looks at a node */

static void add_part(struct plan *p, const struct part *part)
{
    if (part->conf.state == CONF_PART_DOWN || part->conf.state == CONF_PART_INACTIVE ||
        !part->queue.count)
        return;
    vec_push(&p->order, part);
    for (size_t i = p->order.len - 1;
         i > 0 && p->order.data[i - 1]->conf.priority_tier < part->conf.priority_tier; i--) {
        p->order.data[i] = p->order.data[i - 1];
        p->order.data[i - 1] = part;
    }
}

void plan_enter_part(struct plan *p)
{
    p->blocked = set_turn_begins_blocked(p);
    p->blocked_by = 0;
    p->at = (struct order_place){0};
    p->again = 0;
    depth_enter_part(p);
}

void plan_begin(struct plan *p, const struct cluster *c, struct plan_notes *notes, int64_t now_sec,
                bool backfill)
{
    *p = (struct plan){.cluster = c, .now_sec = now_sec, .backfill = backfill};
    failed_begin(&p->failures);
    p->look = mem_new(struct plan_look);
    p->notes = notes ? notes : &p->own_notes;
    p->taken = c->pool.taken;
    p->returned = c->pool.returned;
    p->resv = mem_new(struct resv_plan);
    resv_plan_init(p->resv, c, now_sec);
    vec_foreach (&c->parts, part)
        add_part(p, *part);
    preempt_begin(p);
    plan_enter_part(p);
}

void plan_resume(struct plan *p, int64_t now_sec)
{
    p->now_sec = now_sec;
    failed_clear(&p->failures); /* the jobs may be gone */
    free(take_ptr(p->changed));
    resv_plan_resume(p->resv, now_sec);
    vec_clear(&p->preempted_in_vain);
    planned_start_set_time(p, now_sec);
}

void plan_end(struct plan *p)
{
    planned_start_done(p);
    depth_done(p);
    resv_plan_done(p->resv);
    free(p->resv);
    vec_done(&p->order);
    vec_done(&p->sets);
    idmap_done(&p->set_index);
    set_turn_done(p);
    failed_done(&p->failures);
    vec_done(&p->claims.list);
    preempt_end(p);
    plan_notes_done(&p->own_notes);
    free(p->view);
    free(p->either);
    free(p->changed);
    free(p->look);
}

void plan_placements_done(struct placements *p)
{
    vec_foreach (&p->list, at)
        select_done(&at->where);
    vec_done(&p->list);
    vec_done(&p->order);
}

void plan_placements_copy(struct placements *to, const struct placements *from)
{
    vec_foreach (&from->list, at) {
        struct placement copy = {
            .id = at->id, .part = at->part, .in = at->in, .license = at->license};
        select_copy(&copy.where, &at->where);
        vec_push(&to->list, copy);
    }
    vec_foreach (&from->order, number)
        vec_push(&to->order, *number);
}

void plan_decision_done(struct decision *d)
{
    select_done(&d->where);
    plan_placements_done(&d->more);
}

static bool is_note_read(const struct plan *p, const struct job *j)
{
    return p->note_of && p->note_of == j->id && p->note.part == j->part && !p->asks &&
           p->note_freed == p->cluster->pool.freed;
}

const struct plan_note *plan_note(const struct plan *p, const struct job *j)
{
    static const struct plan_note none;
    if (is_note_read(p, j))
        return &p->note;
    return p->asks ? &none : plan_note_read(p->notes, p->cluster, j);
}

/* It is asked for several times in a look. */
static void read_note(struct plan *p, const struct job *j)
{
    p->note_of = 0;
    if (p->asks)
        return;
    p->note = *plan_note_read_next(p->notes, p->cluster, j, &p->note_next);
    p->note.part = j->part;
    p->note_of = j->id;
    p->note_freed = p->cluster->pool.freed;
}

struct plan_note *plan_note_change(struct plan *p, const struct job *j)
{
    assert(!p->asks);
    p->note_of = 0;
    return plan_note_write(p->notes, p->cluster, j);
}

struct bitset *plan_allowed(const struct plan *p, const struct job *j, const struct resv *in)
{
    struct bitset *set = select_candidates(p->cluster, j);
    bitset_and(set, p->cluster->pool.usable);
    resv_restrict(in, set);
    if (!p->kept)
        return set;
    bitset_andnot(set, p->kept);
    if (leaf_topo(p->cluster, j)) { /* it would block nodes that are kept for others */
        _cleanup_bitset_ struct bitset *others = bitset_new(p->cluster->nodes.len);
        bitset_fill(others);
        bitset_andnot(others, p->kept);
        leaf_keep_complete(p->cluster, j, others, set);
    }
    return set;
}

struct spare_need plan_need(const struct job *j)
{
    const struct request *r = &j->want;
    const struct conf_part *p = &j->part->conf;
    return (struct spare_need){.nodes = r->min_nodes > p->min_nodes ? r->min_nodes : p->min_nodes,
                               .tasks = r->tasks,
                               .max_nodes =
                                   r->max_nodes < p->max_nodes ? r->max_nodes : p->max_nodes,
                               .cpus = r->cpus_per_task,
                               .node_cpus = r->min_cpus,
                               .tasks_per_node = r->ntasks_per_node,
                               .whole = r->exclusive};
}

static bool can_shorten(const struct job *j)
{
    return j->time_min_sec && j->time_min_sec < j->limit_sec;
}

static bool might_fit(const struct plan *p, const struct job *j)
{
    struct spare_need need = plan_need(j);
    return j->want.shared || j->want.overcommit || resv_might_fit(p->resv, j, &need);
}

bool plan_might_fit(const struct plan *p, const struct job *j)
{
    struct plan_look *look = p->look;
    if (look->of != j)
        return might_fit(p, j);
    if (!look->has_might_fit)
        look->might_fit = might_fit(p, j);
    look->has_might_fit = true;
    return look->might_fit;
}

uint64_t plan_tied_kinds(const struct plan *p, const struct job *j)
{
    struct plan_look *look = p->look;
    if (look->of != j)
        return select_tied_kinds(p->cluster, j);
    if (!look->has_kinds)
        look->kinds = select_tied_kinds(p->cluster, j);
    look->has_kinds = true;
    return look->kinds;
}

/* The same of those that have a place before it. */
static bool might_leave_room(struct plan *p, const struct job *j)
{
    const struct calendar *cal = planned_start_made_calendar(p, j);
    if (!cal || !can_shorten(j))
        return !cal || calendar_might_fit(cal, j);
    struct job shortest = *j;
    shortest.limit_sec = j->time_min_sec;
    return calendar_might_fit(cal, &shortest);
}

bool plan_leaves_room(struct plan *p, const struct job *j, const struct resv *in,
                      const struct bitset *allowed, struct selection *where)
{
    if (!planned_start_others(p, j))
        return true;
    struct calendar *cal = planned_start_calendar(p, j);
    if (planned_start_has(p, j))
        return planned_start_leaves_room(p, j, in, allowed, where);
    bool fits = calendar_fits_now(cal, j, in, allowed, where);
    if (fits && !p->asks)
        calendar_start(cal, j, where);
    return fits;
}

/* One that asked for few switches and could have more has waited for them long enough. Until then
 * it is looked at in each pass. The rest of the look is at p->changed, which knows of it. */
static bool has_waited_for_switches(struct plan *p, const struct job *j,
                                    const struct bitset *allowed, const struct free_view *view,
                                    struct decision *d)
{
    if (!j->want.switches || j->switches_waived || !select_topo(p->cluster, j))
        return false;
    struct job any = *j;
    any.switches_waived = true;
    bool fits = select_nodes(p->cluster, &any, allowed, view, &d->where) == 0;
    bool new = !d->switches_since || d->switches_since > p->now_sec; /* the clock was set back */
    if (fits && new)
        d->switches_since = p->now_sec;
    any.switches_since = d->switches_since;
    any.switches_waived = false;
    any.switches_waived = fits && p->now_sec >= plan_switches_until(p->cluster, &any);
    d->switches_waived = any.switches_waived;
    if (!any.switches_waived)
        select_clear(&d->where);
    if (fits) {
        p->changed = p->changed ? p->changed : mem_new(struct job_copy);
        p->changed->job = any;
    }
    return any.switches_waived;
}

int64_t plan_switches_wait(const struct cluster *c, const struct job *j)
{
    int64_t most = c->conf->sched.max_switch_wait, asked = j->want.switches_sec;
    return asked < most ? asked : most;
}

int64_t plan_switches_until(const struct cluster *c, const struct job *j)
{
    if (!j->switches_since || j->switches_waived)
        return 0;
    return j->switches_since + plan_switches_wait(c, j);
}

/* Whether it fits there now, whatever is planned for others. */
static bool fits_in(struct plan *p, const struct job *j, const struct resv *in,
                    struct bitset *allowed, struct decision *d)
{
    p->work += p->cluster->nodes.len;
    if (!j->want.shared)
        bitset_and(allowed, p->cluster->pool.spare.open);
    if (!resv_narrow(p->resv, j, in, p->now_sec, allowed))
        return false;
    _cleanup_(license_view_done) struct license_view v = {0};
    const struct free_view *view = resv_view(p->resv, j, in, p->now_sec, &p->cluster->pool.now);
    view = license_view_init(&v, &p->claims, p->cluster, j, in, p->now_sec, view);
    return select_nodes(p->cluster, j, allowed, view, &d->where) == 0 ||
           has_waited_for_switches(p, j, allowed, view, d);
}

/* Without a look at the nodes: false, tied pools have too little for it on any of them. */
static bool might_have_tied(const struct plan *p, const struct job *j)
{
    return !license_needs_tied(p->cluster, j) ||
           select_tied_might_do(p->cluster, j, plan_tied_kinds(p, j), plan_need(j).nodes);
}

/* Whether it fits now, and would be over before what it takes is needed by a job before it. */
static bool can_start(struct plan *p, const struct job *j, struct decision *d)
{
    const struct resv *in;
    bool fits = false;
    if (plan_note(p, j)->unfit)
        return false;
    bool might = plan_might_fit(p, j);
    if (might && !might_have_tied(p, j))
        return false;
    if (might && planned_start_others(p, j) && !might_leave_room(p, j))
        return false;
    for (size_t i = 0; might && resv_place(j, i, &in); i++) {
        _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, j, in);
        bool licensed = license_may_start(&p->claims, p->cluster, j, in, p->now_sec);
        fits = fits || !licensed || license_needs_tied(p->cluster, j);
        if (!licensed || !fits_in(p, j, in, allowed, d))
            continue;
        fits = true;
        d->in = in;
        j = p->changed ? &p->changed->job : j;
        if (plan_leaves_room(p, j, in, allowed, &d->where))
            return true;
        if (can_shorten(j))
            d->limit_sec = planned_start_shorten(p, j, in, allowed, &d->where);
        if (d->limit_sec)
            return true;
        select_clear(&d->where);
    }
    if (!fits && !p->asks)
        plan_note_change(p, j)->unfit = !d->switches_since && !p->kept;
    return false;
}

/* The job with alternative licence n only; valid until the next call. */
static const struct job *view_alternative(struct plan *p, const struct job *j, uint32_t n)
{
    if (!j->want.licenses.any)
        return j;
    p->either = p->either ? p->either : mem_new(struct job_copy);
    return license_view_alternative(j, n, p->either);
}

/* What was foreseen for it holds while nothing becomes free before its time. */
void plan_reserve_place(struct plan *p, const struct job *j, struct decision *d)
{
    depth_count_place(p, j);
    vec_push(&p->heads, ((struct plan_head){.id = j->id, .part = j->part, .license = d->license}));
    bool is_known = planned_start_is_known(p, j, &d->start_at);
    uint32_t license = vec_last(&p->heads).license;
    if (!is_known || !planned_start_recall(p, view_alternative(p, j, license), d->start_at)) {
        vec_last(&p->heads).is_known = false;
        d->start_at = planned_start_lay_out_or_shadow(p);
        planned_start_note_set(p, j);
        p->found = true;
    }
    d->license = vec_last(&p->heads).license;
    if (d->start_at && d->start_at < p->head_at)
        p->head_at = d->start_at;
}

int64_t plan_keep_licenses(struct plan *p, const struct job *j, bool placed, int64_t start_at)
{
    if (start_at)
        planned_start_keep_licenses(p, j, start_at);
    else if (!placed || !planned_start_license_time(p, j))
        return license_claim(&p->claims, p->cluster, j, p->now_sec, 0, &p->work);
    return start_at;
}

bool plan_may_have_place(const struct plan *p, const struct job *j, bool first)
{
    return p->backfill && !p->asks && depth_is_served(p, j) && depth_has_place(p, j, first);
}

/* Of a job behind a closed gate: it blocks nobody, and has its nodes kept for when the gate opens.
 */
static void keep_place(struct plan *p, const struct job *j, struct decision *d)
{
    bool place = plan_may_have_place(p, j, false);
    if (place)
        plan_reserve_place(p, j, d);
    d->start_at = plan_keep_licenses(p, view_alternative(p, j, d->license), place, d->start_at);
}

/* 'j' is 'd->job' as it is in that partition. */
static void begin_look(struct plan *p, const struct job *j, struct decision *d)
{
    *d = (struct decision){.kind = PLAN_WAIT,
                           .job = d->job,
                           .part = j->part,
                           .reason = REASON_PRIORITY,
                           .switches_since = j->switches_since,
                           .switches_waived = j->switches_waived,
                           .preempt_look_at = j->preempt_look_at};
    free(take_ptr(p->changed));
    p->changed_of = d->job;
    read_note(p, j);
    *p->look = (struct plan_look){.of = j};
}

uint32_t plan_choose_awaited(struct plan *p, const struct job *j)
{
    uint32_t best = 0;
    int64_t first = 0;
    bool keeps_place;
    for (uint32_t n = 0; j->want.licenses.any && n < license_count_alternatives(j); n++) {
        const struct job *as = view_alternative(p, j, n);
        if (!gate_of_start(p, as, &keeps_place))
            return n;
        int64_t at = planned_start_license_time(p, as);
        if (!at || (first && at >= first))
            continue;
        first = at;
        best = n;
    }
    return best;
}

/* Whether it starts now; with alternative licences, with the first with which it can (d->license).
 */
static bool try_start(struct plan *p, const struct job *j, struct decision *d)
{
    uint32_t count = license_count_alternatives(j);
    if (gate_lacks_tied(p, j)) {
        gate_note_licenses(p, j);
        return false;
    }
    if (plan_note(p, j)->unfit || (!p->backfill && resv_is_blocked(p->resv, j)) || failed_has(p, j))
        return false;
    for (uint32_t n = 0; n < count; n++) {
        bool keeps_place;
        const struct job *as = view_alternative(p, j, n);
        if (count > 1 && gate_of_start(p, as, &keeps_place))
            continue;
        d->license = n;
        if (can_start(p, as, d))
            return true;
        select_done(&d->where);
    }
    failed_add(p, j);
    return false;
}

static void decide_start(struct plan *p, const struct job *j, struct decision *d)
{
    planned_start_remove(p, j);
    license_begin(&p->claims, p->cluster, j, d->in, &d->where, p->now_sec);
    d->kind = PLAN_START;
    d->reason = REASON_NONE;
    d->backfilled = p->blocked || d->limit_sec;
    p->again = j->tasks.count ? j->id : 0;
}

/* Whether victims make room for it, or have begun to. */
static bool decide_preempt(struct plan *p, const struct job *j, enum reason reason,
                           struct decision *d)
{
    if (p->asks || !depth_is_served(p, j) || !preempt_look(p, j, &d->preempt_look_at))
        return false;
    d->reason = reason;
    d->victims = p->victims.data;
    d->n_victims = p->victims.len;
    if (preempt_may_reclaim(p, j)) /* nobody who comes later takes what the victims return */
        license_keep(&p->claims, p->cluster, j, &p->room_at, p->now_sec, &p->work);
    else
        license_claim(&p->claims, p->cluster, j, p->now_sec, p->now_sec, &p->work);
    p->blocked = p->blocked || !p->backfill;
    p->again = reason != REASON_LICENSES && preempt_goes_on(p, j) ? j->id : 0;
    return true;
}

static void decide_wait(struct plan *p, const struct job *j, struct decision *d)
{
    const struct job *as = view_alternative(p, j, d->license);
    bool served = depth_is_served(p, as);
    if (decide_preempt(p, as, REASON_RESOURCES, d))
        return;
    bool first = as->resv_asked ? !p->asks && resv_block(p->resv, as) : !p->blocked;
    bool kept_out = first && blocked_explain(p, as, &j->want.licenses, d);
    if (first &&
        d->reason == REASON_BAD_CONSTRAINTS) /* till another configuration: in nobody's way */
        return;
    if (!first)
        blocked_explain_required(p, as, d);
    if (first && !as->resv_asked)
        p->blocked = p->backfill || (served && !kept_out);
    bool place = plan_may_have_place(p, as, first);
    if (place)
        plan_reserve_place(p, j, d);
    if (served && (first || place))
        plan_keep_licenses(p, view_alternative(p, j, d->license), place, d->start_at);
}

static bool decide_look(struct plan *p, const struct job *j, bool counts, struct decision *d)
{
    bool keeps_place, one_by_one = j->in_set && p->mode && !p->asks;
    if (j->in_set && !one_by_one) {
        joint_look(p, j, counts, d);
        return true;
    }
    uint32_t awaited = d->license = plan_choose_awaited(p, j);
    if (one_by_one)
        return two_mode_look(p, view_alternative(p, j, awaited), counts, d);
    enum reason closed = gate_of_start(p, view_alternative(p, j, awaited), &keeps_place);
    if (closed) {
        d->reason = closed;
        if (closed == REASON_LICENSES && p->look->is_closed)
            gate_note_licenses(p, j);
        else if (closed == REASON_LICENSES && !plan_note(p, j)->lacks_licenses)
            failed_add_closed(p, j);
        if (closed == REASON_LICENSES && preempt_may_reclaim(p, j) &&
            decide_preempt(p, j, closed, d))
            return true;
        if (keeps_place)
            keep_place(p, j, d);
        return true;
    }
    if (counts && !depth_takes(p, j))
        return true;
    bool starts = try_start(p, j, d);
    if (p->changed) {
        p->changed->job.want.licenses = j->want.licenses; /* all alternatives again */
        j = &p->changed->job;
    }
    if (starts) {
        decide_start(p, view_alternative(p, j, d->license), d);
    } else {
        d->license = awaited;
        decide_wait(p, j, d);
    }
    return true;
}

/* Looks at one job. True: there is a decision about it. 'counts': it is behind one that waits, and
 * another one than that before it. */
static bool look_at(struct plan *p, const struct job *j, bool counts, struct decision *d)
{
    begin_look(p, j, d);
    bool decided = decide_look(p, j, counts, d);
    p->look->of = NULL;
    return decided;
}

/* The next one in the queue of the part; it need not be the one that was next when the last one was
 * looked at. 'before': the place before it. */
static const struct job *find_next_job(struct plan *p, const struct part *part,
                                       struct order_place *before)
{
    const struct job *j = p->again ? cluster_find_job(p->cluster, p->again) : NULL;
    p->again = 0;
    *before = p->at;
    if (j && job_partitions_is_queued(j) && job_partitions_has(j, part))
        return j;
    do {
        *before = p->at;
        struct order_link *l = order_step(&part->queue, &p->at);
        j = l ? job_partitions_job_of(l) : NULL;
    } while (j && set_turn_passes_over(p, j));
    return j;
}

/* The next look of the pass, in the turn of a set or in the queue of the present partition. NULL:
 * the pass is through with that queue. 'part': the partition in which the job is looked at. */
static const struct job *find_next_look(struct plan *p, const struct part **part)
{
    struct order_place before;
    const struct job *j = set_turn_next(p, part);
    while (!j && !depth_is_reached(p)) {
        *part = p->order.data[p->part];
        j = find_next_job(p, *part, &before);
        if (!j)
            return NULL;
        j = set_turn_begin(p, j, &before, part);
    }
    return j;
}

static void go_to_next_part(struct plan *p)
{
    if (!set_turn_leave_part(p))
        plan_enter_part(p);
}

/* The job as it is in the partition; the look at another one ends that. */
static const struct job *view_in(struct plan *p, const struct job *j, const struct part *part)
{
    if (j->part == part)
        return j;
    if (!p->view)
        p->view = mem_new(struct job_copy);
    return job_partitions_view(j, part, p->view);
}

static bool resumes_job(struct plan *p, int64_t tier, struct decision *d)
{
    const struct job *j = preempt_next_resumed(p, tier);
    *d = (struct decision){.kind = PLAN_RESUME, .job = j};
    return j;
}

/* A timeline made before a suspended job was resumed counts that job's units as free. */
static void discard_stale_timeline(struct plan *p)
{
    if (p->returned == p->cluster->pool.returned)
        return;
    p->returned = p->cluster->pool.returned;
    planned_start_forget(p);
}

/* What a job is told that has no place is not remembered. */
static void note_start(struct plan *p, const struct job *j, size_t place, int64_t start_at)
{
    bool has_place = p->heads.len > place;
    if (!has_place && !plan_note(p, j)->has_start)
        return;
    struct plan_note *note = plan_note_change(p, j);
    note->has_start = has_place;
    note->license = has_place ? p->heads.data[place].license : 0;
    note->start_at = has_place ? start_at : 0;
    note->before = has_place ? planned_start_hash_before(p, place) : 0;
}

bool plan_next(struct plan *p, struct decision *d)
{
    discard_stale_timeline(p);
    for (; p->part < p->order.len; go_to_next_part(p)) {
        if (resumes_job(p, p->order.data[p->part]->conf.priority_tier, d))
            return true;
        bool more = p->again; /* of an array: one entry, however many start */
        const struct part *part = p->order.data[p->part];
        const struct job *j = d->job = find_next_look(p, &part);
        if (!j)
            continue;
        p->work += LOOK_WORK;
        size_t place = p->heads.len; /* index of its planned start, if it gets one */
        j = view_in(p, j, part);
        bool decided = look_at(p, j, !more && p->blocked, d);
        assert(!decided || d->kind != PLAN_START || d->where.shares.len); /* a start has nodes */
        if (d->kind == PLAN_WAIT)
            note_start(p, j, place, d->start_at);
        d->start_at = planned_start_earliest(p, j, d->start_at);
        return decided;
    }
    if (two_mode_next_start(p, d) || resumes_job(p, INT64_MIN, d))
        return true;
    two_mode_complete(p);
    return false;
}

/* --- a question about another job ----------------------------------------------------------------
 */

/* The pass has done with this partition, and with all that it would look at after it. */
static bool is_past(const struct plan *p, const struct part *part)
{
    const struct part *at = p->order.data[p->part];
    if (set_turn_is_left(p, part))
        return false;
    if (at == part || p->at.begun || at->conf.priority_tier != part->conf.priority_tier)
        return at->conf.priority_tier < part->conf.priority_tier;
    vec_foreach (&p->cluster->parts, first)
        if (*first == at || *first == part)
            return *first == part;
    return false;
}

/* The pass goes on before the turn of the set that it leaves out; not 'alone': it has a turn. */
static bool is_before_set(struct plan *p, const struct set_place *place, bool *alone)
{
    enum set_turn_way way = SET_TURN_MOVED;
    while (!set_turn_lasts(p) && way == SET_TURN_MOVED)
        way = set_turn_approach(p, place);
    *alone = way == SET_TURN_ALONE;
    return way != SET_TURN_REACHED;
}

bool plan_is_before(struct plan *p, const struct part *part, int64_t key, uint64_t tie)
{
    const struct set_place place = {part, key, tie};
    for (; p->part < p->order.len; go_to_next_part(p)) {
        bool alone;
        if (!is_before_set(p, &place, &alone))
            return false;
        const struct part *at = p->order.data[p->part];
        if (set_turn_lasts(p))
            return true;
        if (alone && is_past(p, part))
            return false;
        const struct order_link *l = depth_is_reached(p) ? NULL : set_turn_peek(p, at, &p->at);
        if (alone && at == part && (!l || l->key > key || (l->key == key && l->tie >= tie)))
            return false;
        if (l)
            return true;
    }
    return false;
}

void plan_ask(struct plan *p, const struct job *j, struct decision *d)
{
    struct plan saved = *p;
    struct license_claims claims = {.version = p->claims.version};
    *d = (struct decision){.kind = PLAN_WAIT, .job = j, .reason = REASON_PRIORITY};
    if (depth_is_reached(p))
        return;
    vec_foreach (&p->claims.list, claim)
        vec_push(&claims.list, *claim);
    failed_begin(&p->failures);
    p->asks = p->blocked = true; /* it gets no place of its own */
    look_at(p, j, false, d);
    failed_done(&p->failures);
    vec_done(&p->claims.list);
    p->failures = saved.failures;
    p->claims = claims;
    p->asks = false;
    p->blocked = saved.blocked;
    p->again = saved.again;
    d->start_at = 0;
    free(take_ptr(p->changed));
}

void plan_visit(struct plan *p, const struct job *guest, struct decision *d)
{
    *d = (struct decision){.kind = PLAN_WAIT, .job = guest, .reason = REASON_PRIORITY};
    p->guest = guest;
    select_clear(&p->room_at);
    if (!depth_is_reached(p))
        look_at(p, guest, p->blocked, d);
    if (d->start_at)
        planned_start_lay_out(p);
}

void plan_suppose(struct plan *p, struct decision *d)
{
    assert(d->kind == PLAN_START && d->where.shares.len);
    struct plan_head started = {.id = d->job->id,
                                .part = d->part,
                                .license = d->license,
                                .placed = true,
                                .at_sec = p->now_sec,
                                .where = d->where,
                                .more = d->more};
    vec_push(&p->heads, started);
    d->where = (struct selection){0};
    d->more = (struct placements){0};
    p->again = 0;
    planned_start_lay_out(p);
}
