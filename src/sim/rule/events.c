/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The event log: a consumer that never acknowledges has all transitions recorded. At the end the
 * records must be a history without gaps: each event of a job starts in the state in which the
 * event before ended, and the last one leads to the state in the job's record. The archive must
 * have one row for each attempt that has ended.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"
#include "cluster/job/transition.h"
#include "proto/event.pb-c.h"
#include "sim/rule/rule.h"

struct history { /* of a job */
    uint32_t job_id;
    int state;
    uint32_t attempt;
    UT_hash_handle hh;
};

void sim_events_follow(struct sim *s)
{
    const struct caller root = {.is_operator = true, .is_admin = true, .user_name = "root"};
    Pb__EventRequest request = PB__EVENT_REQUEST__INIT;
    if (!sim_store_find(s, RECORD_META, 0, NULL)) /* the cluster has never been up */
        control_events(s->c->control, SIM_NO_CALL, &root, &request);
}

static void follow_job(struct sim *s, struct history **all, const Pb__Event *e)
{
    const Pb__JobTransition *j = e->job;
    struct history *h;
    HASH_FIND(hh, *all, &j->job_id, sizeof j->job_id, h);
    if (h && (h->state != (int)j->from || j->attempt < h->attempt))
        sim_break(s, "events that do not follow from each other",
                  "event %llu: job %u attempt %u from state %d, it was in state %d attempt %u",
                  (unsigned long long)e->number, j->job_id, j->attempt, (int)j->from, h->state,
                  h->attempt);
    /* An array element starts as a part of a record that it shares with other elements. */
    if (!h && !j->has_array_id && j->kind != TRANSITION_SUBMITTED)
        sim_break(s, "an event of a job that was never submitted", "event %llu: job %u",
                  (unsigned long long)e->number, j->job_id);
    if (!h) {
        h = mem_new(struct history);
        h->job_id = j->job_id;
        HASH_ADD(hh, *all, job_id, sizeof h->job_id, h);
    }
    h->state = (int)j->to;
    h->attempt = j->attempt;
}

static void check_states(struct sim *s, const struct history *all)
{
    for (const struct history *h = all; h; h = h->hh.next) {
        const struct sim_watch *w = sim_watch_find(s, h->job_id);
        if (w && w->view.there && w->view.state != h->state)
            sim_break(s, "the last event of a job is not its state", "job %u: event %d, record %d",
                      h->job_id, h->state, w->view.state);
    }
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        const struct history *h;
        HASH_FIND(hh, all, &w->job_id, sizeof w->job_id, h);
        if (!h && w->view.there && !w->view.array_id)
            sim_break(s, "a job without events", "job %u", w->job_id);
    }
}

/* --- the archive -------------------------------------------------------------------------------
 */

struct archived {
    struct {
        uint32_t job_id, attempt;
    } key;
    UT_hash_handle hh;
};

static void add_archived(struct sim *s, struct archived **all, const Pb__JobLive *live)
{
    struct archived *row = mem_new(struct archived), *found;
    row->key.job_id = live->job_id;
    row->key.attempt = live->restarts;
    HASH_FIND(hh, *all, &row->key, sizeof row->key, found);
    if (found || live->completing)
        sim_break(s, "an attempt is in the archive twice, or before its end", "job %u attempt %u",
                  live->job_id, live->restarts);
    HASH_ADD(hh, *all, key, sizeof row->key, row);
}

static void check_attempts(struct sim *s, const struct archived *all)
{
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        const struct sim_view *v = &w->view;
        const struct archived *row;
        struct archived wanted = {.key = {w->job_id, v->restarts}};
        bool is_over = v->state > PB__JOB_STATE__SUSPENDED && !v->completing && !v->requeue_after;
        HASH_FIND(hh, all, &wanted.key, sizeof wanted.key, row);
        if (v->there && is_over && !row)
            sim_break(s, "an ended attempt is not in the archive", "job %u attempt %u", w->job_id,
                      v->restarts);
    }
}

/* A full disk leaves gaps, and rows may be missing then. */
static void check_archive(struct sim *s)
{
    struct archived *all = NULL, *row, *next;
    uint64_t last = 0;
    bool is_whole = true;
    for (struct sim_stored *at = s->store; at; at = at->hh.next) {
        const struct sim_record *r = &at->record;
        if (r->kind != RECORD_ATTEMPT)
            continue;
        Pb__Event *e = pb_unpack(&pb__event__descriptor, r->data, r->len);
        is_whole = is_whole && e && e->number == last + 1;
        last = e ? e->number : last + 1;
        if (e && e->attempt)
            add_archived(s, &all, e->attempt->live);
        pb__event__free_unpacked(e, NULL);
    }
    if (is_whole)
        check_attempts(s, all);
    HASH_ITER (hh, all, row, next) {
        HASH_DEL(all, row);
        free(row);
    }
}

void sim_events_check(struct sim *s)
{
    struct history *all = NULL, *h, *next;
    uint64_t last = 0;
    for (struct sim_stored *at = s->store; at; at = at->hh.next) {
        const struct sim_record *r = &at->record;
        if (r->kind != RECORD_EVENT)
            continue;
        Pb__Event *e = pb_unpack(&pb__event__descriptor, r->data, r->len);
        if (!e || e->number != last + 1)
            sim_break(s, "an event is missing", "after number %llu", (unsigned long long)last);
        last = e ? e->number : last + 1;
        if (e && e->job)
            follow_job(s, &all, e);
        pb__event__free_unpacked(e, NULL);
    }
    check_states(s, all);
    check_archive(s);
    HASH_ITER (hh, all, h, next) {
        HASH_DEL(all, h);
        free(h);
    }
}
