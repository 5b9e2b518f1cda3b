/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Job arrays: each element runs as one job, whatever records it was in; no element is lost, and no
 * more of them run than the array's limit allows. Elements are 0 to 63.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "sim/rule/rule.h"

void sim_array_check_start(struct sim *s, struct sim_key key, const struct sim_view *v)
{
    struct sim_key element = {v->array_id, v->task};
    struct sim_element *known;
    if (!v->there || !v->array_id)
        return;
    if (v->tasks)
        sim_break(s, "several elements of an array were started as one job", "job %u", key.job_id);
    HASH_FIND(hh, s->elements, &element, sizeof element, known);
    if (known && known->job_id != key.job_id)
        sim_break(s, "an element of an array was started as two jobs", "%u_%u: job %u and job %u",
                  v->array_id, v->task, known->job_id, key.job_id);
    if (known)
        return;
    known = mem_new(struct sim_element);
    known->key = element;
    known->job_id = key.job_id;
    HASH_ADD(hh, s->elements, key, sizeof known->key, known);
}

void sim_array_check_given(struct sim *s, const struct sim_watch *w)
{
    unsigned running = 0;
    if (!w->view.array_id || !w->view.throttle)
        return;
    for (const struct sim_watch *o = s->watches; o; o = o->hh.next)
        running += o->view.there && o->view.array_id == w->view.array_id &&
                   o->view.state == PB__JOB_STATE__RUNNING;
    if (running > w->view.throttle)
        sim_break(s, "more elements of an array run than may", "job %u: %u of %u", w->view.array_id,
                  running, w->view.throttle);
}

/* Each requested element is in exactly one record, and that record is final. */
void sim_array_check_end(struct sim *s, unsigned client)
{
    const struct sim_client *c = &s->clients.data[client];
    uint64_t all = c->item->array < 64 ? (UINT64_C(1) << c->item->array) - 1 : UINT64_MAX, seen = 0;
    bool purged = false;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        if (w->client != client || !w->view.there) {
            purged = purged || (w->client == client && w->purged);
            continue;
        }
        if (w->view.array_id != c->job_id || seen & w->view.elements)
            sim_break(s, "an element of an array is in two records", "job %u of %u", w->job_id,
                      c->job_id);
        seen |= w->view.elements;
        s->result->ended++;
        s->result->restarts += w->view.restarts;
        if (!sim_view_is_final(w->view.state) || w->view.completing)
            sim_break(s, "a job never ended", "job %u of array %u is in state %d", w->job_id,
                      c->job_id, w->view.state);
    }
    if (seen != all && !purged && !c->cancels_asked) /* cancelled elements may leave no record */
        sim_break(s, "an acknowledged element of an array is lost", "job %u: %llx of %llx",
                  c->job_id, (unsigned long long)seen, (unsigned long long)all);
}

void sim_array_done(struct sim *s)
{
    struct sim_element *e, *next;
    HASH_ITER (hh, s->elements, e, next) {
        HASH_DEL(s->elements, e);
        free(e);
    }
}
