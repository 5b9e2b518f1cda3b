/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks every record as control/ writes it: whether a job's record may follow the job's last one,
 * and that nothing starts and running jobs end at the time of an announced shutdown. After a crash
 * the records on disk are the reference.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/rule/rule.h"

#define LATE_MS 2000

static void check_announced_start(struct sim *s, uint32_t job_id)
{
    if (s->announced.is == SIM_ANNOUNCED)
        sim_break(s, "a job was started under an announced shutdown", "job %u", job_id);
}

static void check_announced_end(struct sim *s, uint32_t job_id)
{
    if (s->announced.is == SIM_ANNOUNCED && s->announced.timed &&
        s->now_ms < s->announced.due_ms - SIM_ANNOUNCE_EARLY_MS)
        sim_break(s, "an announced shutdown came early", "job %u was ended %lld ms before it",
                  job_id, (long long)(s->announced.due_ms - s->now_ms));
    if (s->announced.is == SIM_NOT_ANNOUNCED)
        sim_break(s, "a job was ended for a shutdown that is not announced", "job %u", job_id);
}

void sim_announce_check_late(struct sim *s)
{
    if (s->announced.is != SIM_ANNOUNCED || !s->announced.timed ||
        s->now_ms < s->announced.due_ms + LATE_MS)
        return;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
        if (w->view.there && w->view.state == PB__JOB_STATE__RUNNING)
            sim_break(s, "an announced shutdown is not kept", "job %u runs %lld ms later",
                      w->job_id, (long long)(s->now_ms - s->announced.due_ms));
}

static unsigned client_of(const struct sim *s, const struct sim_view *v)
{
    long client = v->name[0] == 'j' ? sim_client_find(s, strtoll(v->name + 1, NULL, 10)) : -1;
    return client < 0 ? UINT32_MAX : (unsigned)client;
}

static struct sim_watch *add_watch(struct sim *s, uint32_t job_id, const struct sim_view *v)
{
    struct sim_watch *w = mem_new(struct sim_watch);
    w->job_id = job_id;
    w->client = client_of(s, v);
    w->first_ms = s->now_ms;
    HASH_ADD(hh, s->watches, job_id, sizeof w->job_id, w);
    return w;
}

#define RECORD_SEC 5 /* longest delay until a turn's record is written */

static int64_t requeue_delay(const struct sim *s)
{
    static const char key[] = "SchedulerParameters=requeue_delay=";
    vec_foreach (&s->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && strncmp(item->text, key, sizeof key - 1) == 0)
            return strtoll(item->text + sizeof key - 1, NULL, 10);
    return 0;
}

static void check_requeue(struct sim *s, const struct sim_watch *w, const struct sim_view *before)
{
    const struct sim_view *now = &w->view;
    bool begin_given =
        w->client == UINT32_MAX || s->clients.data[w->client].claims[SIM_CLAIM_BEGIN].is_in_force;
    int64_t delay = requeue_delay(s);
    if (delay && now->restarts > before->restarts && !begin_given &&
        now->begin_at < sim_wall_ms(s) / 1000 + delay - RECORD_SEC)
        sim_break(s, "a requeued job may start before requeue_delay", "job %u", w->job_id);
}

static void check_step(struct sim *s, const struct sim_watch *w, const struct sim_view *before)
{
    check_requeue(s, w, before);
    const struct sim_view *now = &w->view;
    if (now->restarts < before->restarts)
        sim_break(s, "a restart count went back", "job %u", w->job_id);
    if (sim_view_is_final(before->state) && now->restarts == before->restarts &&
        now->state != before->state)
        sim_break(s, "a job has two ends", "job %u: state %d, then %d", w->job_id, before->state,
                  now->state);
    if (now->restarts > before->restarts && w->client != UINT32_MAX &&
        s->clients.data[w->client].cancelled)
        sim_break(s, "a cancelled job goes on", "job %u, restart %u", w->job_id, now->restarts);
}

static void time_attempt(struct sim *s, struct sim_watch *w)
{
    w->halts = w->view.halts;
    struct sim_key key = {w->job_id, w->view.restarts};
    bool known = w->ran_from_ms && w->ran.restarts == key.restarts;
    bool begins = w->ran_configuring && !w->view.configuring; /* the run time starts now */
    if (known && w->stood_from_ms && w->view.state != PB__JOB_STATE__SUSPENDED) {
        w->ran_from_ms += s->now_ms - w->stood_from_ms; /* suspended time does not count */
        w->stood_ms += s->now_ms - w->stood_from_ms;
        w->stood_from_ms = 0;
    }
    if (known && !w->stood_from_ms && w->view.state == PB__JOB_STATE__SUSPENDED) {
        w->stood_from_ms = s->now_ms;
        w->stop_ran_ms = s->now_ms - w->ran_from_ms;
    }
    /* A job that shares cores may start suspended. */
    bool stands = w->view.state == PB__JOB_STATE__SUSPENDED;
    if ((w->view.state != PB__JOB_STATE__RUNNING && !stands) || (known && !begins))
        return;
    w->ran_configuring = w->view.configuring;
    w->ran = key;
    w->ran_from_ms = s->now_ms;
    w->stood_from_ms = stands ? s->now_ms : 0;
    w->stood_ms = w->stop_ran_ms = 0;
    w->untimed = false;
    w->ran_boot = s->c->boot;
    w->ran_offset_ms = s->wall_offset_ms;
    w->ran_restamped = false;
    if (!known) {
        vec_push(&s->allocated, w->job_id);
        sim_end_begins(w, s->now_ms);
        s->result->set_starts += w->view.set_count && w->view.set_offset == 0;
    }
}

/* The record of a suspended or resumed job has its run time without the suspended time: in
 * milliseconds, and in the seconds that users see. */
static void check_run_time(struct sim *s, const struct sim_watch *w, const struct sim_view *before)
{
    const struct sim_view *now = &w->view;
    if (w->untimed || !now->halts || w->ran.restarts != now->restarts || !w->ran_from_ms ||
        s->facts.clock_set)
        return;
    bool stands = now->state == PB__JOB_STATE__SUSPENDED;
    bool same_attempt = before->there && before->restarts == now->restarts;
    bool stood = same_attempt && before->state == PB__JOB_STATE__SUSPENDED;
    int64_t until = now->state == PB__JOB_STATE__RUNNING ? sim_wall_ms(s) / 1000 : now->end_at;
    int64_t ran_sec = until - now->start_at - now->suspended_sec;
    if (stands && now->ran_ms != w->stop_ran_ms)
        sim_break(s, "suspended time counts as run time", "job %u ran %lld ms, not %lld", w->job_id,
                  (long long)w->stop_ran_ms, (long long)now->ran_ms);
    if (stood && !stands && ran_sec != w->stop_ran_ms / 1000)
        sim_break(s, "suspended time is not what it was", "job %u ran %lld ms, not %lld s",
                  w->job_id, (long long)w->stop_ran_ms, (long long)ran_sec);
    if (!stood && !stands && same_attempt && now->suspended_sec != before->suspended_sec)
        sim_break(s, "suspended time changes while a job runs", "job %u: %lld s, then %lld s",
                  w->job_id, (long long)before->suspended_sec, (long long)now->suspended_sec);
}

void sim_watch_turn(struct sim *s)
{
    vec_foreach (&s->allocated, id) {
        const struct sim_watch *w = sim_watch_find(s, *id);
        if (w->view.there && (w->view.state == PB__JOB_STATE__RUNNING ||
                              w->view.state == PB__JOB_STATE__SUSPENDED)) {
            sim_give_check(s, w);
            sim_resv_check(s, w);
            check_announced_start(s, *id);
        }
    }
    vec_clear(&s->allocated);
    vec_foreach (&s->displaced, id)
        sim_give_check_displaced(s, sim_watch_find(s, *id));
    vec_clear(&s->displaced);
    vec_foreach (&s->relicensed, id) {
        const struct sim_watch *w = sim_watch_find(s, *id);
        sim_license_check(s, w, w->raised);
    }
    vec_clear(&s->relicensed);
    sim_set_turn(s);
}

static bool is_time(const struct sim *s, const struct sim_watch *w)
{
    return s->now_ms - w->ran_from_ms >= w->view.limit_sec * 1000 - 1000;
}

/* A job must not end for its time limit before that limit is over by the monotonic clock. */
static void check_limit(struct sim *s, const struct sim_watch *w)
{
    if (w->view.state != PB__JOB_STATE__TIMEOUT || w->ran.restarts != w->view.restarts ||
        w->untimed || *w->view.resv) /* ends with its reservation */
        return;
    const struct sim_watch *leader = w->set_id ? sim_set_watch(s, w->set_id, 0) : NULL;
    if (leader && (leader->untimed || *leader->view.resv || is_time(s, leader)))
        return; /* the end of the leader ends all components */
    int64_t ran_ms = s->now_ms - w->ran_from_ms;
    if (!is_time(s, w))
        sim_break(s, "a time limit came early", "job %u after %lld ms of %lld s", w->job_id,
                  (long long)ran_ms, (long long)w->view.limit_sec);
}

/* A job that has ended and is not completing holds no nodes. */
static void check_released(struct sim *s, const struct sim_watch *w)
{
    bool over = sim_view_is_final(w->view.state) && !w->view.completing;
    vec_foreach (&w->shares, share)
        if (over && !share->released)
            sim_break(s, "a node is held by a job that has ended", "%s, job %u",
                      s->nodes.data[share->node].name, w->job_id);
}

/* Notes the end for the jobs that depend on it. */
static void note_end(struct sim_watch *w)
{
    const struct sim_view *v = &w->view;
    bool over = sim_view_is_final(v->state) && !v->completing && !v->requeue_after;
    bool begun = v->state != PB__JOB_STATE__PENDING;
    bool well = over && v->state == PB__JOB_STATE__COMPLETED, badly = over && !well;
    w->array_id = v->array_id;
    w->task = v->task;
    w->begun = w->begun || begun;
    w->done_well = w->done_well || well;
    w->done_badly = w->done_badly || badly;
    w->elements.begun |= begun ? v->elements : 0;
    w->elements.well |= well ? v->elements : 0;
    w->elements.badly |= badly ? v->elements : 0;
}

static void put_job(struct sim *s, const struct sim_record *r)
{
    struct sim_view now;
    sim_view_scan(r->data, r->len, &now);
    struct sim_watch *w = sim_watch_find(s, (uint32_t)r->number);
    if (w && !w->view.there) { /* lost in a crash, or purged */
        if (w->stored)
            sim_break(s, "an id was given twice", "%u, to %s too", w->job_id, now.name);
        w->client = client_of(s, &now);
        w->ran_from_ms = 0;
    }
    w = w ? w : add_watch(s, (uint32_t)r->number, &now);
    struct sim_view before = w->view;
    w->view = now;
    w->put_at_ms = s->now_ms;
    note_end(w);
    sim_view_shares(s, r->data, r->len, w);
    if (w->job_id >= s->next_id)
        sim_break(s, "an id was used that is not reserved", "%u", w->job_id);
    sim_set_put(s, w, &before);
    sim_license_note_raised(s, w, &before);
    if (before.there)
        check_step(s, w, &before);
    if (before.there && now.displaced && !before.displaced)
        vec_push(&s->displaced, w->job_id);
    if (strcmp(now.reason, "SystemShutdown") == 0 && strcmp(before.reason, now.reason) != 0)
        check_announced_end(s, w->job_id);
    time_attempt(s, w);
    check_run_time(s, w, &before);
    if (!before.there || !sim_view_is_final(before.state))
        check_limit(s, w);
    if (sim_view_is_final(now.state))
        sim_end_check(s, w);
    check_released(s, w);
}

/* Only a job that is over may be purged. */
static void purge_job(struct sim *s, const struct sim_record *r)
{
    struct sim_watch *w = sim_watch_find(s, (uint32_t)r->number);
    if (!w || !w->view.there)
        return;
    if (!sim_view_is_final(w->view.state) || w->view.completing || w->view.requeue_after)
        sim_break(s, "a job was forgotten that is not over", "job %u", w->job_id);
    w->view.there = false;
    w->purged = true;
}

static void put_meta(struct sim *s, const struct sim_record *r)
{
    uint64_t epoch = s->epoch;
    sim_view_meta(r, &s->next_id, &epoch);
    if (epoch < s->epoch)
        sim_break(s, "an epoch went back", "%llu", (unsigned long long)epoch);
    s->epoch = epoch;
}

void sim_watch_put(struct sim *s, const struct sim_record *r)
{
    if (r->kind == RECORD_META) {
        put_meta(s, r);
    } else if (r->kind == RECORD_JOB && r->data) {
        put_job(s, r);
    } else if (r->kind == RECORD_JOB) {
        purge_job(s, r);
    } else if (r->kind == RECORD_RESV) {
        sim_resv_put(s, r);
    } else if (r->kind == RECORD_LICENSE) {
        sim_license_put(s, r);
    } else if (r->kind == RECORD_NODE) {
        long index = sim_node_index(s, r->name);
        if (index >= 0)
            sim_view_node(r, &s->node_views.data[index]); /* deleted: resets the view */
        if (index >= 0 && s->node_views.data[index].down)
            sim_end_node_lost(s, (unsigned)index);
    }
}

/* A crash has lost the turn of the last suspension or resumption: so the job ran, or was suspended,
 * all the time. */
static void undo_halt(struct sim *s, struct sim_watch *w)
{
    const struct sim_view *v = &w->view;
    bool stands = v->state == PB__JOB_STATE__SUSPENDED;
    w->untimed = w->untimed || w->halts > v->halts + 1;
    if (stands && !w->stood_from_ms) {
        w->ran_from_ms = s->now_ms - w->stop_ran_ms;
        w->stood_from_ms = s->now_ms;
    } else if (!stands) {
        w->stood_from_ms = 0;
    }
    w->halts = v->halts;
}

static void restore_job(struct sim *s, const struct sim_record *r)
{
    struct sim_view v;
    sim_view_scan(r->data, r->len, &v);
    struct sim_watch *w = sim_watch_find(s, (uint32_t)r->number);
    w = w ? w : add_watch(s, (uint32_t)r->number, &v);
    w->view = v;
    w->stored = true;
    bool is_set = w->ran_offset_ms != s->wall_offset_ms;
    w->untimed = w->untimed || (w->ran_boot != s->c->boot && (is_set || w->ran_restamped));
    w->ran_restamped = w->ran_restamped || is_set;
    w->ran_configuring = v.configuring;
    undo_halt(s, w);
    sim_view_shares(s, r->data, r->len, w);
    if (v.state == PB__JOB_STATE__PENDING) {
        w->ran_from_ms = 0; /* the turn that started the job is lost */
    } else if (w->ran.restarts > v.restarts) {
        /* The turn of the next attempt is lost too: this attempt continues untimed. */
        w->ran.restarts = v.restarts;
        w->untimed = true;
    }
}

/* The first commit of a leader: from now on its machine's clock is used. */
void sim_watch_lead(struct sim *s)
{
    for (struct sim_watch *w = s->watches; w; w = w->hh.next)
        w->ran_boot = s->c->boot;
}

void sim_watch_restart(struct sim *s)
{
    for (struct sim_watch *w = s->watches; w; w = w->hh.next)
        w->view = (struct sim_view){0};
    vec_foreach (&s->node_views, v)
        *v = (struct sim_node_view){0};
    sim_resv_clear(s);
    vec_clear(&s->counts);
    s->next_id = 0;
    s->epoch = 0;
    for (struct sim_stored *at = s->store; at; at = at->hh.next) {
        if (at->record.kind == RECORD_JOB)
            restore_job(s, &at->record);
        else
            sim_watch_put(s, &at->record);
    }
    sim_set_restart(s);
}

void sim_watch_done(struct sim *s)
{
    struct sim_watch *w, *next;
    sim_resv_clear(s);
    vec_done(&s->resvs);
    HASH_ITER (hh, s->watches, w, next) {
        HASH_DEL(s->watches, w);
        vec_done(&w->shares);
        vec_done(&w->given);
        free(w);
    }
}
