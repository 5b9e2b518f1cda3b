/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/planned_start.h"

#include "cluster/job/license_tied.h"
#include "sched/plan/depth.h"
#include "sched/plan/failed.h"
#include "sched/plan/joint.h"
#include "sched/plan/shadow.h"
#include "sched/select/resv.h"
#include "sched/select/select.h"

/* Work per node for a planned start on the timeline, or for a shadow. */
#define LAY_WORK 20
/* Jobs without a limit count with CLUSTER_NO_LIMIT_SEC; no job waits for licences that long. */
#define LICENSED_SEC (CLUSTER_NO_LIMIT_SEC / 2)

const struct job *planned_start_job(const struct plan *p, const struct plan_head *h,
                                    struct job_copy *room)
{
    const struct job *j = h->id ? cluster_find_job(p->cluster, h->id) : p->guest;
    if (!j || j->state != PB__JOB_STATE__PENDING || !j->part)
        return NULL;
    if (p->changed && p->changed_of == j && p->changed->job.part == h->part)
        j = &p->changed->job;
    else
        j = job_partitions_view(j, h->part, room);
    return j && (h->placed || h->is_known) ? license_view_alternative(j, h->license, room) : j;
}

static void reserve_place(struct calendar *cal, const struct plan *p, const struct plan_head *h)
{
    struct job_copy room;
    const struct job *j = h->where.shares.len ? planned_start_job(p, h, &room) : NULL;
    if (!j)
        return;
    calendar_reserve(cal, j, &h->where, h->at_sec);
    vec_foreach (&h->more.list, at) {
        const struct job *of = cluster_find_job(p->cluster, at->id);
        const struct job *component = of ? job_partitions_view(of, at->part, &room) : NULL;
        if (component)
            calendar_reserve(cal, component, &at->where, h->at_sec);
    }
}

/* Puts the reservations of earlier planned starts on the timeline, without those of the job
 * itself. */
static void lay_out_others(struct plan *p, struct timeline *t, uint32_t id, size_t count)
{
    timeline_init(t, p->cluster, p->now_sec);
    timeline_set_resv(t, p->resv);
    t->claims = &p->claims;
    p->work += LAY_WORK * p->cluster->nodes.len;
    for (size_t i = 0; i < count; i++)
        if (p->heads.data[i].id != id)
            reserve_place(&t->calendar, p, &p->heads.data[i]);
}

static bool has_place_before(const struct plan *p, uint32_t id, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (p->heads.data[i].id == id)
            return true;
    return false;
}

int64_t planned_start_license_time(struct plan *p, const struct job *j)
{
    int64_t at = license_earliest(&p->claims, p->cluster, j, p->now_sec, &p->work);
    return at - p->now_sec < LICENSED_SEC ? at : 0;
}

static void clear_place(struct plan_head *h)
{
    select_clear(&h->where);
    plan_placements_done(&h->more);
    h->more = (struct placements){0};
}

/* Removes from the set all nodes that are not in the selection. */
static void keep_noted_nodes(const struct selection *noted, struct bitset *set)
{
    _cleanup_bitset_ struct bitset *nodes = bitset_new(set->size);
    vec_foreach (&noted->shares, share)
        bitset_set(nodes, share->node);
    bitset_and(set, nodes);
}

/* Searches the start of the set with this choice of tied pools; kept if it is earlier than the best
 * one. */
static void find_set_in(struct plan *p, struct timeline *t, const struct job *leader, uint32_t way,
                        struct plan_head *h)
{
    struct joint joint;
    struct joint_choice choice;
    joint_choice_begin(&choice, p);
    int64_t due = joint_choose_earliest(p, leader, way, &choice), at = 0;
    joint_begin(&joint, p, joint_component(p, leader, 0));
    if (due && due - p->now_sec < LICENSED_SEC && due < h->at_sec)
        at = joint_find_start(&joint, t, due);
    if (at && at < h->at_sec) {
        clear_place(h);
        select_done(&h->where);
        h->at_sec = at;
        h->license = choice.of[0];
        joint_take(&joint, &h->where, &h->more);
    }
    joint_end(&joint);
    joint_choice_end(&choice, p);
}

/* Finds one common start for all components of a job set. */
static void find_set(struct plan *p, struct timeline *t, const struct job *leader,
                     struct plan_head *h)
{
    h->at_sec = p->now_sec + CLUSTER_NO_LIMIT_SEC;
    uint32_t ways = joint_count_ways(p, leader);
    for (uint32_t way = 0; way < ways; way++)
        find_set_in(p, t, leader, way, h);
}

/* Searches the planned start among the nodes that an earlier pass noted, where the licences of the
 * job are claimed. False: the job cannot start there at the noted time; the nodes and the claims
 * are removed. */
static bool find_recalled(struct plan *p, struct timeline *t, const struct job *j,
                          const struct bitset *allowed, int64_t due, struct plan_head *h)
{
    _cleanup_bitset_ struct bitset *set = bitset_dup(allowed);
    int64_t at;
    keep_noted_nodes(&h->where, set);
    select_clear(&h->where);
    if (due && calendar_find(&t->calendar, j, set, due, &h->where, &at) && at == h->at_sec &&
        h->where.shares.len)
        return true;
    select_clear(&h->where);
    license_drop_claims(&p->claims, j);
    failed_forget_licenses(p);
    return false;
}

static void keep_licenses(struct plan *p, const struct job *j, const struct plan_head *h,
                          int64_t start_at)
{
    const struct selection *where = &h->where;
    if (j->set)
        where = joint_tied_nodes(p->cluster, j, h->license, where, &h->more);
    license_keep(&p->claims, p->cluster, j, where, start_at, &p->work);
    if (!p->asks && !j->set && license_needs_tied(p->cluster, j))
        plan_note_write_place(p->notes, p->cluster, j, p->taken, &h->where, NULL);
}

/* The job accepts other nodes later, without anything becoming free. */
static bool waits_for_switches(const struct plan *p, const struct job *j)
{
    return j->want.switches && !j->switches_waived && select_topo(p->cluster, j);
}

/* The shadow gives the first time at which running jobs leave enough for the job, which would cost
 * the timeline many steps. */
int64_t planned_start_search(struct plan *p, struct timeline *t, const struct job *j,
                             const struct bitset *allowed, int64_t due, struct selection *where)
{
    int64_t at;
    t->in = resv_home(j);
    if (shadow_serves(p->cluster, j) && !waits_for_switches(p, j) &&
        shadow_foresee(p->cluster, j, allowed, p->now_sec, due, &at) && at > due)
        return timeline_find_from(t, j, allowed, at, where);
    return timeline_find(t, j, allowed, where);
}

static void find_job_start(struct plan *p, struct timeline *t, const struct job *j,
                           struct plan_head *h)
{
    _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, j, resv_home(j));
    int64_t due = planned_start_license_time(p, j);
    bool recalled = h->where.shares.len;
    timeline_set_licenses(t, &p->claims, due);
    if (recalled && find_recalled(p, t, j, allowed, due, h))
        return;
    if (due)
        h->at_sec = planned_start_search(p, t, j, allowed, due, &h->where);
    if (!h->where.shares.len)
        h->at_sec = CALENDAR_NEVER;
    if (recalled && h->where.shares.len)
        keep_licenses(p, j, h, h->at_sec);
}

/* Plans the job with each alternative licence, and keeps the earliest start. */
static void find_either(struct plan *p, struct timeline *t, const struct job *j,
                        struct plan_head *h)
{
    for (uint32_t n = 0; n < license_count_alternatives(j); n++) {
        struct job_copy room;
        struct plan_head found = {.license = n};
        find_job_start(p, t, license_view_alternative(j, n, &room), &found);
        bool is_first =
            found.where.shares.len && (!h->where.shares.len || found.at_sec < h->at_sec);
        if (!is_first) {
            select_done(&found.where);
            continue;
        }
        select_done(&h->where);
        h->where = found.where;
        h->at_sec = found.at_sec;
        h->license = n;
    }
}

static void find_planned_place(struct plan *p, struct plan_head *h)
{
    struct timeline without, *t = p->timeline;
    struct job_copy room;
    const struct job *j = planned_start_job(p, h, &room);
    bool again = has_place_before(p, h->id, p->laid);
    h->placed = true;
    if (!j)
        return;
    if (again)
        lay_out_others(p, t = &without, h->id, p->laid);
    p->work += LAY_WORK * p->cluster->nodes.len;
    if (j->set)
        find_set(p, t, j, h);
    else if (j->want.licenses.any)
        find_either(p, t, j, h);
    else
        find_job_start(p, t, j, h);
    if (depth_is_beyond(p, h->at_sec))
        clear_place(h);
    if (again)
        calendar_done(&t->calendar);
}

/* Puts the next planned start on p->timeline, and returns it; 0: it is unforeseeable, because the
 * job waits for unavailable nodes, and it reserves nothing. */
static int64_t lay_out_next(struct plan *p)
{
    struct plan_head *h = &p->heads.data[p->laid];
    if (!h->placed)
        find_planned_place(p, h);
    reserve_place(&p->timeline->calendar, p, h);
    p->laid++;
    return h->where.shares.len ? h->at_sec : 0;
}

static void forget_shadow(struct plan *p)
{
    if (p->shadow)
        calendar_done(&p->shadow->calendar);
    free(take_ptr(p->shadow));
}

static void begin_timeline(struct plan *p)
{
    forget_shadow(p);
    if (p->timeline && timeline_is_stale(p->timeline)) {
        planned_start_forget(p);
        p->fills = true;
    }
    if (!p->timeline) {
        p->timeline = mem_new(struct timeline);
        timeline_begin(p->timeline, p->cluster, p->now_sec);
        if (p->fills)
            timeline_fill(p->timeline, SIZE_MAX);
        timeline_set_resv(p->timeline, p->resv);
        p->timeline->claims = &p->claims;
    }
}

/* Returns the last planned start after putting all of them on the timeline. The timeline is created
 * only when a job could conflict with planned starts: a pass over a full cluster examines many
 * jobs, and few of them can. */
int64_t planned_start_lay_out(struct plan *p)
{
    int64_t at = 0;
    begin_timeline(p);
    while (p->laid < p->heads.len)
        at = lay_out_next(p);
    return at;
}

/* Creates the shadow of the only planned start. Its nodes decide which tied pools it claims, so
 * they are stored with the entry. An entry with nodes that an earlier pass noted keeps them and its
 * time, or gets no shadow. */
static void make_shadow(struct plan *p, const struct job *j, struct plan_head *h)
{
    _cleanup_bitset_ struct bitset *allowed = plan_allowed(p, j, resv_home(j));
    int64_t due = planned_start_license_time(p, j), at;
    struct selection where = {0};
    bool recalled = h->where.shares.len;
    if (recalled)
        keep_noted_nodes(&h->where, allowed);
    p->shadow = mem_new(struct shadow);
    struct calendar *cal = &p->shadow->calendar;
    p->work += LAY_WORK * p->cluster->nodes.len;
    shadow_begin(p->shadow, p->cluster, p->resv, p->now_sec);
    p->shadow->claims = &p->claims;
    if (calendar_find(cal, j, allowed, due ? due : CALENDAR_NEVER, &where, &at) &&
        (!recalled || at == h->at_sec)) {
        calendar_reserve(cal, j, &where, at);
        if (license_needs_tied(p->cluster, j)) {
            select_copy(&h->where, &where);
            h->at_sec = at;
        }
    } else {
        forget_shadow(p);
    }
    select_done(&where);
}

/* A single planned start becomes a shadow; several need the timeline. */
int64_t planned_start_lay_out_or_shadow(struct plan *p)
{
    struct job_copy room;
    const struct job *j =
        p->heads.len == 1 && !p->timeline ? planned_start_job(p, p->heads.data, &room) : NULL;
    if (!p->shadow && j && !j->set && !j->want.licenses.any && shadow_serves(p->cluster, j) &&
        !waits_for_switches(p, j) && license_is_alone(&p->claims, p->cluster, j))
        make_shadow(p, j, p->heads.data);
    if (p->shadow && p->heads.len == 1 && !depth_is_beyond(p, p->shadow->at_sec))
        return p->shadow->at_sec == CALENDAR_NEVER ? 0 : p->shadow->at_sec;
    return planned_start_lay_out(p);
}

struct calendar *planned_start_made_calendar(struct plan *p, const struct job *j)
{
    planned_start_lay_out_or_shadow(p);
    struct calendar *cal = p->shadow     ? &p->shadow->calendar
                           : p->timeline ? &p->timeline->calendar
                                         : NULL;
    return cal && cal->ops->serves(p->cluster, j) ? cal : NULL;
}

struct calendar *planned_start_calendar(struct plan *p, const struct job *j)
{
    struct calendar *cal = planned_start_made_calendar(p, j);
    if (cal && p->shadow)
        return cal;
    planned_start_lay_out(p);
    return &p->timeline->calendar;
}

void planned_start_set_time(struct plan *p, int64_t now_sec)
{
    if (p->shadow)
        p->shadow->calendar.now_sec = now_sec;
    if (p->timeline)
        p->timeline->calendar.now_sec = now_sec;
}

void planned_start_forget(struct plan *p)
{
    forget_shadow(p);
    if (p->timeline)
        calendar_done(&p->timeline->calendar);
    free(take_ptr(p->timeline));
    p->laid = 0;
}

static void free_head(struct plan_head *h)
{
    select_done(&h->where);
    plan_placements_done(&h->more);
}

void planned_start_done(struct plan *p)
{
    planned_start_forget(p);
    vec_foreach (&p->heads, h)
        free_head(h);
    vec_done(&p->heads);
}

bool planned_start_has(const struct plan *p, const struct job *j)
{
    return j->partitions && has_place_before(p, j->id, p->heads.len);
}

size_t planned_start_others(const struct plan *p, const struct job *j)
{
    size_t own = 0;
    if (j->partitions)
        vec_foreach (&p->heads, h)
            own += h->id == j->id;
    return p->heads.len - own;
}

bool planned_start_leaves_room(struct plan *p, const struct job *j, const struct resv *in,
                               const struct bitset *allowed, struct selection *where)
{
    struct timeline t;
    lay_out_others(p, &t, j->id, p->heads.len);
    bool fits = calendar_fits_now(&t.calendar, j, in, allowed, where);
    calendar_done(&t.calendar);
    return fits;
}

void planned_start_remove(struct plan *p, const struct job *j)
{
    if (!planned_start_has(p, j))
        return;
    planned_start_forget(p);
    size_t left = 0;
    vec_foreach (&p->heads, h) {
        if (h->id != j->id)
            p->heads.data[left++] = *h;
        else
            free_head(h);
    }
    p->heads.len = left;
    p->gave_up = true;
}

/* Returns the last time before 'until' at which a planned start begins; INT64_MIN: none. */
static int64_t last_start_before(const struct plan *p, int64_t until)
{
    int64_t last = INT64_MIN;
    if (p->shadow)
        return p->shadow->at_sec < until ? p->shadow->at_sec : last;
    vec_foreach (&p->heads, h)
        if (h->placed && h->where.shares.len && h->at_sec < until && h->at_sec > last)
            last = h->at_sec;
    return last;
}

/* Planned starts begin at few points in time, and a shorter run time conflicts with fewer of them.
 * So the longest possible limit ends at one of these points. */
int64_t planned_start_shorten(struct plan *p, const struct job *j, const struct resv *in,
                              const struct bitset *allowed, struct selection *where)
{
    struct job shorter = *j;
    int64_t until = INT64_MAX, limit = 0;
    if (j->limit_sec < INT64_MAX - p->now_sec)
        until = p->now_sec + j->limit_sec;
    while (!limit) {
        until = last_start_before(p, until);
        if (until == INT64_MIN || until - p->now_sec < j->time_min_sec)
            break;
        select_clear(where);
        shorter.limit_sec = until - p->now_sec;
        const struct free_view *view =
            resv_view(p->resv, &shorter, in, p->now_sec, &p->cluster->pool.now);
        _cleanup_(license_view_done) struct license_view v = {0};
        view = license_view_init(&v, &p->claims, p->cluster, &shorter, in, p->now_sec, view);
        if (select_nodes(p->cluster, &shorter, allowed, view, where) == 0 &&
            plan_leaves_room(p, &shorter, in, allowed, where))
            limit = shorter.limit_sec;
    }
    return limit;
}

uint64_t planned_start_hash_before(const struct plan *p, size_t place)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < place; i++) {
        const struct plan_head *h = &p->heads.data[i];
        hash = (hash ^ h->id ^ (uint64_t)(uintptr_t)h->part ^ (uint64_t)h->license << 32) *
                   UINT64_C(0x9e3779b97f4a7c15) +
               1;
    }
    return hash;
}

bool planned_start_is_known(struct plan *p, const struct job *j, int64_t *start_at)
{
    const struct plan_note *note = plan_note(p, j);
    struct plan_head *h = &vec_last(&p->heads);
    *start_at = note->start_at;
    h->is_known = !p->afresh && !p->found && p->taken == p->cluster->pool.taken &&
                  note->has_start && (note->start_at == 0 || note->start_at > p->now_sec) &&
                  note->before == planned_start_hash_before(p, p->heads.len - 1);
    if (h->is_known)
        h->license = note->license;
    return h->is_known;
}

/* Whether the nodes of the components decide which tied pools or alternative licences the set
 * uses. */
static bool is_set_tied(const struct plan *p, const struct job *leader)
{
    bool tied = joint_has_alternatives(leader);
    for (uint32_t i = 0; leader->set && !tied && i < job_set_count(leader); i++) {
        const struct job *j = job_set_component(leader, i);
        tied = j && license_needs_tied(p->cluster, j);
    }
    return tied;
}

bool planned_start_recall(struct plan *p, const struct job *j, int64_t start_at)
{
    struct plan_head *h = &vec_last(&p->heads);
    bool of_set = is_set_tied(p, j);
    if (!start_at || (!of_set && !license_needs_tied(p->cluster, j)))
        return true;
    const struct plan_note_place *noted = plan_note_read_place(p->notes, p->cluster, j);
    if (!noted)
        return false;
    select_copy(&h->where, noted->where);
    h->at_sec = start_at;
    if (of_set) {
        plan_placements_copy(&h->more, noted->more);
        h->placed = true;
    }
    return true;
}

void planned_start_note_set(struct plan *p, const struct job *leader)
{
    const struct plan_head *h = &vec_last(&p->heads);
    if (h->where.shares.len && is_set_tied(p, leader))
        plan_note_write_place(p->notes, p->cluster, leader, p->taken, &h->where, &h->more);
}

void planned_start_keep_licenses(struct plan *p, const struct job *j, int64_t start_at)
{
    keep_licenses(p, j, &vec_last(&p->heads), start_at);
}

int64_t planned_start_earliest(const struct plan *p, const struct job *j, int64_t found)
{
    const struct job_partitions *s = j->partitions;
    int64_t first = found;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct plan_note *note = plan_note_read_in(p->notes, p->cluster, j, s->of[i].part);
        if (s->of[i].part != j->part && note->has_start && note->start_at &&
            (!first || note->start_at < first))
            first = note->start_at;
    }
    return first;
}

/* --- after the pass ------------------------------------------------------------------------------
 */

static void swap_starts(struct plan_starts *s, struct plan *p)
{
    vec_swap(&s->heads, &p->heads);
    vec_swap(&s->claims.list, &p->claims.list);
    uint64_t version = s->claims.version;
    s->claims.version = p->claims.version;
    p->claims.version = version;
}

void plan_starts_take(struct plan_starts *s, struct plan *p)
{
    plan_starts_done(s);
    if (!p->heads.len)
        return;
    planned_start_forget(p);
    swap_starts(s, p);
}

static void add_nodes(const struct selection *where, struct bitset *nodes)
{
    vec_foreach (&where->shares, share)
        if (share->node < nodes->size)
            bitset_set(nodes, share->node);
}

/* Only idle and mixed nodes are displayed as PLANNED. */
static bool has_idle_or_mixed_node(const struct cluster *c)
{
    for (size_t i = 0; i < c->nodes.len; i++)
        if ((c->pool.now.whole[i] || node_is_mixed(c->nodes.data[i])) &&
            bitset_test(c->pool.usable, i))
            return true;
    return false;
}

static void place_more(struct plan_starts *s, const struct cluster *c, int64_t now_sec,
                       uint64_t budget)
{
    struct plan p;
    plan_begin(&p, c, NULL, now_sec, true);
    p.asks = true;
    swap_starts(s, &p);
    begin_timeline(&p);
    while (p.laid < p.heads.len && p.work < budget)
        lay_out_next(&p);
    s->placed = p.laid;
    swap_starts(s, &p);
    plan_end(&p);
}

static bool is_waiting(const struct cluster *c, uint32_t id)
{
    const struct job *j = cluster_find_job(c, id);
    return j && j->state == PB__JOB_STATE__PENDING;
}

const struct bitset *plan_starts_find_nodes(struct plan_starts *s, const struct cluster *c,
                                            int64_t now_sec, uint64_t budget)
{
    bitset_free(take_ptr(s->nodes));
    if (!s->heads.len || !has_idle_or_mixed_node(c))
        return NULL;
    if (s->placed < s->heads.len)
        place_more(s, c, now_sec, budget);
    s->nodes = bitset_new(c->nodes.len);
    for (size_t i = 0; i < s->placed; i++) {
        const struct plan_head *h = &s->heads.data[i];
        if (!is_waiting(c, h->id))
            continue;
        add_nodes(&h->where, s->nodes);
        vec_foreach (&h->more.list, at)
            add_nodes(&at->where, s->nodes);
    }
    return s->nodes;
}

void plan_starts_done(struct plan_starts *s)
{
    vec_foreach (&s->heads, h)
        free_head(h);
    vec_done(&s->heads);
    vec_done(&s->claims.list);
    bitset_free(s->nodes);
    *s = (struct plan_starts){0};
}
