/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Gang scheduling is fair, judged by the records alone. Jobs compete if they have cores in common,
 * directly or through other jobs. A job waits for its turn at most as many slices as it has
 * competitors. If all competitors have cores in common with each other, no job runs more than one
 * slice longer than another.
 *
 * Both hold while nothing else occupies cores: a job that is ending, that an operator is suspending
 * or that is not prepared yet, or a node that does not respond. After such a case the time is
 * counted anew.
 *
 * What "scontrol show gang" lists is what the records say, after each turn of the controller: who
 * runs in the present slot, who waits for which one, and nobody else. A job set is listed as one
 * job.
 */
#include <stdlib.h>
#include <string.h>

#include "control/control.h"
#include "control/query/gang_list.h"
#include "sim/rule/rule.h"

#define LATE_MS 2000
#define COMPETITORS_MOST 256 /* with more competitors, fairness is not checked */

struct competitors {
    struct sim_watch *of[COMPETITORS_MOST];
    size_t len;
    bool too_many;
};

static int64_t slice_of(const struct sim *s)
{
    return s->gang.slice_ms ? s->gang.slice_ms : 30000;
}

static bool is_started(const struct sim_watch *w)
{
    return w->view.state == PB__JOB_STATE__RUNNING || w->view.state == PB__JOB_STATE__SUSPENDED;
}

bool sim_turn_awaited(const struct sim_watch *w)
{
    return w->view.there && w->view.gang_suspended && w->view.state == PB__JOB_STATE__SUSPENDED;
}

static bool is_in_use(const struct sim_share *share)
{
    return !share->released && !share->parked;
}

static bool have_cores_in_common(const struct sim *s, const struct sim_share *a,
                                 const struct sim_share *b)
{
    if (a->node != b->node || !is_in_use(a) || !is_in_use(b))
        return false;
    for (size_t i = 0; i < sizeof a->cores; i++)
        if (a->cores[i] & b->cores[i])
            return true;
    return s->gang.counts_cpus;
}

static bool jobs_compete(const struct sim *s, const struct sim_watch *a, const struct sim_watch *b)
{
    if (a->set_id && a->set_id == b->set_id)
        return true;
    vec_foreach (&a->shares, one)
        vec_foreach (&b->shares, other)
            if (have_cores_in_common(s, one, other))
                return true;
    return false;
}

static void add_competitor(struct competitors *c, struct sim_watch *w)
{
    c->too_many = c->too_many || c->len == COMPETITORS_MOST;
    if (c->len < COMPETITORS_MOST)
        c->of[c->len++] = w;
}

/* The job itself and all jobs that compete with it. */
static void find_competitors(const struct competitors *started, const struct sim *s,
                             struct sim_watch *w, struct competitors *out)
{
    bool found[COMPETITORS_MOST];
    *out = (struct competitors){.too_many = started->too_many};
    add_competitor(out, w);
    for (size_t k = 0; k < started->len; k++)
        found[k] = started->of[k] == w;
    for (size_t i = 0; i < out->len; i++)
        for (size_t k = 0; k < started->len; k++)
            if (!found[k] && jobs_compete(s, out->of[i], started->of[k])) {
                found[k] = true;
                add_competitor(out, started->of[k]);
            }
}

/* The job occupies, or may occupy, cores without being in the rotation. */
static bool is_unsettled(const struct sim *s, const struct sim_watch *w)
{
    const struct sim_view *v = &w->view;
    if (!is_started(w) || v->configuring || w->untimed ||
        (v->state == PB__JOB_STATE__SUSPENDED && !v->gang_suspended))
        return true;
    vec_foreach (&w->shares, share) {
        const struct sim_node *n = &s->nodes.data[share->node];
        if (is_in_use(share) && s->now_ms - n->unsettled_ms < LATE_MS)
            return true;
    }
    return false;
}

static bool are_unsettled(const struct sim *s, const struct competitors *c)
{
    bool is = c->too_many || s->now_ms - s->c->up_since_ms < LATE_MS ||
              s->c->paused_until_ms + LATE_MS > s->now_ms ||
              s->c->cut_until_ms + LATE_MS > s->now_ms;
    for (size_t i = 0; i < c->len && !is; i++)
        is = is_unsettled(s, c->of[i]);
    return is;
}

/* A job set counts as one member. */
static int64_t count_others(const struct competitors *c, const struct sim_watch *w)
{
    int64_t count = 0;
    for (size_t i = 0; i < c->len; i++) {
        bool counts = c->of[i] != w && (!c->of[i]->set_id || c->of[i]->set_id != w->set_id);
        for (size_t k = 0; k < i; k++)
            counts = counts && !(c->of[i]->set_id && c->of[i]->set_id == c->of[k]->set_id);
        count += counts;
    }
    return count;
}

/* If jobs start and end in each turn, competitors are never settled. Even then a wait is at most
 * one slice for each other job. */
static void check_long_wait(struct sim *s, struct sim_watch *w)
{
    if (!w->wait_from_ms)
        w->wait_from_ms = s->now_ms;
    int64_t from_ms = w->wait_from_ms > s->c->up_since_ms ? w->wait_from_ms : s->c->up_since_ms;
    vec_foreach (&s->nodes, n)
        from_ms = n->stopped_until_ms > from_ms ? n->stopped_until_ms : from_ms;
    int64_t most_ms = (int64_t)(HASH_COUNT(s->watches) - 1) * slice_of(s) + LATE_MS;
    if (s->now_ms - from_ms > most_ms)
        sim_break(s, "a job starves in gang scheduling", "job %u stands for %lld ms, of any others",
                  w->job_id, (long long)(s->now_ms - from_ms));
}

static void check_wait(struct sim *s, struct sim_watch *w, const struct competitors *c,
                       bool unsettled)
{
    if (!sim_turn_awaited(w)) {
        w->turn_from_ms = w->wait_from_ms = 0;
        return;
    }
    check_long_wait(s, w);
    if (!w->turn_from_ms || unsettled) {
        w->turn_from_ms = s->now_ms;
        w->turn_others = count_others(c, w);
    }
    if (s->now_ms - w->turn_from_ms > w->turn_others * slice_of(s) + LATE_MS)
        sim_break(s, "a job starves in gang scheduling",
                  "job %u stands for %lld ms, of %lld others", w->job_id,
                  (long long)(s->now_ms - w->turn_from_ms), (long long)w->turn_others);
}

static int64_t count_ran_ms(const struct sim *s, const struct sim_watch *w)
{
    return w->view.state == PB__JOB_STATE__RUNNING ? s->now_ms - w->ran_from_ms : w->stop_ran_ms;
}

/* All jobs compete with each other and none is in a set: exactly one runs at a time. */
static bool run_one_by_one(const struct sim *s, const struct competitors *c)
{
    bool waits = false;
    if (s->gang.counts_cpus)
        return false;
    for (size_t i = 0; i < c->len; i++) {
        waits = waits || sim_turn_awaited(c->of[i]);
        if (c->of[i]->set_id)
            return false;
        for (size_t k = 0; k < i; k++)
            if (!jobs_compete(s, c->of[i], c->of[k]))
                return false;
    }
    return waits;
}

/* A hash of the competing attempts, independent of their order. */
static uint64_t hash_competitors(const struct competitors *c)
{
    uint64_t hash = 1;
    for (size_t i = 0; i < c->len; i++)
        hash += ((uint64_t)c->of[i]->job_id << 32 | c->of[i]->view.restarts) *
                UINT64_C(0x9e3779b97f4a7c15);
    return hash;
}

/* Compares run times since the moment at which exactly these attempts began to compete. */
static void check_spread(struct sim *s, struct sim_watch *w, const struct competitors *c,
                         bool unsettled)
{
    uint64_t among = unsettled || !run_one_by_one(s, c) ? 0 : hash_competitors(c);
    if (!among || w->fair_among != among) {
        w->fair_among = among;
        w->fair_from_ms = s->now_ms;
        w->fair_ran_ms = count_ran_ms(s, w);
        return;
    }
    for (size_t i = 0; i < c->len; i++) {
        const struct sim_watch *other = c->of[i];
        int64_t more_ms =
            (count_ran_ms(s, w) - w->fair_ran_ms) - (count_ran_ms(s, other) - other->fair_ran_ms);
        if (other->fair_among == among && other->fair_from_ms == w->fair_from_ms &&
            more_ms > slice_of(s) + LATE_MS)
            sim_break(s, "a job runs longer than its share", "job %u, %lld ms more than job %u",
                      w->job_id, (long long)more_ms, other->job_id);
    }
}

static void note_nodes(struct sim *s)
{
    vec_foreach (&s->nodes, n) {
        uint64_t session = n->up ? n->at[s->c->index].session : 0;
        if (!session || session != n->settled_session || sim_is_stopped(s, n) ||
            n->slow_until_ms > s->now_ms)
            n->unsettled_ms = s->now_ms;
        n->settled_session = session;
    }
}

void sim_turn_check(struct sim *s)
{
    struct competitors started = {0}, competitors;
    if (!s->gang.is_on)
        return;
    note_nodes(s);
    for (struct sim_watch *w = s->watches; w; w = w->hh.next)
        if (w->view.there && sim_give_holds(w))
            add_competitor(&started, w);
        else
            w->turn_from_ms = w->wait_from_ms = 0, w->fair_among = 0;
    for (size_t i = 0; i < started.len; i++) {
        struct sim_watch *w = started.of[i];
        find_competitors(&started, s, w, &competitors);
        bool unsettled = are_unsettled(s, &competitors);
        check_wait(s, w, &competitors, unsettled);
        check_spread(s, w, &competitors, unsettled);
    }
}

/* --- options about sharing -----------------------------------------------------------------------
 */

void sim_turn_note(struct sim *s, const struct sim_item *item)
{
    if (item->kind != SIM_ITEM_CONF)
        return;
    if (strncmp(item->text, "PreemptMode=", 12) == 0)
        s->gang.is_on = s->gang.is_on || strstr(item->text, "GANG");
    if (strncmp(item->text, "SelectTypeParameters=", 21) == 0)
        s->gang.counts_cpus = strstr(item->text, "CR_CPU");
    if (strcmp(item->text, "GangOverlap=no") == 0)
        s->gang.apart_in = item->files;
    if (strncmp(item->text, "SchedulerTimeSlice=", 19) == 0)
        s->gang.slice_ms = strtoll(item->text + 19, NULL, 10) * 1000;
}

bool sim_turn_crosses_partitions(const struct sim *s)
{
    return s->gang.is_on && !(s->gang.apart_in >> s->c->file & 1);
}

bool sim_turn_of_sets(const struct sim *s)
{
    return s->gang.is_on;
}

uint32_t sim_turn_most(const struct sim *s)
{
    return s->share_most && !s->gang.is_on ? s->share_most : 1;
}

bool sim_turn_knows_cpus(const struct sim *s)
{
    return !(s->gang.is_on && s->gang.counts_cpus);
}

#define LISTED_MOST 256 /* with more jobs the list is not looked at in each turn */

struct standing { /* of all components of a job, by their records */
    bool runs, waits, ends, is_known;
};

static uint32_t set_of(const struct sim_watch *w)
{
    return w->set_id ? w->set_id : w->job_id;
}

static struct standing find_standing(const struct sim *s, uint32_t job_id)
{
    struct standing found = {0};
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        if (!w->view.there || set_of(w) != job_id)
            continue;
        found.is_known = true;
        found.runs = found.runs || w->view.state == PB__JOB_STATE__RUNNING;
        found.waits = found.waits || sim_turn_awaited(w);
        found.ends = found.ends || w->view.completing;
    }
    return found;
}

static size_t count_listed(const Pb__GangReply *list, uint32_t job_id)
{
    size_t count = 0;
    for (size_t i = 0; i < list->n_members; i++)
        count += list->members[i]->job_id == job_id;
    return count;
}

static bool is_in_slot(const Pb__GangSlot *slot, uint32_t job_id)
{
    for (size_t i = 0; i < slot->n_job_id; i++)
        if (slot->job_id[i] == job_id)
            return true;
    return false;
}

static void check_member(struct sim *s, const Pb__GangReply *list, const Pb__GangMember *m)
{
    struct standing is = find_standing(s, m->job_id);
    bool turns = false;
    for (size_t i = 1; i < list->n_slots; i++)
        turns = turns || is_in_slot(list->slots[i], m->job_id);
    if (m->runs ? !is.runs && !is.ends : !is.waits)
        sim_break(s, "gang scheduling lists a job with another state", "job %u is listed as %s%s",
                  m->job_id, m->runs ? "running" : "suspended",
                  is.is_known ? "" : ", and there is no such job");
    if (is_in_slot(list->slots[0], m->job_id) != m->runs)
        sim_break(s, "gang scheduling lists a wrong slot", "job %u, which is listed as %s, is %s",
                  m->job_id, m->runs ? "running" : "suspended",
                  m->runs ? "not in the present slot" : "in the present slot");
    if (!m->runs && !turns)
        sim_break(s, "gang scheduling lists no turn of a job that waits", "job %u in %zu slots",
                  m->job_id, list->n_slots);
}

void sim_turn_check_list(struct sim *s)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    struct arena arena;
    Pb__GangReply list;
    if (!s->gang.is_on || HASH_COUNT(s->watches) > LISTED_MOST)
        return;
    arena_init(&arena, 0);
    gang_list_describe(s->c->control, &root, &list, &arena);
    for (size_t i = 0; i < list.n_members; i++)
        check_member(s, &list, list.members[i]);
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        size_t count = sim_turn_awaited(w) ? count_listed(&list, set_of(w)) : 1;
        if (count != 1)
            sim_break(s, "gang scheduling lists a job that waits not once", "job %u, %zu times",
                      w->job_id, count);
    }
    arena_done(&arena);
}
