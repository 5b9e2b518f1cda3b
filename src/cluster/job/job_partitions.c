/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/job/several.h"

#include <stdlib.h>
#include <string.h>

#include "cluster/cluster.h"

void several_set(struct job *j, struct part *const *parts, size_t count)
{
    several_end(j);
    j->part = parts[0];
    if (count < 2)
        return;
    struct several *s = mem_alloc(sizeof(*s) + count * sizeof(s->of[0]));
    *s = (struct several){.count = (uint32_t)count};
    for (size_t i = 0; i < count; i++)
        s->of[i] = (struct face){.job = j,
                                 .part = parts[i],
                                 .queued.of_face = true,
                                 .priority = j->priority,
                                 .limit_sec = j->limit_sec};
    j->several = s;
}

bool several_resolve(const struct cluster *c, struct job *j, const char *names)
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
        several_set(j, parts.data, parts.len);
    vec_done(&parts);
    return any;
}

void several_enter(struct job *j, uint32_t at)
{
    struct several *s = j->several;
    if (!s || s->at == at)
        return;
    struct face *old = &s->of[s->at], *new = &s->of[at];
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

void several_leave(struct job *j)
{
    several_enter(j, 0);
}

bool several_enter_part(struct job *j, const struct part *p)
{
    for (uint32_t i = 0; j->several && i < j->several->count; i++)
        if (j->several->of[i].part == p)
            several_enter(j, i);
    return j->part == p;
}

const struct job *several_view(const struct job *j, const struct part *p, struct job_copy *room)
{
    const struct several *s = j->several;
    if (j->part == p)
        return j;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const struct face *f = &s->of[i];
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

const struct order_link *several_link(const struct job *j)
{
    const struct several *s = j->several;
    for (uint32_t i = 0; s && i < s->count; i++)
        if (s->of[i].part == j->part)
            return &s->of[i].queued;
    return &j->queued;
}

void several_free(struct job *j)
{
    struct several *s = j->several;
    for (uint32_t i = 0; s && i < s->count; i++)
        if (i != s->at)
            request_done(&s->of[i].want);
    free(s);
    j->several = NULL;
}

void several_end(struct job *j)
{
    several_unqueue(j);
    several_free(j);
}

void several_name(struct job *j)
{
    struct str names = STR_INIT;
    if (!j->several)
        return;
    several_format(j, &names);
    several_leave(j);
    several_end(j);
    free(j->part_name);
    j->part_name = str_take(&names);
    j->part = NULL;
}

static uint32_t place_of(const struct several *s, const struct part *p)
{
    uint32_t i = 0;
    while (i < s->count && s->of[i].part != p)
        i++;
    return i;
}

bool several_drop(struct job *j, const struct part *p)
{
    struct several *s = j->several;
    if (!s || place_of(s, p) == s->count)
        return j->part != p;
    VEC(struct part *) queued = {0}; /* links do not move while they are in a queue */
    for (uint32_t i = 0; i < s->count; i++)
        if (s->of[i].queued.in && s->of[i].part != p)
            vec_push(&queued, s->of[i].part);
    several_unqueue(j);
    uint32_t gone = place_of(s, p), last = s->count - 1;
    several_enter(j, gone == 0 ? 1 : 0);
    request_done(&s->of[gone].want);
    memmove(&s->of[gone], &s->of[gone + 1], (last - gone) * sizeof(s->of[0]));
    s->at = 0;
    s->count = last;
    if (last == 1)
        several_end(j);
    vec_foreach (&queued, part)
        if (several_enter_part(j, *part))
            several_queue(j);
    vec_done(&queued);
    several_leave(j);
    return true;
}

/* --- queues ------------------------------------------------------------------------------------
 */

struct face *several_face_of(struct order_link *link)
{
    return link && link->of_face ? order_item(link, struct face, queued) : NULL;
}

struct job *several_job_of(struct order_link *link)
{
    if (link && link->of_face)
        return order_item(link, struct face, queued)->job;
    return order_item(link, struct job, queued);
}

uint32_t several_count(const struct job *j)
{
    return j->several ? j->several->count : 1;
}

bool several_has(const struct job *j, const struct part *p)
{
    for (uint32_t i = 0; j->several && i < j->several->count; i++)
        if (j->several->of[i].part == p)
            return true;
    return j->part == p;
}

bool several_is_queued(const struct job *j)
{
    for (uint32_t i = 0; j->several && i < j->several->count; i++)
        if (j->several->of[i].queued.in)
            return true;
    return j->queued.in;
}

/* Those that ask for a reservation are before all that do not. */
static int64_t key_of(const struct job *j, uint32_t priority)
{
    bool ranked = j->set && j->set->has_rank;
    bool in_resv = ranked ? j->set->rank_in_resv : j->resv_asked;
    priority = ranked ? j->set->rank : priority;
    return -(int64_t)priority - (in_resv ? INT64_C(1) << 32 : 0);
}

bool several_keys_hold(const struct job *j)
{
    const struct several *s = j->several;
    for (uint32_t i = 0; s && i < s->count; i++) {
        uint32_t priority = i == s->at ? j->priority : s->of[i].priority;
        if (s->of[i].queued.in && s->of[i].queued.key != key_of(j, priority))
            return false;
    }
    return (!s || (!j->queued.in && s->at == 0)) &&
           (!j->queued.in || j->queued.key == key_of(j, j->priority));
}

void several_unqueue(struct job *j)
{
    for (uint32_t i = 0; j->several && i < j->several->count; i++)
        order_remove(&j->several->of[i].part->queue, &j->several->of[i].queued);
    if (j->queued.in)
        order_remove(&j->part->queue, &j->queued);
}

int64_t several_key(const struct job *j)
{
    return key_of(j, j->priority);
}

void several_queue(struct job *j)
{
    struct order_link *link = j->several ? &j->several->of[j->several->at].queued : &j->queued;
    order_insert(&j->part->queue, link, several_key(j), j->id);
}

static void move_link(const struct job *j, struct order *queue, struct order_link *link,
                      uint32_t priority)
{
    if (link->in && link->key != key_of(j, priority))
        order_move(queue, link, key_of(j, priority), j->id);
}

void several_move(struct job *j)
{
    struct several *s = j->several;
    for (uint32_t i = 0; s && i < s->count; i++)
        move_link(j, &s->of[i].part->queue, &s->of[i].queued,
                  i == s->at ? j->priority : s->of[i].priority);
    if (j->part)
        move_link(j, &j->part->queue, &j->queued, j->priority);
}

void several_format(const struct job *j, struct str *out)
{
    const struct several *s = j->several;
    for (uint32_t i = 0; s && i < s->count; i++)
        str_printf(out, "%s%s", i ? "," : "", s->of[i].part->conf.name);
}
