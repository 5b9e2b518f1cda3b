/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Complete lives of random queues, planned pass by pass while time passes: jobs behind the first
 * waiting job never delay its announced start, nothing is over-allocated, and every job runs
 * eventually.
 */
#include "base/test_drawn.h"
#include "cluster/job/license_layer.h"
#include "sched/sched_test_util.h"

enum { JOBS = 40, DONE = JOBS * 50 };

static const char conf[] =
    CONS "Licenses=x:3,y:1\nNodeName=n[1-4] CPUs=4 RealMemory=400\nNodeName=big CPUs=8 "
         "RealMemory=1600 Weight=3\n"
         "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=n[3-4],big PriorityTier=2\n"
         "PartitionName=r Nodes=n[1-2]\n";

struct life {
    struct cluster *c;
    struct plan_notes notes;
    uint64_t seed;
    int64_t now_sec;
    bool backfill, rests, several; /* several: jobs may run in more than one partition */
    bool shorter;                  /* some may run shorter than requested */
    bool licensed;                 /* some need licences */
    bool layered;                  /* some need resources tied to nodes */
    bool either;                   /* some need one of several licences or tied resources */
    size_t parts, backfilled, shortened, ended;
    size_t second;              /* number of starts with another than the first alternative */
    int64_t promised[JOBS + 1]; /* announced start of job i; 0: none yet */
    struct order_link last[3];  /* the last started job, by partition */
};

static void wrong(const struct life *l, uint32_t id, const char *what)
{
    fail_msg("seed %llu, job %u at %lld: %s", (unsigned long long)l->seed, id,
             (long long)l->now_sec, what);
}

/* Two thirds of the jobs may run in other partitions too, in any order; in one of them with a
 * shorter limit. */
static struct job *with_parts(struct life *l, uint64_t *chance, struct job *j, const char *words)
{
    struct str all = STR_INIT;
    uint32_t id = j->id;
    int64_t limit_sec = j->limit_sec;

    str_printf(&all, "%s p=%s", words, j->part->conf.name);
    for (size_t i = 0; i < l->parts; i++)
        if (l->c->parts.data[i] != j->part && test_between(chance, 0, 1))
            str_printf(&all, ",%s", l->c->parts.data[i]->conf.name);
    cluster_remove_job(l->c, j);
    j = test_job(l->c, id, str_cstr(&all));
    str_done(&all);
    j->limit_sec = limit_sec;
    for (uint32_t i = 1; j->partitions && i < j->partitions->count; i++)
        j->partitions->of[i].limit_sec = test_between(chance, 0, 2) ? limit_sec : 30;
    return j;
}

/* Two resources: every job holds its count once per layer of the first resource, and once per node
 * of the second. */
static void add_layers(struct cluster *c)
{
    static const struct {
        uint32_t first, count, total;
    } layers[] = {{0, 5, 4}, {0, 2, 2}, {2, 2, 3}};
    for (size_t i = 0; i < 2 * COUNT(layers); i++) {
        struct bitset *nodes = bitset_new(c->nodes.len);
        size_t of = i % COUNT(layers);
        bitset_set_range(nodes, layers[of].first, layers[of].count);
        if (i < COUNT(layers))
            license_add_layer(c, "flat", CONF_HRES_EACH_LAYER, nodes, layers[of].total);
        else
            license_add_layer(c, "power", CONF_HRES_PER_NODE, nodes,
                              10 * (uint64_t)layers[of].total);
    }
}

static void add_job(struct life *l, uint64_t *chance, uint32_t id)
{
    static const char *const specs[] = {
        "",        "n=3",           "N=2",           "N=4",     "N=1-3 n=6",          "c=4",
        "N=2 n=7", "exclusive",     "exclusive N=2", "mem=350", "mem-per-cpu=90 n=4", "c=2 n=3",
        "N=5",     "N=3 contiguous"};
    static const char *const needs[] = {NULL, "x:1", NULL, "x:2", "y:1", "x:1,y:1", "x:3"};
    static const char *const layers[] = {NULL,      "flat:1",  "flat:2",         "power:10",  NULL,
                                         "power:5", "power:7", "flat:1,power:6", "x:1,flat:3"};
    static const char *const either[] = {NULL,      "x:2|y:1",        "y:1|x:1", "flat:1|power:10",
                                         "x:3|x:1", "power:7|flat:2", NULL,      "y:1|flat:3"};
    const char *layer = l->either    ? either[id % COUNT(either)]
                        : l->layered ? layers[id % COUNT(layers)]
                                     : NULL;
    struct job *j;
    const char *words;

    for (;;) { /* until the partition can hold it */
        words = specs[test_between(chance, 0, COUNT(specs) - 1)];
        j = test_job(l->c, id, words);
        j->part = l->c->parts.data[test_between(chance, 0, (uint32_t)l->parts - 1)];
        if (layer)
            assert_int_equal(license_read(l->c, layer, &j->want.licenses, NULL), 0);
        if (select_possible(l->c, j, NULL) == 0)
            break;
        cluster_remove_job(l->c, j);
    }
    j->limit_sec = test_between(chance, 0, 30) ? test_between(chance, 1, 40) * 10 : INT64_MAX;
    if (l->shorter && test_between(chance, 0, 1))
        j->time_min_sec = test_between(chance, 1, 20) * 10;
    if (l->several)
        j = with_parts(l, chance, j, words);
    if (l->licensed && needs[id % COUNT(needs)])
        assert_int_equal(license_read(l->c, needs[id % COUNT(needs)], &j->want.licenses, NULL), 0);
    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        j->priority = test_between(chance, 0, 3);
        if (select_possible(l->c, j, NULL) == 0)
            job_partitions_queue(j);
    }
    job_partitions_select_first(j);
}

/* Without backfill the jobs of a partition start in the order of its queue. */
static void keep_order(struct life *l, const struct job *j)
{
    for (size_t i = 0; i < l->parts; i++) {
        struct order_link *last = &l->last[i];
        if (j->part != l->c->parts.data[i])
            continue;
        if (last->in && (last->key > j->queued.key ||
                         (last->key == j->queued.key && last->tie > j->queued.tie)))
            wrong(l, j->id, "has overtaken another");
        *last = j->queued;
    }
}

static void start(struct life *l, struct decision *d)
{
    struct job *j = test_follow(l->c, d);
    if (d->limit_sec) {
        if (d->limit_sec >= j->limit_sec || d->limit_sec < j->time_min_sec || !j->time_min_sec)
            wrong(l, j->id, "is too long, or too short");
        j->limit_sec = d->limit_sec;
        l->shortened++;
    }
    int64_t limit = job_limit_sec(j);
    l->second += d->license > 0;
    _cleanup_free_ char *where = test_selection(l->c, &d->where);

    if (!l->backfill && !l->layered) /* jobs that wait for licences may be overtaken */
        keep_order(l, j);
    job_partitions_end(j);
    test_run_job(l->c, j, where, l->now_sec + limit);
    l->backfilled += d->backfilled;
}

/* Whether a start is half a year away or more: the job waits for licences of a job without a time
 * limit, and nothing is reserved for it. */
static bool is_far(const struct life *l, const struct decision *d)
{
    return l->licensed && d->start_at - l->now_sec >= CLUSTER_NO_LIMIT_SEC / 2;
}

/* A job of a higher tier may delay a job of a lower tier, in spite of an announced start, and a job
 * that starts in another partition gives up its planned start to such a job. 'first': no job before
 * it waits; a waiting job may start earlier than announced and move this one. */
static void keep_promise(struct life *l, const struct decision *d, bool first)
{
    int64_t *promised = &l->promised[d->job->id];

    if (!d->start_at || is_far(l, d) || l->parts > 1 || d->job->partitions)
        return;
    if (d->start_at < l->now_sec)
        wrong(l, d->job->id, "is to start in the past");
    if (*promised && d->start_at > *promised)
        wrong(l, d->job->id, "is put off");
    *promised = first ? d->start_at : *promised;
}

/* Returns the earliest start in any of its partitions. */
static int64_t earliest(struct life *l, struct job *j)
{
    int64_t first = INT64_MAX;

    for (uint32_t i = 0; i < job_partitions_count(j); i++) {
        job_partitions_select(j, i);
        _cleanup_bitset_ struct bitset *allowed = select_candidates(l->c, j);
        for (uint32_t n = 0; n < license_count_alternatives(j); n++) {
            struct job_copy room;
            struct selection s = {0};
            const struct job *as = license_view_alternative(j, n, &room);
            int64_t at = test_earliest(l->c, as, allowed, l->now_sec, &s);
            first = at < first ? at : first;
            select_done(&s);
        }
    }
    job_partitions_select_first(j);
    return first;
}

/* Whether the job has a planned start. A job with a distant start has none; a job among many that
 * wait for licences has one, and is told when it gets the licences. */
static bool has_place(const struct life *l, const struct decision *d)
{
    if (l->either && d->reason == REASON_LICENSES)
        return false;
    return d->start_at && !is_far(l, d);
}

static void pass(struct life *l)
{
    struct plan p;
    struct decision d;
    uint32_t heads[JOBS * 3]; /* examined in each partition */
    int64_t told[JOBS * 3];
    size_t n = 0;
    bool first = true;

    plan_begin(&p, l->c, &l->notes, l->now_sec, l->backfill);
    while (plan_next(&p, &d)) {
        if (l->rests)
            plan_resume(&p, l->now_sec);
        if (d.kind == PLAN_START) {
            start(l, &d);
        } else {
            keep_promise(l, &d, first);
            first = false;
            if (has_place(l, &d)) {
                heads[n] = d.job->id;
                told[n++] = d.start_at;
            }
        }
        if (d.kind == PLAN_WAIT)
            test_follow(l->c, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    l->c->pool.freed += p.gave_up;
    plan_end(&p);
    test_sound(l->c);
    vec_foreach (&l->c->licenses.list, of)
        assert_true(of->used <= of->total);
    assert_int_equal(resource_license.check(l->c, NULL), 0);
    for (size_t i = 0; i < n; i++) { /* jobs started after the announcement have not delayed it */
        struct job *j = cluster_find_job(l->c, heads[i]);
        if (j->state == PB__JOB_STATE__PENDING && earliest(l, j) > told[i])
            wrong(l, j->id, "is delayed by a job behind it");
    }
}

/* Notes of earlier passes hide no possible start: a pass without notes starts no other job. Of
 * several planned starts in a row one may be found earlier without notes, and then moves those
 * behind it. */
static void nothing_overlooked(struct life *l)
{
    struct plan p;
    struct decision d;
    int64_t told[JOBS + 1] = {0};

    plan_begin(&p, l->c, NULL, l->now_sec, l->backfill);
    while (plan_next(&p, &d)) {
        if (d.kind == PLAN_START)
            wrong(l, d.job->id, "was overlooked");
        told[d.job->id] = d.start_at; /* the last one applies to all of its partitions */
        free(d.detail);
    }
    plan_end(&p);
    vec_foreach (&l->c->jobs, at)
        if (!l->several && !l->licensed && !l->layered && told[(*at)->id] &&
            told[(*at)->id] != (*at)->expected_at)
            wrong(l, (*at)->id, "was told another start");
}

/* Passes the time to the next end of a job: at its limit or earlier. */
static bool pass_time(struct life *l, uint64_t *chance)
{
    struct order_link *first = order_first(&l->c->ends);
    if (!first)
        return false;
    struct job *j = job_of_end(first);
    int64_t left = first->key - l->now_sec;
    if (left > 0 && test_between(chance, 0, 2) == 0) { /* a random running job ends early */
        for (uint32_t skip = test_between(chance, 0, 3); skip && order_next(&j->attempt->ends);
             skip--)
            j = job_of_end(order_next(&j->attempt->ends));
        left = (int64_t)test_between(chance, 0, left > 100 ? 100 : (uint32_t)left);
    }
    l->now_sec += left;
    alloc_clear(l->c, j);
    order_remove(&l->c->ends, &j->attempt->ends);
    if (job_set_state(l->c, j, PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL) != 0)
        wrong(l, j->id, "has ended before");
    l->ended++;
    return true;
}

/* Runs passes as after a submission. A start can take the layers of a job before it: without
 * backfill the jobs behind that one may then overtake it. */
static void pass_until_nothing_changes(struct life *l)
{
    const struct pool *pool = &l->c->pool;
    uint64_t freed, taken;
    do {
        freed = pool->freed;
        taken = pool->taken;
        pass(l);
    } while (freed != pool->freed || (l->layered && taken != pool->taken));
}

static void live(struct life *l)
{
    uint64_t chance = l->seed;

    l->c = test_cluster(conf);
    if (l->layered)
        add_layers(l->c);
    l->now_sec = 1000;
    test_up(l->c);
    for (uint32_t id = 1; id <= JOBS; id++)
        add_job(l, &chance, id);
    pass(l);
    for (int turn = 0; turn < DONE && pass_time(l, &chance); turn++) {
        pass(l);
        pass_until_nothing_changes(l);
        nothing_overlooked(l);
    }
    if (l->ended != JOBS || l->c->pending || l->c->running)
        wrong(l, 0, "some never had their turn");
    vec_foreach (&l->c->nodes, n)
        assert_int_equal((*n)->free_units, (*n)->units);
    plan_notes_done(&l->notes);
    test_cluster_free(l->c);
}

static void planned_starts_are_kept_in_one_partition(void **state)
{
    size_t backfilled = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(150); seed++) {
        struct life l = {.seed = seed, .parts = 1, .backfill = true, .rests = seed % 2};
        live(&l);
        backfilled += l.backfilled;
    }
    assert_true(backfilled > TEST_DRAWN(150) * JOBS / 20); /* gaps were filled */
}

static void planned_starts_are_kept_in_three_partitions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(150); seed++) {
        struct life l = {.seed = seed, .parts = 3, .backfill = true, .rests = seed % 2};
        live(&l);
    }
}

static void planned_starts_are_kept_for_jobs_of_several_partitions(void **state)
{
    size_t backfilled = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(300); seed++) {
        struct life l = {
            .seed = seed, .parts = 3, .backfill = true, .rests = seed % 2, .several = true};
        live(&l);
        backfilled += l.backfilled;
    }
    assert_true(backfilled > TEST_DRAWN(300) * JOBS / 20);
}

/* Jobs that accept a shorter run time do not delay the jobs before them. */
static void planned_starts_are_kept_beside_jobs_of_shorter_time(void **state)
{
    size_t shortened = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(200); seed++) {
        struct life l = {.seed = seed,
                         .parts = seed % 4 ? 1 : 3,
                         .backfill = true,
                         .rests = seed % 2,
                         .shorter = true,
                         .several = seed % 8 == 0};
        live(&l);
        shortened += l.shortened;
    }
    assert_true(shortened > TEST_DRAWN(200));
}

/* Jobs that need no licences do not delay jobs that wait for licences. */
static void planned_starts_are_kept_with_licences(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(300); seed++) {
        struct life l = {.seed = seed,
                         .parts = seed % 3 ? 1 : 3,
                         .backfill = true,
                         .rests = seed % 2,
                         .several = seed % 6 == 0,
                         .licensed = true};
        live(&l);
    }
}

/* The same with resources tied to nodes. */
static void planned_starts_are_kept_with_layers(void **state)
{
    size_t backfilled = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(600); seed++) {
        struct life l = {.seed = seed,
                         .parts = seed % 3 ? 1 : 3,
                         .backfill = seed % 5,
                         .rests = seed % 2,
                         .several = seed % 6 == 0,
                         .layered = true};
        live(&l);
        backfilled += l.backfilled;
    }
    assert_true(backfilled > TEST_DRAWN(600) * JOBS / 40);
}

/* The same with alternative licences. */
static void planned_starts_are_kept_with_alternatives(void **state)
{
    size_t second = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(200); seed++) {
        struct life l = {.seed = seed,
                         .parts = seed % 3 ? 1 : 3,
                         .backfill = true,
                         .rests = seed % 2,
                         .several = seed % 6 == 0,
                         .layered = true,
                         .either = true};
        live(&l);
        second += l.second;
    }
    assert_true(second > TEST_DRAWN(200) * JOBS / 20);
}

static void jobs_start_in_order_without_backfill(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(100); seed++) {
        struct life l = {.seed = seed, .parts = 1 + seed % 3};
        live(&l);
        assert_int_equal(l.backfilled, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_starts_are_kept_in_one_partition),
        cmocka_unit_test(planned_starts_are_kept_in_three_partitions),
        cmocka_unit_test(planned_starts_are_kept_for_jobs_of_several_partitions),
        cmocka_unit_test(planned_starts_are_kept_beside_jobs_of_shorter_time),
        cmocka_unit_test(planned_starts_are_kept_with_licences),
        cmocka_unit_test(planned_starts_are_kept_with_layers),
        cmocka_unit_test(planned_starts_are_kept_with_alternatives),
        cmocka_unit_test(jobs_start_in_order_without_backfill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
