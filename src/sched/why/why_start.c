/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The predicted start of a job that cannot start now: on a timeline with the jobs before it. */
#include <stdlib.h>

#include "base/hostlist.h"
#include "base/pb.h"
#include "sched/common.h"
#include "sched/plan/gate.h"
#include "sched/plan/set_turn.h"
#include "sched/why/why_state.h"

#define FILL_NODES 1000 /* nodes of running jobs added to the timeline in a step */
/* Maximum jobs before it that are laid out; with more, no start is predicted. */
#define LAY_MOST 50
#define GUEST_MOST 1000    /* the same for a guest, */
#define GUEST_LOOKS 500000 /* with this maximum of nodes visited together */

void why_start_forget(struct why *w)
{
    if (w->timeline) {
        calendar_done(&w->timeline->calendar);
        resv_plan_done(&w->resv);
    }
    free(take_ptr(w->timeline));
    vec_clear(&w->lay);
    vec_clear(&w->endless);
    w->laid = 0;
    w->not_before = w->first_laid = 0;
    w->too_many = w->partly = w->searching = w->filling = false;
    select_done(&w->where);
}

bool why_is_foreseeable(const struct why *w)
{
    return w->q.guest || w->rule <= WHY_SWITCHES || why_is_of_common(w->rule) ||
           w->rule == WHY_BEGIN_TIME;
}

/* Nothing else is computed for a guest: on a small cluster more jobs are laid out for it. */
static size_t lay_most(const struct why *w)
{
    size_t most = w->q.guest ? GUEST_LOOKS / (w->cluster->nodes.len + 1) : LAY_MOST;
    return most < LAY_MOST ? LAY_MOST : most > GUEST_MOST ? GUEST_MOST : most;
}

/* Adds the job in its order, once for each array element that may start; further elements follow
 * when these have ended. */
static void list_job(struct why *w, const struct job *j, const struct part *part, bool known)
{
    uint32_t n = gate_count_elements(j);
    for (uint32_t i = known; i < n && !w->too_many; i++) {
        w->too_many = w->lay.len >= lay_most(w);
        if (!w->too_many)
            vec_push(&w->lay, ((struct why_laid){j->id, part, plan_choose_awaited(&w->plan, j)}));
    }
    w->partly |= n < j->tasks.count;
}

static bool has_job_listed(const struct why *w, const struct job *j, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        if (w->lay.data[i].id == j->id)
            return true;
    return false;
}

/* 'heads': the number of planned starts, which are listed already. */
static void list_queue(struct why *w, const struct part *part, size_t heads)
{
    const struct why_place *at = &w->places.data[w->place];
    size_t before = w->lay.len;
    for (struct order_link *l = order_first(&part->queue); l && !w->too_many; l = order_next(l)) {
        const struct job *j = job_partitions_job_of(l);
        if (l->key > at->key || (l->key == at->key && l->tie >= why_tie(w)))
            break;
        bool keeps_place;
        bool waits = gate_of_start(&w->plan, j, &keeps_place) && !keeps_place;
        if (job_set_id(j) == why_id(w) || waits || has_job_listed(w, j, heads, before))
            continue;
        list_job(w, j, part, has_job_listed(w, j, 0, heads));
    }
}

static void list_before(struct why *w)
{
    vec_foreach (&w->plan.heads, head)
        vec_push(&w->lay, ((struct why_laid){head->id, head->part, head->license}));
    size_t heads = w->lay.len;
    if (!w->plan.blocked) /* first in its queue; other waiting jobs block no job */
        return;
    struct set_parts parts = {0};
    set_turn_list_parts(&w->plan, w->places.data[w->place].part, &parts);
    vec_foreach (&parts.list, part)
        list_queue(w, *part, heads);
    vec_done(&parts.list);
}

bool why_start_is_needed(const struct why *w)
{
    bool needs = w->place == 0 && w->rule != WHY_NOW && why_is_foreseeable(w);
    vec_foreach (&w->trials, t)
        needs = needs || (t->place == w->place && !t->now);
    return needs && w->places.data[w->place].part;
}

/* The planner assumes that a job without a time limit ends after a year. A start that depends on
 * such an end is not a prediction. */
static bool waits_for_endless(const struct why *w, int64_t at)
{
    for (struct order_link *l = order_first(&w->cluster->ends); l && (int64_t)l->key <= at;
         l = order_next(l))
        if (job_of_end(l)->limit_sec == INT64_MAX)
            return true;
    vec_foreach (&w->endless, laid)
        if (laid->ends_at <= at)
            return true;
    return false;
}

static bool has_node_of(const struct job *j, const struct bitset *nodes)
{
    vec_foreach (&attempt_of(j)->alloc, a)
        if (!a->released && bitset_test(nodes, a->node))
            return true;
    return false;
}

#define ENDLESS_MOST 4 /* maximum jobs that are named */

static void name_endless(struct why *w, uint32_t id)
{
    Pb__WhyReply *m = w->answer;
    for (size_t i = 0; i < m->n_without_limit; i++)
        if (m->without_limit[i] == id)
            return;
    if (m->n_without_limit < ENDLESS_MOST)
        m->without_limit[m->n_without_limit++] = id;
}

/* Names running jobs on these nodes; NULL: on any. */
static void name_running_endless(struct why *w, const struct bitset *nodes, int64_t at)
{
    for (struct order_link *l = order_first(&w->cluster->ends); l && (int64_t)l->key <= at;
         l = order_next(l)) {
        const struct job *j = job_of_end(l);
        if (j->limit_sec == INT64_MAX && (!nodes || has_node_of(j, nodes)))
            name_endless(w, j->id);
    }
}

/* Names the holders of the licence or other shared resource that the job waits for. */
static void name_endless_holders(struct why *w, const struct job *j, int64_t at)
{
    struct common_short s;
    struct job_copy room;
    j = license_view_alternative(j, w->license, &room);
    if (!common_find_short(w->cluster, j, why_reason(w->rule), w->now_sec, &s))
        return;
    free(s.what);
    for (struct order_link *l = order_first(&w->cluster->ends);
         s.at >= 0 && l && (int64_t)l->key <= at; l = order_next(l)) {
        const struct job *other = job_of_end(l);
        if (other->limit_sec == INT64_MAX && s.kind->held(w->cluster, other, s.at))
            name_endless(w, other->id);
    }
}

/* Names the jobs without a time limit on whose end the start depends: the holders of the licences
 * that it waits for, or jobs on nodes that the job could use; and the jobs before it in the queue.
 * If there are none but the start depends on one, names all. */
static void put_endless(struct why *w, const struct job *j, int64_t at)
{
    w->answer->without_limit =
        arena_alloc(&w->arena, ENDLESS_MOST * sizeof(*w->answer->without_limit));
    if (why_is_of_common(w->rule))
        name_endless_holders(w, j, at);
    if (!w->answer->n_without_limit && !j->in_set && w->nodes.could)
        name_running_endless(w, w->nodes.could, at);
    vec_foreach (&w->endless, laid)
        if (laid->ends_at <= at)
            name_endless(w, laid->id);
    if (!w->answer->n_without_limit && at != INT64_MAX)
        name_running_endless(w, NULL, at);
}

static void put_ahead(struct why *w, const struct job *j, int64_t start_at)
{
    Pb__WhyReply *m = w->answer;
    Pb__WhyAhead *a = arena_alloc(&w->arena, sizeof *a);
    pb__why_ahead__init(a);
    if (!m->ahead)
        m->ahead = arena_alloc(&w->arena, (w->lay.len + 1) * sizeof(*m->ahead));
    a->job_id = j->id;
    a->partition = (char *)j->part->conf.name;
    SET(a, priority, j->priority);
    SET(a, nodes, j->want.min_nodes);
    a->has_start_at = start_at > 0 && !waits_for_endless(w, start_at);
    a->start_at = a->has_start_at ? start_at : 0;
    m->ahead[m->n_ahead++] = a;
}

static bool begin_search(struct why *w, const struct job *j)
{
    const struct license_claims *claims = &w->plan.claims;
    uint64_t work = 0;
    int64_t due = license_earliest(claims, w->cluster, j, w->now_sec, &work);
    int64_t from = j->begin_at > w->not_before ? j->begin_at : w->not_before;
    due = due && from > due ? from : due;
    timeline_set_licenses(w->timeline, claims, due);
    w->search = (struct timeline_search){0};
    select_clear(&w->where);
    return due;
}

/* Does one step of the search as the planner would. True: there are more steps; otherwise the job
 * has w->where from *at on. */
static bool search_place(struct why *w, const struct job *j, int64_t *at)
{
    _cleanup_bitset_ struct bitset *allowed = why_allowed_nodes(w, j);
    *at = 0;
    w->timeline->in = resv_home(j);
    if (!w->searching && !begin_search(w, j))
        return false;
    w->searching = timeline_search_step(w->timeline, j, allowed, &w->search, &w->where);
    *at = w->searching ? 0 : timeline_search_found(w->timeline, &w->search);
    return w->searching;
}

static void note_laid(struct why *w, const struct job *j, int64_t at)
{
    if (!w->q.backfill)
        w->not_before = at > w->not_before ? at : w->not_before;
    if (at > w->now_sec && (!w->first_laid || at < w->first_laid))
        w->first_laid = at;
    bool first = !w->laid || w->lay.data[w->laid - 1].id != j->id; /* first element of an array */
    if (w->place == 0 && !w->q.guest && first)
        put_ahead(w, j, at);
    if (at && j->limit_sec == INT64_MAX)
        vec_push(&w->endless, ((struct why_endless){j->id, job_ends_at(j, at)}));
}

static bool lay_job(struct why *w, const struct job *j)
{
    int64_t at;
    uint64_t work = 0;
    if (search_place(w, j, &at))
        return true;
    if (!w->where.shares.len)
        at = 0;
    else
        calendar_reserve(&w->timeline->calendar, j, &w->where, at);
    if (at)
        license_keep(&w->plan.claims, w->cluster, j, &w->where, at, &work);
    note_laid(w, j, at);
    return false;
}

/* Uses the planned start of this pass, although a timeline might choose other nodes. */
static bool lay_known(struct why *w, const struct job *j)
{
    const struct plan_head *head =
        w->laid < w->plan.heads.len ? &w->plan.heads.data[w->laid] : NULL;
    if (!head || !head->placed || !head->where.shares.len)
        return false;
    calendar_reserve(&w->timeline->calendar, j, &head->where, head->at_sec);
    note_laid(w, j, head->at_sec);
    return true;
}

bool why_start_lay(struct why *w)
{
    if (!w->timeline) {
        list_before(w);
        w->timeline = mem_new(struct timeline);
        timeline_begin(w->timeline, w->cluster, w->now_sec);
        resv_plan_init(&w->resv, w->cluster, w->now_sec);
        w->filling = true;
        return true;
    }
    if (w->filling) {
        w->filling = timeline_fill(w->timeline, FILL_NODES);
        if (!w->filling)
            timeline_set_resv(w->timeline, &w->resv);
        return true;
    }
    if (w->laid == w->lay.len)
        return false;
    const struct why_laid *next = &w->lay.data[w->laid];
    struct job_copy room;
    const struct job *j = cluster_find_job(w->cluster, next->id);
    bool more = false;
    if (j && j->state == PB__JOB_STATE__PENDING && j->part)
        j = job_partitions_view(j, next->part, &room);
    else
        j = NULL;
    j = j ? license_view_alternative(j, next->license, &room) : NULL;
    if (j)
        more = !lay_known(w, j) && lay_job(w, j);
    w->searching = more;
    w->laid += !more;
    return true;
}

bool why_start_estimate(struct why *w, const struct job *leader, const struct job *j,
                        const struct relax *r, uint64_t number, int64_t *at)
{
    struct job_copy as;
    bool more = false;
    *at = 0;
    if (relax_make(w->cluster, j, w->spec, r, number, &as) != 0)
        return w->searching = false;
    if (j->in_set) {
        *at = why_set_estimate(w, leader, &as);
    } else {
        license_choose_alternative(&as.job, w->license);
        more = search_place(w, &as.job, at);
    }
    if (more || (!j->in_set && !w->where.shares.len))
        *at = 0;
    relax_done(&as);
    if (*at <= w->now_sec) /* the timeline does not know what blocks it now */
        *at = 0;
    if (*at && r && !w->q.guest && waits_for_endless(w, *at))
        *at = 0;
    return more;
}

/* Returns the nodes of w->where. */
static char *name_nodes(struct why *w)
{
    _cleanup_hostlist_ struct hostlist *list = hostlist_new();
    _cleanup_str_ struct str text = STR_INIT;
    vec_foreach (&w->where.shares, share)
        hostlist_push(list, w->cluster->nodes.data[share->node]->name);
    hostlist_format(list, &text);
    return text.len ? arena_strdup(&w->arena, str_cstr(&text)) : NULL;
}

/* The planner's own start is reported while nothing became free; with the nodes of the search if
 * the search finds the same time. */
bool why_start_own(struct why *w, const struct job *leader, const struct job *j)
{
    Pb__WhyReply *m = w->answer;
    int64_t at = leader->expected_at, found = 0;
    bool told = plan_note_read(&w->notes, w->cluster, leader)->has_start && at > w->now_sec;
    bool is_planned = told && w->rule != WHY_BEGIN_TIME;
    if ((!is_planned || !w->q.guest) && why_start_estimate(w, leader, j, NULL, 0, &found))
        return true;
    at = is_planned ? at : found;
    if (w->q.guest) {
        why_guest_found(w, at);
        return false;
    }
    if (w->rule == WHY_BEGIN_TIME && j->begin_at > at)
        at = license_possible(w->cluster, j, NULL) == 0 ? j->begin_at : 0;
    bool is_endless = at > 0 && waits_for_endless(w, at);
    bool is_for_nodes = w->rule == WHY_RESOURCES || w->rule == WHY_BEHIND;
    if (is_endless || (!at && is_for_nodes))
        put_endless(w, j, at ? at : INT64_MAX);
    m->has_start_at = at > 0 && !w->too_many && !is_endless;
    m->start_at = m->has_start_at ? at : 0;
    m->sched_nodes = m->has_start_at && at == found ? name_nodes(w) : NULL;
    return false;
}
