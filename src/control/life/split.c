/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Elements of job arrays that get a record of their own: an element that starts, and elements that
 * a request names. Also the resolution of requests to records, and the array as a whole.
 */
#include <string.h>

#include "base/pb.h"
#include "control/core/aside.h"
#include "control/core/named.h"
#include "control/core/reply.h"
#include "control/event/record.h"
#include "control/internal.h"
#include "control/life/burst.h"
#include "control/life/enqueue.h"
#include "control/life/set.h"
#include "control/life/split.h"

#define LOOKED_UP 10000 /* maximum look-ups of elements in group records */

struct job *split_first(struct control *c, struct job *j)
{
    struct err err = {0};
    if (!j->tasks.count)
        return j;
    struct idset first = {0};
    idset_add(&first, depend_first_ready(j));
    struct job *e = array_split(c->cluster, j, &first, record_next_job_id(c), &err);
    if (e)
        burst_join_split(c, j, e);
    else
        control_log(c, LOG_LVL_ERROR, "job %u: its element %u cannot be started: %s", j->id,
                    idset_first(&first), err.text);
    idset_done(&first);
    return e;
}

/* Adds all components of the set for the id of the leader, or with 'whole' of any component;
 * otherwise only the job. */
static void choose_components(const struct job *j, bool whole, struct split_list *out)
{
    bool all = whole || job_set_is_leader(j);
    for (uint32_t i = 0; all && i < job_set_count(j); i++)
        if (job_set_component(j, i))
            vec_push(out, ((struct split_part){job_set_component(j, i)->id, 0}));
    if (!all)
        vec_push(out, ((struct split_part){j->id, 0}));
}

/* Adds the named elements of one record: the whole record, or a part that is split off. */
static void choose_of_record(struct control *c, struct job *j, struct idset *named,
                             struct split_list *out)
{
    struct idset both = {0};
    struct err err = {0};
    if (!j->tasks.count) {
        if (idset_has(named, j->task))
            choose_components(j, true, out);
        return;
    }
    idset_copy(&both, &j->tasks);
    idset_intersect(&both, named);
    if (both.count == j->tasks.count) {
        vec_push(out, ((struct split_part){j->id, 0}));
    } else if (both.count) {
        struct job *e = array_split(c->cluster, j, &both, record_next_job_id(c), &err);
        if (e) {
            burst_join_split(c, j, e);
            vec_push(out, ((struct split_part){e->id, j->id}));
        } else {
            control_log(c, LOG_LVL_ERROR, "job %u: %s", j->id, err.text);
        }
    }
    idset_done(&both);
}

/* A few elements are looked up, each in the group records; for more elements, every record is
 * searched. */
static void choose_named(struct control *c, struct array *a, struct idset *named,
                         struct split_list *out)
{
    VEC(uint32_t) ids = {0};
    if ((uint64_t)named->count * (a->groups.len + 1) <= a->records.count + LOOKED_UP) {
        idset_foreach(named, i)
        {
            const struct job *j = array_element(c->cluster, a, (uint32_t)i);
            if (j && (!ids.len || vec_last(&ids) != j->id))
                vec_push(&ids, j->id);
        }
    } else {
        for (const struct job *j = array_first(a); j; j = array_after(j))
            vec_push(&ids, j->id);
    }
    vec_foreach (&ids, id)
        choose_of_record(c, cluster_find_job(c->cluster, *id), named, out);
    vec_done(&ids);
}

static int choose_elements(struct control *c, struct array *a, const char *tasks,
                           struct split_list *out, struct err *err)
{
    struct idset named = {0};
    struct err why = {0};
    int rc = idset_parse(tasks, ARRAY_SIZE_MAX, &named, &why);
    if (rc == 0)
        choose_named(c, a, &named, out);
    else
        err_set(err, -ERR_NO_JOB, "%s: %s", err_text(ERR_NO_JOB), why.text);
    idset_done(&named);
    return rc;
}

static int find_targets(struct control *c, const Pb__StepId *id, bool whole, struct split_list *out,
                        struct err *err)
{
    struct array *a = array_find(c->cluster, id->job_id);
    struct job *j = cluster_find_job(c->cluster, id->job_id);
    int rc = 0;
    if (id->has_set_offset) {
        rc = named_component(c, id, &j, err);
        if (rc == 0)
            vec_push(out, ((struct split_part){j->id, 0}));
    } else if (!id->array_tasks && a) {
        for (j = array_first(a); j; j = array_after(j))
            choose_components(j, true, out);
    } else if (!id->array_tasks && named_lost_leader(c, id)) {
        choose_components(named_any(c, id), true, out);
    } else if (!id->array_tasks && j) {
        choose_components(j, whole, out);
    } else if (a) {
        rc = choose_elements(c, a, id->array_tasks, out, err);
    }
    if (rc == 0 && !out->len)
        rc = err_set(err, -ERR_NO_JOB, "%s", err_text(ERR_NO_JOB));
    return rc ? -ERR_NO_JOB : 0;
}

int split_targets(struct control *c, const Pb__StepId *id, struct split_list *out, struct err *err)
{
    return find_targets(c, id, false, out, err);
}

int split_whole_targets(struct control *c, const Pb__StepId *id, struct split_list *out,
                        struct err *err)
{
    return find_targets(c, id, set_is_meant_whole(c), out, err);
}

void split_settle(struct control *c, const struct split_part *part, bool done)
{
    struct job *j = cluster_find_job(c->cluster, part->job_id),
               *from = part->from ? cluster_find_job(c->cluster, part->from) : NULL;
    if (!j || !from)
        return;
    if (!done)
        array_merge(c->cluster, from, j);
    else if (j->state == PB__JOB_STATE__PENDING && !job_partitions_is_queued(j))
        enqueue_job(c, j);
}

/* --- the array as a whole -----------------------------------------------------------------------
 */

void split_answer_waiters(struct control *c, struct array *a)
{
    Pb__JobEnd end = PB__JOB_END__INIT;
    if (!a->end_calls.len || !array_is_over(a))
        return;
    for (const struct job *j = array_first(a); j; j = array_after(j))
        if (set_stages_out(j))
            return;
    end.job_id = a->id;
    end.state = a->ended_badly ? PB__JOB_STATE__FAILED : PB__JOB_STATE__COMPLETED;
    SET(&end, exit_status, array_worst_exit(a));
    vec_foreach (&a->end_calls, call) {
        control_release(c, *call);
        c->env->reply(c->env->ctx, *call, &end.base);
    }
    vec_clear(&a->end_calls);
}

void split_await(struct control *c, struct array *a, uint64_t call)
{
    vec_push(&a->end_calls, call);
    idmap_set(&c->calls, call, a->id);
    split_answer_waiters(c, a);
}

void split_call_gone(struct control *c, uint32_t id, uint64_t call)
{
    struct array *a = array_find(c->cluster, id);
    for (size_t i = a ? a->end_calls.len : 0; i-- > 0;)
        if (a->end_calls.data[i] == call)
            vec_remove(&a->end_calls, i);
}

size_t split_count_set(struct control *c, const struct split_list *list, size_t first)
{
    const struct job *j = cluster_find_job(c->cluster, list->data[first].job_id);
    size_t count = 1;
    while (j->set && first + count < list->len &&
           cluster_find_job(c->cluster, list->data[first + count].job_id)->set == j->set)
        count++;
    return count;
}

void split_show_throttle(struct control *c, struct array *a)
{
    for (struct job *first = array_first(a); first; first = array_after(first))
        for (uint32_t i = 0; i < job_set_count(first); i++) {
            struct job *j = job_set_component(first, i);
            if (!j || job_is_final(j))
                continue;
            j->stamp = ++c->cluster->stamp;
            if (!j->dirty)
                job_pack_live(c->cluster, j);
        }
    c->plan_wanted = true;
}

uint32_t split_payload_id(const struct job *j)
{
    return j->array ? j->array->id : j->id;
}

/* --- records ------------------------------------------------------------------------------------
 */

void split_write(struct control *c)
{
    _cleanup_str_ struct str packed = STR_INIT;
    vec_foreach (&c->cluster->dirty_arrays, id) {
        struct array *a = array_find(c->cluster, *id);
        if (!a || !a->changed)
            continue;
        a->changed = false;
        a->stored = true;
        str_clear(&packed);
        array_pack(a, &packed);
        c->env->put(c->env->ctx, RECORD_ARRAY, a->id, NULL, packed.data, packed.len);
    }
    vec_clear(&c->cluster->dirty_arrays);
}

void split_purge(struct control *c, struct job *j)
{
    struct array *a = j->array;
    if (a && a->records.count > 1)
        return;
    if (a && a->stored)
        c->env->del(c->env->ctx, RECORD_ARRAY, a->id, NULL);
    if ((j->batch || j->payload_bytes) && !(a && aside_knows(c, a->id)))
        c->env->del(c->env->ctx, RECORD_PAYLOAD, split_payload_id(j), NULL);
}

void split_start(struct control *c)
{
    for (uint32_t id; (id = array_drop_empty(c->cluster));)
        if (!aside_knows(c, id))
            c->env->del(c->env->ctx, RECORD_ARRAY, id, NULL);
    array_note_missing(c->cluster);
}
