/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/job_partitions.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"

void job_partitions_set(struct job *j, struct part *const *parts, size_t count)
{
    job_partitions_end(j);
    j->part = parts[0];
    if (count < 2)
        return;
    struct job_partitions *s = mem_alloc(sizeof(*s) + count * sizeof(s->of[0]));
    *s = (struct job_partitions){.count = (uint32_t)count};
    for (size_t i = 0; i < count; i++)
        s->of[i] = (struct part_request){.job = j,
                                         .part = parts[i],
                                         .queued.of_request = true,
                                         .priority = j->priority,
                                         .limit_sec = j->limit_sec};
    j->partitions = s;
}

bool job_partitions_resolve(const struct cluster *c, struct job *j, const char *names)
{
    VEC(struct part *) parts = {0};
    while (*names) {
        size_t len = strcspn(names, ",");
        char *name = mem_strndup(names, len);
        struct part *p = len ? cluster_find_part(c, name) : NULL;
        bool known = false;
        vec_foreach (&parts, at)
            known = known || *at == p;
        if (p && !known)
            vec_push(&parts, p);
        free(name);
        names += len + (names[len] == ',');
    }
    bool any = parts.len;
    if (any)
        job_partitions_set(j, parts.data, parts.len);
    vec_done(&parts);
    return any;
}

void job_partitions_select(struct job *j, uint32_t at)
{
    struct job_partitions *s = j->partitions;
    if (!s || s->at == at)
        return;
    struct part_request *old = &s->of[s->at], *new = &s->of[at];
    old->want = j->want;
    old->priority = j->priority;
    old->limit_sec = j->limit_sec;
    s->at = at;
    j->part = new->part;
    j->want = new->want;
    j->priority = new->priority;
    j->limit_sec = new->limit_sec;
    new->want = (struct request){0};
}

void job_partitions_select_first(struct job *j)
{
    job_partitions_select(j, 0);
}

bool job_partitions_select_part(struct job *j, const struct part *p)
{
    for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
        if (j->partitions->of[i].part == p)
            job_partitions_select(j, i);
    return j->part == p;
}

const struct job *job_partitions_view(const struct job *j, const struct part *p,
                                      struct job_copy *room)
{
    const struct job_partitions *s = j->partitions;
    if (j->part == p)
        return j;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct part_request *f = &s->of[i];
        if (f->part != p)
            continue;
        room->job = *j;
        room->job.part = f->part;
        room->job.want = f->want;
        room->job.priority = f->priority;
        room->job.limit_sec = f->limit_sec;
        return &room->job;
    }
    return NULL;
}

const struct order_link *job_partitions_link(const struct job *j)
{
    const struct job_partitions *s = j->partitions;
    for (uint32_t i = 0; s && i < s->count; i++)
        if (s->of[i].part == j->part)
            return &s->of[i].queued;
    return &j->queued;
}

void job_partitions_free(struct job *j)
{
    struct job_partitions *s = j->partitions;
    for (uint32_t i = 0; s && i < s->count; i++)
        if (i != s->at)
            request_done(&s->of[i].want);
    free(s);
    j->partitions = NULL;
}

void job_partitions_end(struct job *j)
{
    job_partitions_unqueue(j);
    job_partitions_free(j);
}

void job_partitions_end_unstarted(struct job *j)
{
    struct str names = STR_INIT;
    if (!j->partitions)
        return;
    job_partitions_format(j, &names);
    job_partitions_select_first(j);
    job_partitions_end(j);
    free(j->part_name);
    j->part_name = str_take(&names);
    j->part = NULL;
}

static uint32_t index_of_part(const struct job_partitions *s, const struct part *p)
{
    uint32_t i = 0;
    while (i < s->count && s->of[i].part != p)
        i++;
    return i;
}

bool job_partitions_drop(struct job *j, const struct part *p)
{
    struct job_partitions *s = j->partitions;
    if (!s || index_of_part(s, p) == s->count)
        return j->part != p;
    VEC(struct part *) queued = {0}; /* links do not move while they are in a queue */
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].queued.in && s->of[i].part != p)
            vec_push(&queued, s->of[i].part);
    job_partitions_unqueue(j);
    uint32_t gone = index_of_part(s, p), last = s->count - 1;
    job_partitions_select(j, gone == 0 ? 1 : 0);
    request_done(&s->of[gone].want);
    memmove(&s->of[gone], &s->of[gone + 1], (last - gone) * sizeof(s->of[0]));
    s->at = 0;
    s->count = last;
    if (last == 1)
        job_partitions_end(j);
    vec_foreach (&queued, part)
        if (job_partitions_select_part(j, *part))
            job_partitions_queue(j);
    vec_done(&queued);
    job_partitions_select_first(j);
    return true;
}

/* --- queues ------------------------------------------------------------------------------------
 */

struct part_request *job_partitions_request_of(struct order_link *link)
{
    return link && link->of_request ? order_item(link, struct part_request, queued) : NULL;
}

struct job *job_partitions_job_of(struct order_link *link)
{
    if (link && link->of_request)
        return order_item(link, struct part_request, queued)->job;
    return order_item(link, struct job, queued);
}

uint32_t job_partitions_count(const struct job *j)
{
    return j->partitions ? j->partitions->count : 1;
}

bool job_partitions_has(const struct job *j, const struct part *p)
{
    for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
        if (j->partitions->of[i].part == p)
            return true;
    return j->part == p;
}

bool job_partitions_is_queued(const struct job *j)
{
    for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
        if (j->partitions->of[i].queued.in)
            return true;
    return j->queued.in;
}

/* Jobs that ask for a reservation are before all others. */
static int64_t make_queue_key(const struct job *j, uint32_t priority)
{
    bool ranked = j->set && j->set->rule != CONF_RANK_OWN;
    bool in_resv = ranked ? j->set->rank_in_resv : j->resv_asked;
    priority = ranked ? j->set->rank : priority;
    return -(int64_t)priority - (in_resv ? INT64_C(1) << 32 : 0);
}

bool job_partitions_keys_hold(const struct job *j)
{
    const struct job_partitions *s = j->partitions;
    for (uint32_t i = 0; s && i < s->count; i++) {
        uint32_t priority = i == s->at ? j->priority : s->of[i].priority;
        if (s->of[i].queued.in && s->of[i].queued.key != make_queue_key(j, priority))
            return false;
    }
    return (!s || (!j->queued.in && s->at == 0)) &&
           (!j->queued.in || j->queued.key == make_queue_key(j, j->priority));
}

void job_partitions_unqueue(struct job *j)
{
    for (uint32_t i = 0; j->partitions && i < j->partitions->count; i++)
        order_remove(&j->partitions->of[i].part->queue, &j->partitions->of[i].queued);
    if (j->queued.in)
        order_remove(&j->part->queue, &j->queued);
}

int64_t job_partitions_queue_key(const struct job *j)
{
    return make_queue_key(j, j->priority);
}

void job_partitions_queue(struct job *j)
{
    struct order_link *link =
        j->partitions ? &j->partitions->of[j->partitions->at].queued : &j->queued;
    order_insert(&j->part->queue, link, job_partitions_queue_key(j), j->id);
}

static void move_link(const struct job *j, struct order *queue, struct order_link *link,
                      uint32_t priority)
{
    if (link->in && link->key != make_queue_key(j, priority))
        order_move(queue, link, make_queue_key(j, priority), j->id);
}

void job_partitions_move(struct job *j)
{
    struct job_partitions *s = j->partitions;
    for (uint32_t i = 0; s && i < s->count; i++)
        move_link(j, &s->of[i].part->queue, &s->of[i].queued,
                  i == s->at ? j->priority : s->of[i].priority);
    if (j->part)
        move_link(j, &j->part->queue, &j->queued, j->priority);
}

void job_partitions_format(const struct job *j, struct str *out)
{
    const struct job_partitions *s = j->partitions;
    for (uint32_t i = 0; s && i < s->count; i++)
        str_printf(out, "%s%s", i ? "," : "", s->of[i].part->conf.name);
}
