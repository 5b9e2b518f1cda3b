/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Planned starts of jobs that wait for layers of hierarchical resources: on random hierarchies each
 * planned start is the earliest time at which an exhaustive search, over all sets of nodes and all
 * layers that could pay, finds that the job can run to its limit. The search assumes that all jobs
 * end exactly at their limits, and that the jobs before it start when and where they are planned.
 */
#include "base/test_drawn.h"
#include "cluster/job/license_layer.h"
#include "cluster/job/license_tied.h"
#include "sched/layers_test_util.h"

enum { NODES = 5, CPUS = 2, JOBS = 9, NEEDS = 4, STATES = TEST_DRAWN(500), NOW = 1000 };

#define NODES_AND_PART "NodeName=n[1-5] CPUs=2\nPartitionName=p Nodes=ALL\n"
static const char one_place[] = CONS NODES_AND_PART;
static const char all_places[] =
    CONS "SchedulerParameters=bf_job_part_count_reserve=20\n" NODES_AND_PART;

struct use { /* resources of a running job, or of a planned start */
    const struct job *job;
    uint32_t set; /* nodes as a bit mask */
    int64_t from, until;
    int32_t payers[NEEDS]; /* by need: the paying pool in mode 1; otherwise -1 */
};

struct tally {
    size_t started, planned;
};

struct world {
    struct cluster *c;
    struct plan_notes notes;
    uint64_t seed;
    int64_t now_sec;
    struct use uses[JOBS], running[JOBS];
    size_t count, running_count;
    struct use places[JOBS + 1]; /* by id of the waiting job, as last planned */
    bool ends_early;             /* jobs may end before their limits */
    struct tally *tally;
};

/* --- exhaustive search -------------------------------------------------------------------------
 */

static uint64_t count_amount(const struct cluster *c, const struct use *u, int32_t pool)
{
    const struct license *l = &c->licenses.list.data[pool];
    uint64_t sum = 0;
    vec_foreach (&u->job->want.licenses.list, need) {
        size_t of = (size_t)(need - u->job->want.licenses.list.data);
        bool has_pool =
            pool >= need->at && pool < need->at + (int32_t)c->licenses.list.data[need->at].pools;
        uint32_t in = (uint32_t)__builtin_popcount(u->set & (uint32_t)l->nodes->word[0]);
        if (has_pool && l->mode == CONF_HRES_ONE_LAYER)
            sum += u->payers[of] == pool ? need->count : 0;
        else if (has_pool)
            sum += license_amount(l, need, in);
    }
    return sum;
}

static bool is_used_at(const struct use *u, int64_t at)
{
    return u->from <= at && u->until > at;
}

/* Whether it fits beside all others at that time. */
static bool fits_at(const struct world *w, const struct use *u, int64_t at)
{
    for (uint32_t node = 0; node < NODES; node++) {
        uint32_t cpus = u->set >> node & 1 ? u->job->want.cpus_per_task : 0;
        for (size_t i = 0; cpus && i < w->count; i++)
            if (is_used_at(&w->uses[i], at) && w->uses[i].set >> node & 1)
                cpus += w->uses[i].job->want.cpus_per_task;
        if (cpus > CPUS)
            return false;
    }
    for (size_t pool = 0; pool < w->c->licenses.list.len; pool++) {
        uint64_t amount = count_amount(w->c, u, (int32_t)pool);
        for (size_t i = 0; amount && i < w->count; i++)
            if (is_used_at(&w->uses[i], at))
                amount += count_amount(w->c, &w->uses[i], (int32_t)pool);
        if (amount > w->c->licenses.list.data[pool].total)
            return false;
    }
    return true;
}

/* Usage by others only rises when one of them begins. */
static bool fits_to_its_limit(const struct world *w, const struct use *u)
{
    if (!fits_at(w, u, u->from))
        return false;
    for (size_t i = 0; i < w->count; i++)
        if (w->uses[i].from > u->from && w->uses[i].from < u->until &&
            !fits_at(w, u, w->uses[i].from))
            return false;
    return true;
}

/* Tries all payers for the needs from 'of' on. */
static bool fits_with_payers(const struct world *w, struct use *u, size_t of)
{
    const struct license_needs *needs = &u->job->want.licenses;
    if (of == needs->list.len)
        return fits_to_its_limit(w, u);
    const struct license_need *need = &needs->list.data[of];
    const struct license *l = &w->c->licenses.list.data[need->at];
    u->payers[of] = -1;
    if (!license_is_one_layer(w->c, need))
        return fits_with_payers(w, u, of + 1);
    for (uint32_t i = 0; i < l->pools; i++) {
        u->payers[of] = need->at + (int32_t)i;
        if (u->set & (uint32_t)l[i].nodes->word[0] && fits_with_payers(w, u, of + 1))
            return true;
    }
    return false;
}

static bool may_start_at(const struct world *w, const struct job *j, int64_t at)
{
    struct use u = {.job = j, .from = at, .until = job_ends_at(j, at)};
    for (u.set = 1; u.set < 1u << NODES; u.set++)
        if ((uint32_t)__builtin_popcount(u.set) == j->want.min_nodes && fits_with_payers(w, &u, 0))
            return true;
    return false;
}

/* A start can only become possible when another job ends. */
static int64_t search_start(const struct world *w, const struct job *j)
{
    int64_t first = may_start_at(w, j, w->now_sec) ? w->now_sec : INT64_MAX;
    for (size_t i = 0; i < w->count; i++)
        if (w->uses[i].until < first && may_start_at(w, j, w->uses[i].until))
            first = w->uses[i].until;
    return first;
}

/* --- the plan -----------------------------------------------------------------------------------
 */

static void add_job(struct world *w, uint64_t *chance, uint32_t id)
{
    static const char *const sizes[] = {"N=1 c=1", "N=1 c=2", "N=2 c=1",
                                        "N=2 c=2", "N=3 c=1", "N=4 c=1"};
    static const char *const needs[] = {"watts:1",         "watts:2",
                                        "watts:1,pipes:1", "watts:1,once:1",
                                        "once:1",          "once:2",
                                        "once:3",          "one:1",
                                        "one:2",           "one:2,two:1",
                                        "one:1,watts:1",   "two:2,once:1",
                                        "two:3",           "one:1,two:1,watts:1,once:1"};
    for (;;) {
        _cleanup_free_ char *words =
            mem_printf("%s L=%s", sizes[test_between(chance, 0, COUNT(sizes) - 1)],
                       needs[test_between(chance, 0, COUNT(needs) - 1)]);
        struct job *j = test_job(w->c, id, words);
        j->limit_sec = test_between(chance, 1, 9) * 10;
        j->want.max_nodes = j->want.min_nodes;
        if (resource_possible(w->c, j, NULL) == 0 && select_possible(w->c, j, NULL) == 0) {
            job_partitions_queue(j);
            return;
        }
        cluster_remove_job(w->c, j);
    }
}

static struct use find_use(const struct world *w, const struct job *j,
                           const struct selection *where, int64_t from)
{
    struct use u = {.job = j, .from = from, .until = job_ends_at(j, from)};
    vec_foreach (&where->shares, share)
        u.set |= 1u << share->node;
    for (uint32_t i = 0; i < j->want.licenses.list.len; i++) {
        const struct license_need *need = &j->want.licenses.list.data[i];
        u.payers[i] = -1;
        vec_foreach (&where->payers, layer)
            if (*layer >= need->at &&
                *layer < need->at + (int32_t)w->c->licenses.list.data[need->at].pools)
                u.payers[i] = *layer;
    }
    return u;
}

static void check_start(struct world *w, const struct decision *d)
{
    int64_t due = search_start(w, d->job);
    int64_t start_at = d->kind == PLAN_START ? w->now_sec : d->start_at;
    w->tally->started += d->kind == PLAN_START;
    w->tally->planned += d->kind == PLAN_WAIT && start_at;
    if (start_at ? start_at != due : due == w->now_sec)
        fail_msg("seed %llu, job %u at %lld: starts at %lld, and could at %lld",
                 (unsigned long long)w->seed, d->job->id, (long long)w->now_sec,
                 (long long)start_at, (long long)due);
}

static void start_job(struct world *w, struct job *j, const struct selection *where)
{
    w->running[w->running_count++] = w->uses[w->count++] = find_use(w, j, where, w->now_sec);
    job_partitions_end(j);
    test_run_selection(w->c, j, where, job_ends_at(j, w->now_sec));
}

/* Notes the last planned start of the plan; a start found by an earlier pass may be noted nowhere
 * else. */
static void note_place(struct world *w, const struct plan_head *h, const struct decision *d)
{
    assert_int_equal(h->id, d->job->id);
    if (h->where.shares.len)
        w->places[h->id] = find_use(w, d->job, &h->where, d->start_at);
    assert_int_equal(w->places[h->id].from, d->start_at);
    w->uses[w->count++] = w->places[h->id];
}

static size_t plan_pass(struct world *w)
{
    struct plan p;
    struct decision d;
    size_t started = 0;
    memcpy(w->uses, w->running, sizeof(w->uses));
    w->count = w->running_count;
    plan_begin(&p, w->c, &w->notes, w->now_sec, true);
    while (plan_next(&p, &d)) {
        check_start(w, &d);
        struct job *j = test_follow(w->c, &d);
        if (d.kind == PLAN_START) {
            start_job(w, j, &d.where);
            started++;
        } else if (d.start_at) {
            note_place(w, &vec_last(&p.heads), &d);
        }
        plan_decision_done(&d);
        free(d.detail);
    }
    w->c->pool.freed += p.gave_up;
    plan_end(&p);
    return started;
}

static void end_job(struct world *w, size_t i)
{
    struct job *j = cluster_find_job(w->c, w->running[i].job->id);
    w->running[i] = w->running[--w->running_count];
    alloc_clear(w->c, j);
    order_remove(&w->c->ends, &j->attempt->ends);
    assert_int_equal(job_set_state(w->c, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL), 0);
}

/* Passes the time to the next limit, or ends a job earlier. */
static void pass_time(struct world *w, uint64_t *chance)
{
    int64_t next = INT64_MAX;
    bool is_early = w->ends_early && test_between(chance, 0, 1);
    if (is_early) {
        w->now_sec += test_between(chance, 0, 5);
        end_job(w, test_between(chance, 0, (uint32_t)w->running_count - 1));
    }
    for (size_t i = 0; i < w->running_count; i++)
        next = w->running[i].until < next ? w->running[i].until : next;
    if (!is_early && next > w->now_sec)
        w->now_sec = next;
    for (size_t i = w->running_count; i-- > 0;)
        if (w->running[i].until <= w->now_sec)
            end_job(w, i);
}

static void run_world(struct world *w)
{
    uint64_t chance = w->seed;
    w->now_sec = NOW;
    w->c = test_cluster(w->seed % 2 ? one_place : all_places);
    test_draw_layers(w->c, &chance, "watts", CONF_HRES_PER_NODE);
    test_draw_layers(w->c, &chance, "pipes", CONF_HRES_PER_NODE);
    test_draw_layers(w->c, &chance, "once", CONF_HRES_EACH_LAYER);
    test_draw_layers(w->c, &chance, "one", CONF_HRES_ONE_LAYER);
    test_draw_layers(w->c, &chance, "two", CONF_HRES_ONE_LAYER);
    test_up(w->c);
    for (uint32_t id = 1; id <= JOBS; id++)
        add_job(w, &chance, id);
    for (int turn = 0; w->c->pending && turn < 20 * JOBS; turn++) {
        while (plan_pass(w))
            ;
        if (w->running_count)
            pass_time(w, &chance);
    }
    assert_int_equal(w->c->pending, 0);
    plan_notes_done(&w->notes);
    test_cluster_free(w->c);
}

static void planned_start_is_that_of_exhaustive_search(void **state)
{
    struct tally tally = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        struct world w = {.seed = seed, .tally = &tally};
        run_world(&w);
    }
    assert_true(tally.planned > 5 * STATES && tally.started == JOBS * STATES);
}

static void planned_start_follows_jobs_that_end_early(void **state)
{
    struct tally tally = {0};
    (void)state;
    for (uint64_t seed = 1; seed <= STATES; seed++) {
        struct world w = {.seed = seed, .tally = &tally, .ends_early = true};
        run_world(&w);
    }
    assert_true(tally.planned > 5 * STATES && tally.started == JOBS * STATES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_start_is_that_of_exhaustive_search),
        cmocka_unit_test(planned_start_follows_jobs_that_end_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
