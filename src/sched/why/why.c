/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "base/pb.h"
#include "sched/plan/prio.h"
#include "sched/why/why_state.h"

#define STEP_JOBS 100 /* jobs examined in a step */
/* Maximum jobs before it that are laid out; with more, no start is predicted. */
#define LAY_MOST 50
#define PARTS_MOST 8 /* other partitions that are tried */
#define TRIES 3      /* to find the cluster unchanged at the end */

/* --- the begin of a query, possibly repeated ----------------------------------------------------
 */

static void forget_place(struct why *w)
{
    if (w->walking)
        plan_end(&w->plan);
    w->walking = false;
    why_start_forget(w);
}

static void forget_search(struct why *w)
{
    forget_place(w);
    why_nodes_done(&w->nodes);
    why_guest_forget(w);
    plan_notes_clear(&w->notes);
    vec_clear(&w->places);
    vec_clear(&w->trials);
    arena_done(&w->arena);
    arena_init(&w->arena, 0);
    w->answer = NULL;
    w->count_what = w->count_command = NULL;
    w->place = w->at = 0;
    w->head = w->license = 0;
    w->set = (struct why_set){0};
    w->begun = false;
    w->phase = WALK;
}

struct why *why_new(const struct cluster *c, const struct why_question *q)
{
    struct why *w = mem_new(struct why);
    *w = (struct why){.cluster = c, .q = *q, .notes.under = q->notes};
    arena_init(&w->arena, 0);
    return w;
}

void why_free(struct why *w)
{
    if (!w)
        return;
    forget_search(w);
    plan_notes_done(&w->notes);
    free(w->view);
    free(w->either);
    arena_done(&w->arena);
    vec_done(&w->places);
    vec_done(&w->trials);
    vec_done(&w->lay);
    vec_done(&w->endless);
    vec_done(&w->q.may);
    free(w);
}

static const struct job *job_of(const struct why *w)
{
    const struct job *j = w->q.guest ? w->q.guest : cluster_find_job(w->cluster, w->q.job_id);
    return j && j->state == PB__JOB_STATE__PENDING ? j : NULL;
}

static void begin_answer(struct why *w, const struct job *j)
{
    w->begun = true;
    w->stamp = w->cluster->stamp;
    w->answer = arena_alloc(&w->arena, sizeof(*w->answer));
    pb__why_reply__init(w->answer);
    w->spec = job_unpack_spec(j, &w->arena);
    const struct order_link *queued = job_partitions_link(j);
    vec_push(&w->places, ((struct why_place){j->part, queued->in ? queued->key : w->q.key}));
    if (!j->part)
        w->phase = j->in_set ? FIND : ARRIVE;
}

/* --- the walk to a place in a queue -------------------------------------------------------------
 */

static void note_head(struct why *w, const struct decision *d, const struct part *part)
{
    if (w->place != 0 || w->head || d->part != part)
        return;
    w->head = d->job->id;
    w->head_priority = d->job->priority;
}

/* A job that would start also takes its resources from now on. */
static void pass_by(struct why *w, struct decision *d)
{
    if (d->kind == PLAN_START)
        plan_suppose(&w->plan, d);
    plan_decision_done(d);
    free(d->detail);
}

/* The job itself is left out: at its own place it is examined, and elsewhere its resources are
 * available to the jobs behind it. */
static bool walk_queue(struct why *w)
{
    const struct why_place *to = &w->places.data[w->place];
    struct decision d;
    if (!w->walking)
        plan_begin(&w->plan, w->cluster, &w->notes, w->now_sec, w->q.backfill);
    else
        plan_resume(&w->plan, w->now_sec);
    w->walking = true;
    w->plan.without = w->q.guest ? 0 : why_id(w);
    w->plan.afresh = w->place > 0; /* the job is missing at its own place */
    for (int i = 0; i < STEP_JOBS; i++) {
        if (!plan_is_before(&w->plan, to->part, to->key, why_tie(w)))
            return false;
        bool blocked = w->plan.blocked;
        uint64_t work = w->plan.work;
        if (!plan_next(&w->plan, &d))
            return false;
        if (!blocked && w->plan.blocked)
            note_head(w, &d, to->part);
        pass_by(w, &d);
        if (w->plan.work - work >= w->cluster->nodes.len) /* nodes were visited */
            return true;
    }
    return true;
}

/* --- trials -------------------------------------------------------------------------------------
 */

/* Returns the queue key of the changed job: the request may influence its priority. */
static int64_t key_of(const struct why *w, const struct job *j, const struct relax *r,
                      uint64_t number, int64_t own)
{
    const struct prio_rule *rank = w->q.rank;
    struct prio_factors f;
    struct job_copy as;
    if (!rank || !job_set_is_leader(j) || !rank->multifactor || j->rank.given ||
        r->kind == RELAX_PRIORITY || relax_make(w->cluster, j, w->spec, r, number, &as) != 0)
        return own;
    prio_find(rank, &as.job, w->q.rank_at_sec, &f);
    relax_done(&as);
    bool kept = rank->incr_only && f.priority < j->priority;
    return kept ? own : -(int64_t)f.priority;
}

/* Repeats the trial at the place that the changed job would have. */
static void move_trial(struct why *w, const struct job *j, struct why_trial *t)
{
    const struct why_place at = w->places.data[t->place];
    int64_t key = key_of(w, j, &t->r, t->number, at.key);
    t->placed = true;
    if (key == at.key)
        return;
    t->done = false;
    for (t->place++; t->place < w->places.len; t->place++)
        if (w->places.data[t->place].part == at.part && w->places.data[t->place].key == key)
            return;
    vec_push(&w->places, ((struct why_place){at.part, key}));
}

static void try_place(struct why *w, const struct relax *r, const struct part *part, int64_t key)
{
    vec_push(&w->trials, ((struct why_trial){.r = *r, .place = w->places.len}));
    vec_push(&w->places, ((struct why_place){part, key}));
}

/* A component that moves to another partition keeps the place of its leader. */
static void try_part(struct why *w, const struct job *j, const struct part *part, int64_t own_key)
{
    struct relax r = {.kind = RELAX_PARTITION, .part = part};
    if (job_partitions_has(j, part))
        return;
    if (job_set_is_leader(j))
        try_place(w, &r, part, key_of(w, j, &r, 0, own_key));
    else
        vec_push(&w->trials, ((struct why_trial){.r = r}));
}

static void find_trials(struct why *w, const struct job *j)
{
    uint32_t kinds = why_kinds(w->rule);
    if (!job_set_is_leader(j)) /* trials for all components belong to the leader */
        kinds &= ~RELAX_BIT(LICENSES);
    const struct why_place own = w->places.data[0];
    struct relax_list found = {0};
    if (j->part)
        relax_find(w->cluster, j, w->spec, kinds, &found);
    vec_foreach (&found.list, r)
        vec_push(&w->trials, ((struct why_trial){.r = *r}));
    vec_done(&found.list);
    if (kinds & RELAX_BIT(PRIORITY) && w->head) {
        uint64_t most = (uint64_t)w->head_priority + 1;
        struct relax r = {RELAX_PRIORITY, most, most, most, NULL};
        if (most < UINT32_MAX)
            try_place(w, &r, own.part, -(int64_t)most);
    }
    if (kinds & RELAX_BIT(PARTITION))
        for (size_t i = 0; i < w->q.may.len && i < PARTS_MOST; i++)
            try_part(w, j, w->q.may.data[i], own.key);
}

/* Called at the job's own place: collects all results that need no visit of nodes. */
static void arrive_at_job(struct why *w, const struct job *leader, const struct job *j)
{
    if (j != leader)
        w->spec = job_unpack_spec(j, &w->arena);
    w->rule = why_find_rule(w, leader, j);
    why_put_need(w, j);
    why_put_before(w, leader);
    why_set_put(w, j);
    find_trials(w, j);
    if (j->part)
        why_nodes_init(&w->nodes, w->cluster, j);
    SET(w->answer, could_ever, w->nodes.could_ever);
}

static bool starts_with(struct why *w, const struct job *leader, const struct why_trial *t,
                        uint64_t number)
{
    const struct job *j = why_subject(w, leader);
    struct job_copy as;
    struct decision d;
    if (relax_make(w->cluster, j, w->spec, &t->r, number, &as) != 0)
        return false;
    if (t->r.kind == RELAX_TIME_LIMIT)
        as.job.limit_sec += RELAX_SLACK_SEC;
    why_ask(w, leader, &as, &d);
    bool yes = d.kind == PLAN_START;
    plan_decision_done(&d);
    free(d.detail);
    relax_done(&as);
    return yes;
}

/* Tries one value: the lowest one first, then values between it and the requested one. */
static void query_planner(struct why *w, const struct job *j, struct why_trial *t)
{
    if (t->placed) {
        t->now = starts_with(w, j, t, t->number);
        t->done = true;
        return;
    }
    if (!t->begun) {
        t->begun = true;
        t->number = t->r.least;
        t->now = starts_with(w, j, t, t->number);
        t->low = t->r.least + 1;
        t->high = t->r.most;
        t->done = !t->now || t->low > t->high;
        if (!t->now)
            t->number = t->r.guess;
        return;
    }
    uint64_t middle = t->low + (t->high - t->low) / 2;
    if (starts_with(w, j, t, middle)) {
        t->number = middle;
        t->low = middle + 1;
    } else {
        t->high = middle - 1;
    }
    t->done = t->low > t->high;
}

/* Returns the next trial at this place, from w->at on; NULL: no more. */
static struct why_trial *next_trial(struct why *w)
{
    while (w->at < w->trials.len && w->trials.data[w->at].place != w->place)
        w->at++;
    return w->at < w->trials.len ? &w->trials.data[w->at] : NULL;
}

/* --- steps --------------------------------------------------------------------------------------
 */

static enum why_phase step_estimate(struct why *w, const struct job *j)
{
    struct why_trial *t = next_trial(w);
    if (!t)
        return LEAVE;
    bool wanted = !t->now && !w->too_many;
    w->at +=
        !wanted || !why_start_estimate(w, j, why_subject(w, j), &t->r, t->number, &t->start_at);
    return ESTIMATE;
}

static enum why_phase step_ask(struct why *w, const struct job *j)
{
    struct why_trial *t = next_trial(w);
    if (!t) {
        w->at = 0;
        return why_start_is_needed(w) ? LAY : LEAVE;
    }
    query_planner(w, j, t);
    if (t->done && !t->placed)
        move_trial(w, why_subject(w, j), t);
    w->at += t->done || t->place != w->place;
    return ASK;
}

static enum why_phase step_lay(struct why *w, const struct job *j)
{
    if (why_start_lay(w))
        return LAY;
    w->at = 0;
    return w->place == 0 && why_is_foreseeable(w) ? OWN : ESTIMATE;
}

static enum why_phase leave_search(struct why *w)
{
    forget_place(w);
    w->at = 0;
    return ++w->place < w->places.len ? WALK : OVER;
}

static enum why_phase step_search(struct why *w, const struct job *j)
{
    const struct job *subject = why_subject(w, j);
    switch (w->phase) {
    case WALK:
        return walk_queue(w) ? WALK : w->place == 0 ? FIND : ASK;
    case FIND:
        return why_set_find(w, j) ? FIND : ARRIVE;
    case ARRIVE:
        if (w->q.guest)
            return why_guest_visit(w, j) ? LAY : LEAVE;
        arrive_at_job(w, j, subject);
        return subject->part ? LOOK : LEAVE;
    case LOOK:
        return why_nodes_step(&w->nodes, w->cluster, subject, w->plan.resv, w->now_sec) ? LOOK
                                                                                        : ASK;
    case ASK:
        return step_ask(w, j);
    case LAY:
        return step_lay(w, j);
    case OWN:
        return why_start_own(w, j, subject) ? OWN : ESTIMATE;
    case ESTIMATE:
        return step_estimate(w, j);
    case LEAVE:
        return leave_search(w);
    case OVER:
        break;
    }
    return OVER;
}

/* For a job of several partitions the first one in whose queue it is counts. */
static const struct job *view_queued(struct why *w, const struct job *j)
{
    uint32_t i = 0;
    while (j->partitions && i < j->partitions->count && !j->partitions->of[i].queued.in)
        i++;
    if (!j->partitions || i == j->partitions->count || j->partitions->of[i].part == j->part)
        return j;
    if (!w->view)
        w->view = mem_new(struct job_copy);
    return job_partitions_view(j, j->partitions->of[i].part, w->view);
}

/* Returns the job with the alternative licence that it waits for, which is known when the pass has
 * reached the job. */
static const struct job *view_awaited(struct why *w, const struct job *j)
{
    if (!j->want.licenses.any || w->phase < ARRIVE || j->in_set) /* a set has a joint_choice */
        return j;
    const struct plan_note *note = plan_note_read(&w->notes, w->cluster, j);
    if (w->phase == ARRIVE)
        w->license = note->has_start && note->start_at ? note->license : why_choose_awaited(w, j);
    w->either = w->either ? w->either : mem_new(struct job_copy);
    return license_view_alternative(j, w->license, w->either);
}

static bool continue_search(struct why *w, const struct job *j)
{
    if (!w->begun)
        begin_answer(w, j);
    j = view_awaited(w, j);
    w->phase = step_search(w, j);
    if (w->phase != OVER)
        return true;
    if (w->stamp != w->cluster->stamp && ++w->tries < TRIES) {
        forget_search(w);
        return true;
    }
    if (!w->q.guest)
        why_finish(w, j, why_subject(w, j));
    return false;
}

bool why_step(struct why *w, int64_t now_sec)
{
    const struct job *j = job_of(w);
    w->gone = !j;
    if (!j)
        return false;
    w->now_sec = now_sec;
    return continue_search(w, view_queued(w, why_leader(w, j)));
}

const Pb__WhyReply *why_answer(const struct why *w)
{
    return w->gone ? NULL : w->answer;
}
