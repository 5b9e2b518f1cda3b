/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/jobs.h"

#include "cluster/cluster.h"

static void job_free(struct cluster *c, struct job *j)
{
    attempt_drop(c, j);
    vec_done(&j->end_calls);
    idset_done(&j->tasks);
    request_done(&j->want);
    job_partitions_free(j);
    free(j->newer_reason);
    free(j->reason_detail);
    free(j->part_name);
    job_forget_past(j);
    vec_done(&j->resvs);
    depend_free(j->waits.on);
    free(j->waits.kept);
    free(j->waits.shown);
    free(j->waits.name);
    free(j->of_array); /* NULL, or the cluster is being freed */
    str_free(j->alloc_step);
    burst_free(j->burst);
    job_packed_done(&j->spec);
    job_packed_done(&j->live);
    if (j->newer) {
        str_done(&j->newer->record);
        str_done(&j->newer->live);
        free(j->newer);
    }
    free(j);
}

/* Returns the index of the job with this id, or where to insert it: ids normally rise, so the end
 * is tried first. */
static size_t find_position(const struct cluster *c, uint32_t id)
{
    size_t count = c->jobs.len;
    if (count && c->jobs.data[count - 1]->id < id)
        return count;
    return vec_lower(&c->jobs, j, (*j)->id < id);
}

struct job *cluster_find_job(const struct cluster *c, uint32_t id)
{
    size_t at = find_position(c, id);
    return at < c->jobs.len && c->jobs.data[at]->id == id ? c->jobs.data[at] : NULL;
}

struct job *cluster_add_job(struct cluster *c, uint32_t id)
{
    size_t at = find_position(c, id);
    if (at < c->jobs.len && c->jobs.data[at]->id == id)
        return NULL;
    struct job *j = mem_new(struct job);
    j->id = id;
    j->state = PB__JOB_STATE__PENDING;
    j->limit_sec = INT64_MAX;
    c->pending++;
    vec_push(&c->jobs, j);
    for (size_t i = c->jobs.len - 1; i > at; i--)
        c->jobs.data[i] = c->jobs.data[i - 1];
    c->jobs.data[at] = j;
    return j;
}

void cluster_remove_job(struct cluster *c, struct job *j)
{
    size_t at = find_position(c, j->id);
    uint32_t array_id = j->array ? j->array->id : 0;
    holdings_drop(c, j);
    alloc_clear(c, j);
    array_leave(c, j);
    job_set_leave(c, j);
    struct array *rest = array_id ? array_find(c, array_id) : NULL;
    if (rest && rest->records.count) /* its script counts with another record */
        holdings_count(c, array_first(rest));
    job_partitions_end(j);
    depend_leave(c, j);
    order_remove(&c->due, &j->due);
    resv_unbind(j);
    resv_leave(c, j);
    if (j->request_key)
        idmap_remove(&c->requests, j->request_key);
    if (j->request_key && rest && rest->records.count) { /* a repeated request must find the rest */
        struct job *first = array_first(rest);
        first->request_key = j->request_key;
        idmap_set(&c->requests, first->request_key, first->id);
    }
    job_load_state(c, j, PB__JOB_STATE__CANCELLED); /* removes it from all counts */
    vec_remove(&c->jobs, at);
    job_free(c, j);
    c->stamp++;
}

void job_free_all(struct cluster *c)
{
    vec_foreach (&c->jobs, j)
        job_free(c, *j);
}
