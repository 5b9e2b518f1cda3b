/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The promises: at each start of a payload, after turns, after restarts, and at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "sim/rule/rule.h"
#include "sim/rule/script.h"

#define LATE_MS 2000        /* a time limit is kept so exactly, once the controller is up */
#define LISTED_EVERY 64     /* looks at everything, to a look at the listings */
#define MAX_BATCH_REQUEUE 5 /* the default: then the controller holds the job */

/* --- at a start ---------------------------------------------------------------------------------
 */

static void enter_ledger(struct sim *s, unsigned node, struct sim_key key)
{
    struct sim_start *known;
    HASH_FIND(hh, s->ledger, &key, sizeof key, known);
    if (known) {
        sim_break(s, "an attempt was started twice", "job %u restart %u, on %s and %s", key.job_id,
                  key.restarts, s->nodes.data[known->node].name, s->nodes.data[node].name);
        return;
    }
    struct sim_start *start = mem_new(struct sim_start);
    start->key = key;
    start->node = node;
    HASH_ADD(hh, s->ledger, key, sizeof start->key, start);
}

struct sums { /* of an array's elements, what they have ever come to */
    uint32_t begun, well, badly;
};

/* Of all of them, or of one. Elements that were split from a common record keep the outcome of that
 * record. */
static struct sums count_outcomes(const struct sim *s, uint32_t array, int64_t task)
{
    struct sim_elements all = {0};
    uint64_t asked = task < 0 ? UINT64_MAX : UINT64_C(1) << task;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        if (w->array_id != array)
            continue;
        all.begun |= w->elements.begun & asked;
        all.well |= w->elements.well & asked;
        all.badly |= w->elements.badly & asked;
    }
    return (struct sums){(uint32_t)__builtin_popcountll(all.begun),
                         (uint32_t)__builtin_popcountll(all.well),
                         (uint32_t)__builtin_popcountll(all.badly)};
}

/* The same of an array, as far as it concerns the job. */
static void check_depend_array(struct sim *s, const struct sim_watch *w, const struct sim_client *c,
                               uint32_t all)
{
    const char *kind = c->item->depend;
    bool corr = strcmp(kind, "aftercorr") == 0 && w->array_id;
    struct sums is = count_outcomes(s, c->waits_for, corr ? (int64_t)w->task : -1);
    bool met = corr                             ? is.well > 0
               : strcmp(kind, "after") == 0     ? is.begun >= all
               : strcmp(kind, "afterok") == 0   ? is.well >= all
               : strcmp(kind, "aftercorr") == 0 ? is.well >= all
                                                : is.well + is.badly >= all;
    if (!met || (strcmp(kind, "afternotok") == 0 && !is.badly))
        sim_break(s, "a job did not wait for an array",
                  "job %u, %s: %u begun, %u and %u ended of %u", w->job_id, c->depend, is.begun,
                  is.well, is.badly, all);
}

/* What a job has ever come to; by its leader a job set as a whole: it has ended when all
 * components have, badly when any did, and well when all did. */
static void find_ends(const struct sim *s, const struct sim_watch *on, bool *well, bool *badly)
{
    *well = on->done_well;
    *badly = on->done_badly;
    if (!on->set_id || on->set_id != on->job_id)
        return;
    bool ended = true;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        if (w->set_id != on->set_id)
            continue;
        ended = ended && (w->done_well || w->done_badly);
        *well = *well && w->done_well;
        *badly = *badly || w->done_badly;
    }
    *well = *well && ended;
    *badly = *badly && ended;
}

/* What it was to wait for has come, at some time. */
static void check_depend(struct sim *s, struct sim_key key)
{
    const struct sim_watch *w = sim_watch_find(s, key.job_id);
    const struct sim_client *c = w && w->client != UINT32_MAX ? &s->clients.data[w->client] : NULL;
    const struct sim_watch *on = c && c->waits_for ? sim_watch_find(s, c->waits_for) : NULL;
    const char *kind = c ? c->item->depend : "";
    long array = c && c->waits_for ? sim_client_find(s, c->item->after) : -1;
    if (array >= 0 && s->clients.data[array].item->array) {
        check_depend_array(s, w, c, (uint32_t)s->clients.data[array].item->array);
        return;
    }
    if (!on)
        return;
    bool well, badly;
    find_ends(s, on, &well, &badly);
    bool met = strcmp(kind, "after") == 0        ? on->begun
               : strcmp(kind, "afterok") == 0    ? well
               : strcmp(kind, "aftercorr") == 0  ? well
               : strcmp(kind, "afternotok") == 0 ? badly
                                                 : well || badly;
    if (!met)
        sim_break(s, "a job did not wait for another", "job %u, %s", key.job_id, c->depend);
}

void sim_check_start(struct sim *s, unsigned node, struct sim_key key, bool batch)
{
    struct sim_view v;
    if (batch)
        enter_ledger(s, node, key);
    bool stored = sim_view_stored(s, key.job_id, &v);
    if (!stored || v.restarts < key.restarts ||
        (v.restarts == key.restarts && v.state == PB__JOB_STATE__PENDING))
        sim_break(s, "a payload was started before that was on disk", "job %u restart %u on %s",
                  key.job_id, key.restarts, s->nodes.data[node].name);
    sim_array_check_start(s, key, &v);
    sim_hook_check_start(s, key);
    check_depend(s, key);
    sim_check_node(s, node);
}

static bool runs_here(const struct sim_node_job *j)
{
    return !j->gone && !j->halted && !j->was_halted;
}

static uint32_t set_of(const struct sim *s, const struct sim_node_job *j)
{
    const struct sim_watch *w = sim_watch_find(s, j->key.job_id);
    return w ? w->set_id : 0;
}

/* Components of a job set may share cores: the largest one here counts. The others have
 * 0. */
static uint32_t count_cpus(const struct sim *s, const struct sim_node *n,
                           const struct sim_node_job *j)
{
    uint32_t set = sim_turn_of_sets(s) ? set_of(s, j) : 0;
    vec_foreach (&n->jobs, other) {
        bool counts = set && other != j && runs_here(other) && set_of(s, other) == set;
        if (counts && (other->cpus > j->cpus || (other->cpus == j->cpus && other < j)))
            return 0;
    }
    return j->cpus;
}

static bool have_cpus_in_common(const struct sim_node_job *a, const struct sim_node_job *b)
{
    for (size_t i = 0; i < sizeof a->cpu_set; i++)
        if (a->cpu_set[i] & b->cpu_set[i])
            return true;
    return false;
}

/* A CPU has one job that runs at a time, or the components of one. */
static void check_cpus(struct sim *s, const struct sim_node *n)
{
    vec_foreach (&n->jobs, a)
        vec_foreach (&n->jobs, b) {
            bool both = a < b && runs_here(a) && runs_here(b);
            if (both && have_cpus_in_common(a, b) &&
                !(set_of(s, a) && set_of(s, a) == set_of(s, b)))
                sim_break(s, "two jobs run on one CPU", "%s: jobs %u and %u", n->name,
                          a->key.job_id, b->key.job_id);
        }
}

/* By what the credentials gave to those that are not gone from here. */
void sim_check_node(struct sim *s, unsigned node)
{
    const struct sim_node *n = &s->nodes.data[node];
    uint64_t mem_mib = 0;
    uint32_t cpus = 0;
    vec_foreach (&n->jobs, j) {
        cpus += runs_here(j) ? count_cpus(s, n, j) : 0;
        mem_mib += j->gone ? 0 : j->mem_mib;
    }
    uint32_t most = sim_turn_most(s);
    if (cpus > n->cpus * most || mem_mib > n->mem_mib)
        sim_break(s, "a node has more to run than it has room for", "%s: %u CPUs, %llu MiB",
                  n->name, cpus, (unsigned long long)mem_mib);
    if (most == 1 && sim_turn_knows_cpus(s))
        check_cpus(s, n);
}

/* --- after a turn -------------------------------------------------------------------------------
 */

static void check_late(struct sim *s)
{
    if (s->now_ms - s->c->up_since_ms < LATE_MS)
        return;
    sim_announce_check_late(s);
    if (s->over_ms == INT64_MAX)
        return;
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next) {
        sim_wish_check_late(s, w);
        if (!w->view.there || w->view.state != PB__JOB_STATE__RUNNING || !w->ran_from_ms ||
            w->view.configuring || w->view.limit_sec > 1000000 ||
            s->now_ms - w->put_at_ms < LATE_MS || w->untimed)
            continue;
        int64_t ran_ms = s->now_ms - w->ran_from_ms;
        if (ran_ms > w->view.limit_sec * 1000 + s->over_ms + LATE_MS)
            sim_break(s, "a time limit is not kept", "job %u runs for %lld ms of %lld s", w->job_id,
                      (long long)ran_ms, (long long)w->view.limit_sec);
    }
}

void sim_check_turn(struct sim *s)
{
    struct err err = {0};
    if (s->c->list_due) {
        sim_check_listing(s, s->c->list_due);
        s->c->list_due = NULL;
    }
    sim_turn_check(s);
    sim_turn_check_list(s);
    uint64_t every =
        s->options.check_every ? s->options.check_every : 1 + (s->nodes.len + s->clients.len) / 10;
    if (s->result->turns % every != 0)
        return;
    if (control_check(s->c->control, &err) != 0)
        sim_break(s, "control is not sound", "%s", err.text);
    check_late(s);
    sim_license_check_all(s);
    if (s->result->turns % (every * LISTED_EVERY) == 0)
        sim_check_listing(s, "after a turn");
}

/* --- memory and records -------------------------------------------------------------------------
 */

/* Calls each() with each element of a packed listing. */
static void each_element(struct sim *s, const struct str *list, const char *when,
                         void (*each)(struct sim *, const uint8_t *, size_t, const char *))
{
    const uint8_t *at = (const uint8_t *)list->data, *end = at + list->len;
    while (at < end) {
        unsigned tag = *at++;
        uint64_t len = 0;
        for (unsigned shift = 0; at < end && shift < 64; shift += 7) {
            uint8_t byte = *at++;
            len |= (uint64_t)(byte & 0x7f) << shift;
            if (!(byte & 0x80))
                break;
        }
        if ((tag & 7) == 0)
            continue;
        if (len > (uint64_t)(end - at))
            return;
        if (tag >> 3 == 1)
            each(s, at, (size_t)len, when);
        at += len;
    }
}

/* By any of the files. */
static bool is_multifactor(const struct sim *s)
{
    vec_foreach (&s->plan->items, item)
        if (item->kind == SIM_ITEM_CONF && strstr(item->text, "priority/multifactor"))
            return true;
    return false;
}

/* One that is made of factors changes with time, and is not written then. */
static bool may_not_grow(const struct sim *s, const struct sim_view *put)
{
    return put->priority_given || put->held || put->admin_held || !is_multifactor(s);
}

static void compare_job(struct sim *s, const uint8_t *data, size_t len, const char *when)
{
    struct sim_view now;
    sim_view_scan(data, len, &now);
    struct sim_watch *w = sim_watch_find(s, now.job_id);
    const struct sim_view *put = w ? &w->view : NULL;
    if (!put || !put->there) {
        sim_break(s, "a job is listed that has no record", "job %u", now.job_id);
        return;
    }
    w->listed = s->listings;
    if (put->state != now.state || put->restarts != now.restarts ||
        put->completing != now.completing || put->requeue_after != now.requeue_after)
        sim_break(s, "the state of a job is not that of its record",
                  "%s: job %u is %d restart %u, its record says %d restart %u", when, now.job_id,
                  now.state, now.restarts, put->state, put->restarts);
    if (put->held != now.held || put->admin_held != now.admin_held)
        sim_break(s, "a hold is not that of the record", "%s: job %u", when, now.job_id);
    if (put->limit_sec != now.limit_sec || put->comment != now.comment || put->nice != now.nice ||
        put->priority_given != now.priority_given || strcmp(put->part, now.part) != 0 ||
        (put->priority != now.priority && may_not_grow(s, put)))
        sim_break(s, "a job is not what its record says", "%s: job %u", when, now.job_id);
    if (w->client != UINT32_MAX)
        sim_check_claims(s, &s->clients.data[w->client], &now, when);
}

static void compare_node(struct sim *s, const uint8_t *data, size_t len, const char *when)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__NodeRecord *r = arena_unpack(&arena, &pb__node_record__descriptor, data, len);
    long index = r ? sim_node_index(s, r->name) : -1;
    if (index < 0)
        return;
    s->nodes.data[index].listed = s->listings;
    const struct sim_node_view *v = &s->node_views.data[index];
    bool down = r->state == PB__NODE_BASE__NODE_DOWN;
    if (v->drain != (r->has_drain && r->drain) || v->fail != (r->has_fail && r->fail) ||
        (v->down != down && r->state != PB__NODE_BASE__NODE_FUTURE))
        sim_break(s, "a node is not what its record says", "%s: %s", when, r->name);
}

static void check_listed(struct sim *s, const char *when)
{
    for (const struct sim_watch *w = s->watches; w; w = w->hh.next)
        if (w->view.there && w->listed != s->listings)
            sim_break(s, "a record is of no job", "%s: job %u", when, w->job_id);
}

static void check_made(struct sim *s, const char *when)
{
    vec_foreach (&s->nodes, n) {
        bool there = n->listed == s->listings;
        if (n->last_dynamic != SIM_MADE_UNKNOWN && there != (n->last_dynamic == SIM_MADE_THERE))
            sim_break(s, "a node that was made is not so", "%s: %s is %s", when, n->name,
                      there ? "there" : "gone");
    }
}

void sim_check_listing(struct sim *s, const char *when)
{
    static const struct caller root = {.is_operator = true, .is_admin = true};
    Pb__JobFilter jobs = PB__JOB_FILTER__INIT;
    Pb__NodeFilter nodes = PB__NODE_FILTER__INIT;
    struct str out = STR_INIT;
    uint64_t cursor = 0;
    jobs.has_all_states = jobs.all_states = true;
    s->listings++;
    while (control_list_jobs(s->c->control, &root, &jobs, &cursor, 1 << 20, &out))
        ;
    each_element(s, &out, when, compare_job);
    check_listed(s, when);
    str_clear(&out);
    cursor = 0;
    while (control_list_nodes(s->c->control, &root, &nodes, &cursor, 1 << 20, &out))
        ;
    each_element(s, &out, when, compare_node);
    check_made(s, when);
    str_done(&out);
}

static bool has_name(const char *list, const char *name, size_t len)
{
    for (; *list; list += strcspn(list, ","), list += *list == ',')
        if (strcspn(list, ",") == len && strncmp(list, name, len) == 0)
            return true;
    return false;
}

/* It is of those that were asked for: of all of them that take it, or runs in one. */
static bool is_of_parts(const char *has, const char *asked)
{
    for (; *has; has += strcspn(has, ","), has += *has == ',')
        if (!has_name(asked, has, strcspn(has, ",")))
            return false;
    return true;
}

void sim_check_claims(struct sim *s, const struct sim_client *c, const struct sim_view *v,
                      const char *where)
{
    const struct sim_claim *claims = c->claims;
    bool held = v->held || v->admin_held;
    int64_t limit = claims[SIM_CLAIM_LIMIT].value;
    const char *wrong = NULL;
    bool requeued_often = v->admin_held && v->restarts >= MAX_BATCH_REQUEUE;
    if (claims[SIM_CLAIM_HELD].is_in_force && held != (claims[SIM_CLAIM_HELD].value != 0) &&
        !requeued_often)
        wrong = "a hold or release";
    else if (claims[SIM_CLAIM_LIMIT].is_in_force && v->limit_sec != limit &&
             !(v->deadline_at && v->limit_sec < limit)) /* it may be cut to what is left */
        wrong = "a time limit";
    else if (claims[SIM_CLAIM_NICE].is_in_force && (int32_t)v->nice != claims[SIM_CLAIM_NICE].value)
        wrong = "a nice value";
    else if (claims[SIM_CLAIM_COMMENT].is_in_force && v->comment != claims[SIM_CLAIM_COMMENT].value)
        wrong = "a comment";
    else if (claims[SIM_CLAIM_MEMORY].is_in_force &&
             v->mem_node_mib != (uint64_t)claims[SIM_CLAIM_MEMORY].value)
        wrong = "a size of memory";
    else if (claims[SIM_CLAIM_BEGIN].is_in_force && v->begin_at != claims[SIM_CLAIM_BEGIN].value &&
             !(v->begin_at > claims[SIM_CLAIM_BEGIN].value &&
               (v->restarts || v->completing))) /* it may have to wait when it is sent back */
        wrong = "a begin time";
    else if (claims[SIM_CLAIM_FEATURES].is_in_force &&
             strcmp(v->features, (const char *)(intptr_t)claims[SIM_CLAIM_FEATURES].value) != 0)
        wrong = "a constraint";
    else if (claims[SIM_CLAIM_PART].is_in_force &&
             !is_of_parts(v->part, (const char *)(intptr_t)claims[SIM_CLAIM_PART].value))
        wrong = "a partition";
    else if (claims[SIM_CLAIM_LICENSES].is_in_force &&
             strcmp(v->asked_licenses, (const char *)(intptr_t)claims[SIM_CLAIM_LICENSES].value) !=
                 0)
        wrong = "licences";
    if (wrong)
        sim_break(s, "a change was answered and is not so", "%s of job %u, %s", wrong, c->job_id,
                  where);
}

void sim_check_over(struct sim *s, uint32_t job_id, const char *why)
{
    const struct sim_watch *w = sim_watch_find(s, job_id);
    struct sim_view v;
    if (w && w->purged) /* the word was long on its way */
        return;
    if (!sim_view_stored(s, job_id, &v) || !sim_view_is_final(v.state))
        sim_break(s, "an end was acknowledged and is not on disk", "job %u is in state %d: %s",
                  job_id, v.state, why);
}

/* --- at the end ---------------------------------------------------------------------------------
 */

static bool nodes_are_over(const struct sim *s)
{
    vec_foreach (&s->nodes, n) {
        if (n->configured && (n->unacked.len || !n->session || sim_is_stopped(s, n)))
            return false;
        vec_foreach (&n->jobs, j)
            if (sim_node_runs(j))
                return false;
    }
    return true;
}

bool sim_check_all_over(struct sim *s)
{
    if (!s->quiet || !s->c->control || !outbox_is_idle(s->c->outbox) || !nodes_are_over(s))
        return false;
    vec_foreach (&s->clients, c)
        if (!c->dead && (c->state != SIM_OVER || c->call || c->watch))
            return false;
    vec_foreach (&s->sruns, r)
        if (r->state != SIM_SRUN_OVER)
            return false;
    Pb__CtlStats stats = PB__CTL_STATS__INIT;
    control_stats(s->c->control, &stats);
    return !stats.pending && !stats.running && sim_burst_is_over(s);
}

static void check_job(struct sim *s, const struct sim_client *c)
{
    const struct sim_watch *w = sim_watch_find(s, c->job_id);
    if (w && w->purged)
        return;
    if (!w || !w->view.there) {
        sim_break(s, "an acknowledged job is lost", "job %u", c->job_id);
        return;
    }
    const struct sim_view *v = &w->view;
    struct sim_key key = {c->job_id, v->restarts};
    struct sim_start *start;
    s->result->ended++;
    s->result->restarts += v->restarts;
    if (!sim_view_is_final(v->state) || v->completing)
        sim_break(s, "a job never ended", "job %u is in state %d", c->job_id, v->state);
    if (c->cancelled && v->state != c->cancelled_state)
        sim_break(s, "a cancelled job that goes on", "job %u ended in state %d", c->job_id,
                  v->state);
    if (c->end_told && c->requeues_asked == 0 && c->end_state != v->state)
        sim_break(s, "an end was told that is none", "job %u: told %d, it is %d", c->job_id,
                  c->end_state, v->state);
    HASH_FIND(hh, s->ledger, &key, sizeof key, start);
    if (v->state == PB__JOB_STATE__COMPLETED && c->item->what == SIM_JOB_BATCH && !start &&
        !c->item->component_of) /* which has no script */
        sim_break(s, "a job is COMPLETED and never ran", "job %u restart %u", c->job_id,
                  v->restarts);
}

void sim_check_end(struct sim *s)
{
    sim_check_listing(s, "at the end");
    vec_foreach (&s->clients, c)
        if (c->job_id && c->item->array)
            sim_array_check_end(s, (unsigned)(c - s->clients.data));
        else if (c->job_id)
            check_job(s, c);
    vec_foreach (&s->nodes, n)
        vec_foreach (&n->jobs, j) {
            if (sim_node_runs(j))
                sim_break(s, "a node still runs what has ended", "%s: job %u restart %u", n->name,
                          j->key.job_id, j->key.restarts);
        }
    sim_hook_check_end(s);
    sim_events_check(s);
    for (size_t i = 0; i < s->calls.len; i++)
        if (s->calls.data[i].open && s->calls.data[i].arrived && !s->calls.data[i].answered)
            sim_break(s, "a request is never answered", "call %zu, request %d", i + 1,
                      (int)s->calls.data[i].request);
}
