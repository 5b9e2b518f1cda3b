/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The delivery of changes to dependents (--dependency). depend.c handles requests and states.
 *
 * A change of a job is delivered to its dependents, a limited number per turn, with the outcome at
 * the time of the change: the job may be requeued or change again before the last dependent is
 * notified. It is not purged before, so that a restart finds its final state. A dependent updates
 * only the item that names the job. The text and the record of a job with a long list are not
 * updated for each item, but some time later for all items updated until then; the named jobs are
 * not purged until then either (depend_is_telling()).
 */
#include "control/event/job_event.h"
#include "control/internal.h"
#include "control/life/depend.h"
#include "control/life/enqueue.h"
#include "control/life/schedule.h"

#define SHARE 2000   /* per turn: delivered items, */
#define LETS_GO 10   /* additional cost of a job that is queued, */
#define SHOWN 10     /* one more per this number of items shown and written, */
#define SETS 64      /* and one more per this number of words and runs of sets visited */
#define LATE_MS 1000 /* after the first delivered item */

/* --- a job has changed -------------------------------------------------------------------------
 */

/* --dependency=singleton: the first pending job of this name may start now, or must wait again. */
static void enqueue_next_singleton(struct control *c, struct job *first)
{
    for (uint32_t i = 0; first && i < job_set_count(first); i++) {
        struct job *j = job_set_component(first, i); /* all components of a job set */
        if (j && j->state == PB__JOB_STATE__PENDING && j->waits.on)
            enqueue_job(c, j);
    }
}

/* The job runs now: the job of this name that was released before, which is the oldest pending one,
 * is blocked again. */
static void hold_named(struct control *c, struct job *j)
{
    struct job *next = depend_next_like(c->cluster, j);
    if (next && next->set && next->set == j->set)
        return; /* they start together */
    if (next && next->state == PB__JOB_STATE__PENDING && job_partitions_is_queued(next) &&
        next->waits.on)
        enqueue_job(c, next);
}

/* Takes ownership of 't'. */
static void announce_outcome(struct control *c, struct outcome_news t)
{
    uint32_t count = 0;
    idmap_get(&c->news->of, t.outcome.job_id, &count);
    idmap_set(&c->news->of, t.outcome.job_id, count + 1);
    vec_push(&c->news->outcomes, t);
}

static void drop_pending_notice(struct control *c, uint32_t job_id)
{
    uint32_t count = 0;
    idmap_get(&c->news->of, job_id, &count);
    if (count > 1)
        idmap_set(&c->news->of, job_id, count - 1);
    else
        idmap_remove(&c->news->of, job_id);
}

static void announce_element(struct control *c, const struct job *j, uint32_t element)
{
    announce_outcome(c, (struct outcome_news){.outcome = depend_outcome_of_element(j, element)});
}

/* Delivers to dependents on elements of the record by number. */
static void announce_elements(struct control *c, const struct job *j)
{
    uint32_t element = DEPEND_WHOLE;
    if (!j->tasks.count) {
        if (depend_is_awaited(c->cluster, j->array->id, j->task))
            announce_element(c, j, j->task);
        return;
    }
    while (depend_next_element(c->cluster, j->array->id, &element))
        if (array_record_has(j, element))
            announce_element(c, j, element);
}

/* Delivers to arrays whose elements depend on the elements with the same numbers. */
static void announce_to_arrays(struct control *c, const struct job *j)
{
    struct outcome_news t = {.outcome = depend_outcome_of_element(j, DEPEND_CORR)};
    if (!t.outcome.over)
        return;
    idset_copy(&t.elements, &j->tasks);
    if (!j->tasks.count)
        idset_add(&t.elements, j->task);
    announce_outcome(c, t);
}

/* Delivers to dependents on the whole array: its records are examined when the last element has
 * begun, or no other one runs. */
static void announce_array(struct control *c, const struct job *j)
{
    const struct array *a = j->array;
    bool begins = j->state == PB__JOB_STATE__RUNNING && !a->pending;
    if (begins || (!a->pending && !a->running))
        announce_outcome(c, (struct outcome_news){.outcome = depend_outcome_of_array(a)});
}

/* Delivers to dependents on the leader of a job set, which stands for the whole set; NULL: its
 * record is purged. */
static void announce_set(struct control *c, const struct job *leader)
{
    if (leader && depend_is_awaited(c->cluster, leader->id, DEPEND_WHOLE))
        announce_outcome(c, (struct outcome_news){.outcome = depend_outcome_of(leader)});
}

void depend_changed(struct control *c, struct job *j)
{
    depend_place_name(c->cluster, j);
    control_debug(c, dependency, "job %u has changed: jobs that wait for it are looked at", j->id);
    if (j->state == PB__JOB_STATE__RUNNING || j->state == PB__JOB_STATE__SUSPENDED)
        hold_named(c, j);
    else
        enqueue_next_singleton(c, depend_first_like(c->cluster, j));
    bool of_array = j->array && j->array->id == j->id; /* its id is the array's id */
    if (!of_array && depend_is_awaited(c->cluster, j->id, DEPEND_WHOLE))
        announce_outcome(c, (struct outcome_news){.outcome = depend_outcome_of(j)});
    if (!job_set_is_leader(j))
        announce_set(c, job_set_component(j, 0));
    if (j->array)
        announce_elements(c, j);
    if (j->array && depend_is_awaited(c->cluster, j->array->id, DEPEND_CORR))
        announce_to_arrays(c, j);
    if (j->array && depend_is_awaited(c->cluster, j->array->id, DEPEND_WHOLE))
        announce_array(c, j);
}

/* A running job has no dependencies. */
void depend_job_started(struct control *c, const struct transition *t)
{
    depend_set(c->cluster, t->job, NULL);
    depend_changed(c, t->job);
}

void depend_renamed(struct control *c, struct job *j, const char *before)
{
    depend_replace_name(c->cluster, j);
    enqueue_next_singleton(c, depend_first_named(c->cluster, j->uid, before));
    hold_named(c, j);
}

/* --- dependents ---------------------------------------------------------------------------------
 */

/* Schedules the update of its record and its text: now, or together with later deliveries. */
static void schedule_record_update(struct control *c, struct job *j)
{
    if (j->waits.late)
        return;
    j->waits.late = true;
    vec_push(&c->news->late, ((struct late){j->id, control_mono(c) + LATE_MS}));
}

/* Delivers to an array with dependencies by number. Failed elements are stored; fulfilled ones are
 * recomputed. */
static size_t notify_array_item(struct control *c, struct job *j, struct depend_item *item,
                                const struct outcome_news *t)
{
    bool well = t->outcome.state == PB__JOB_STATE__COMPLETED;
    size_t work = 1;
    if (t->elements.count > 1 || j->waits.on->items.len > 1)
        work += (idset_cost(&j->tasks) + idset_cost(&t->elements)) / SETS;
    if (!depend_corr_apply(j, item, &t->elements, well))
        return work;
    bool settled = item->state != DEPEND_UNFULFILLED;
    depend_reindex_item(c->cluster, j, item, true);
    if (settled || !well)
        schedule_record_update(c, j);
    if (j->state != PB__JOB_STATE__PENDING || (!settled && well && job_partitions_is_queued(j)))
        return work;
    enqueue_job(c, j);
    return work + LETS_GO;
}

static size_t decide_item(struct control *c, struct job *j, struct depend_item *item,
                          const struct depend_outcome *o)
{
    struct depend *d = j->waits.on;
    bool now = depend_is_short(d);
    if (!depend_apply(d, item, o))
        return 1;
    depend_reindex_item(c->cluster, j, item, !now);
    if (now)
        job_touch(c->cluster, j);
    else
        schedule_record_update(c, j);
    if (j->state != PB__JOB_STATE__PENDING)
        return 1;
    int64_t at = control_wall(c);
    bool same = depend_at(d, at, j->waits.alone) == DEPEND_UNFULFILLED &&
                depend_is_partly_met(d, at, j->waits.alone) == j->waits.partly;
    if (same && !now) {
        if (item->from_at)
            control_schedule(c, j);
        return 1;
    }
    size_t work = LETS_GO + d->items.len / SHOWN; /* the job may be gone then */
    enqueue_job(c, j);
    return work;
}

static size_t notify_dependents(struct control *c, struct outcome_news *t, size_t most)
{
    uint32_t element = t->outcome.of_element ? t->outcome.element : DEPEND_WHOLE;
    size_t work = 0;
    struct job *j;
    struct depend_item *item;
    while (work < most &&
           (item = depend_next_item(c->cluster, t->outcome.job_id, element, &t->cursor, &j)))
        work += element == DEPEND_CORR ? notify_array_item(c, j, item, t)
                                       : decide_item(c, j, item, &t->outcome);
    return work;
}

static void write_scheduled_records(struct control *c, size_t most)
{
    size_t work = 0, done = 0;
    for (; done < c->news->late.len && work < most; done++) {
        const struct late *l = &c->news->late.data[done];
        if (l->due_ms > control_mono(c))
            break;
        struct job *j = cluster_find_job(c->cluster, l->job_id);
        if (!j || !j->waits.late) /* it was released, or has other items now */
            continue;
        work += 1 + j->waits.on->items.len / SHOWN;
        depend_show(c, j);
        job_touch(c->cluster, j);
        depend_written(c->cluster, j);
    }
    vec_drop(&c->news->late, done);
}

void depend_turn(struct control *c)
{
    size_t done = 0, work = 0;
    for (; done < c->news->outcomes.len && work < SHARE; done++) {
        struct outcome_news *t = &c->news->outcomes.data[done];
        work += notify_dependents(c, t, SHARE - work);
        if (work >= SHARE)
            break;
        idset_done(&t->elements);
        drop_pending_notice(c, t->outcome.job_id);
    }
    vec_drop(&c->news->outcomes, done);
    write_scheduled_records(c, SHARE - (work < SHARE ? work : SHARE));
}

int64_t depend_due_ms(const struct control *c)
{
    return c->news->outcomes.len ? control_mono(c)
           : c->news->late.len   ? c->news->late.data[0].due_ms
                                 : INT64_MAX;
}

/* For the last record of an array: whether dependents by number have not been notified of
 * everything. */
static bool is_owed_by_number(const struct control *c, const struct job *j)
{
    struct job *dependent;
    uint64_t cursor = 0;
    if (!j->array || j->array->records.count > 1)
        return false;
    while (depend_next_item(c->cluster, j->array->id, DEPEND_CORR, &cursor, &dependent))
        if (dependent->waits.late)
            return true;
    return false;
}

static bool has_pending_notice(const struct control *c, uint32_t job_id)
{
    uint32_t count;
    return idmap_get(&c->news->of, job_id, &count);
}

bool depend_is_telling(const struct control *c, uint32_t job_id)
{
    return has_pending_notice(c, job_id);
}

bool depend_needs(const struct control *c, const struct job *j)
{
    uint32_t array = j->array ? j->array->id : job_set_id(j);
    return has_pending_notice(c, j->id) || has_pending_notice(c, array) ||
           depend_is_owed(c->cluster, j->id) || depend_is_owed(c->cluster, array) ||
           is_owed_by_number(c, j);
}

void depend_forget_told(struct control *c)
{
    vec_foreach (&c->news->outcomes, t)
        idset_done(&t->elements);
    vec_done(&c->news->outcomes);
    vec_done(&c->news->late);
    idmap_done(&c->news->of);
}
