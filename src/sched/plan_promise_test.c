/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole lives of random queues, planned pass by pass while time goes on: what a waiting head was
 * told to be its start never gets later because of jobs behind it, nothing is over-allocated, and
 * every job gets its turn.
 */
#include "sched/sched_test_util.h"

enum { JOBS = 40, DONE = JOBS * 50 };

static const char conf[] =
    CONS "NodeName=n[1-4] CPUs=4 RealMemory=400\nNodeName=big CPUs=8 RealMemory=1600 Weight=3\n"
         "PartitionName=p Nodes=ALL\nPartitionName=q Nodes=n[3-4],big PriorityTier=2\n"
         "PartitionName=r Nodes=n[1-2]\n";

struct life {
    struct cluster *c;
    uint64_t seed;
    int64_t now_sec;
    bool backfill, rests;
    size_t parts, backfilled, ended;
    int64_t promised[JOBS + 1]; /* to job i; 0: nothing yet */
    struct order_link last[3];  /* the last that was started, by partition */
};

static void wrong(const struct life *l, uint32_t id, const char *what)
{
    fail_msg("seed %llu, job %u at %lld: %s", (unsigned long long)l->seed, id,
             (long long)l->now_sec, what);
}

static void add_job(struct life *l, uint64_t *chance, uint32_t id)
{
    static const char *const specs[] = {
        "",        "n=3",           "N=2",           "N=4",     "N=1-3 n=6",          "c=4",
        "N=2 n=7", "exclusive",     "exclusive N=2", "mem=350", "mem-per-cpu=90 n=4", "c=2 n=3",
        "N=5",     "N=3 contiguous"};
    struct job *j;

    for (;;) { /* one that its partition can hold */
        j = test_job(l->c, id, specs[test_between(chance, 0, COUNT(specs) - 1)]);
        j->part = l->c->parts.data[test_between(chance, 0, (uint32_t)l->parts - 1)];
        if (select_possible(l->c, j, NULL) == 0)
            break;
        cluster_remove_job(l->c, j);
    }
    j->limit_sec = test_between(chance, 0, 30) ? test_between(chance, 1, 40) * 10 : INT64_MAX;
    int64_t priority = test_between(chance, 0, 3);
    order_insert(&j->part->queue, &j->queued, -priority, id);
}

/* Without backfill a partition's jobs start in the order of its queue. */
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
    struct job *j = d->job;
    int64_t limit = j->limit_sec > CLUSTER_NO_LIMIT_SEC ? CLUSTER_NO_LIMIT_SEC : j->limit_sec;
    _cleanup_free_ char *where = test_selection(l->c, &d->where);

    if (!l->backfill)
        keep_order(l, j);
    order_remove(&j->part->queue, &j->queued);
    test_run_job(l->c, j, where, l->now_sec + limit);
    l->backfilled += d->backfilled;
}

/* A job of a higher tier may come before a promise to one of a lower: no promise is held to that.
 */
static void keep_promise(struct life *l, const struct decision *d)
{
    int64_t *promised = &l->promised[d->job->id];

    if (!d->start_at || l->parts > 1)
        return;
    if (d->start_at < l->now_sec)
        wrong(l, d->job->id, "is to start in the past");
    if (*promised && d->start_at > *promised)
        wrong(l, d->job->id, "is put off");
    *promised = d->start_at;
}

static void pass(struct life *l)
{
    struct plan p;
    struct decision d;
    struct job *heads[4];
    int64_t told[4];
    size_t n = 0;

    plan_begin(&p, l->c, l->now_sec, l->backfill);
    while (plan_next(&p, &d)) {
        if (l->rests)
            plan_resume(&p, l->now_sec);
        if (d.kind == PLAN_START) {
            start(l, &d);
        } else {
            keep_promise(l, &d);
            if (d.start_at) {
                heads[n] = d.job;
                told[n++] = d.start_at;
            }
        }
        d.job->expected_at = d.start_at;
        select_done(&d.where);
        free(d.detail);
    }
    plan_end(&p);
    test_sound(l->c);
    for (size_t i = 0; i < n; i++) { /* what started after the promise has not moved it */
        _cleanup_bitset_ struct bitset *allowed = select_candidates(l->c, heads[i]);
        struct selection s = {0};
        if (timeline_earliest(l->c, heads[i], allowed, l->now_sec, &s) > told[i])
            wrong(l, heads[i]->id, "is delayed by a job behind it");
        select_done(&s);
    }
}

/* What is remembered from look to look hides nothing: who is looked at anew does not start either.
 */
static void nothing_overlooked(struct life *l)
{
    struct plan p;
    struct decision d;

    vec_foreach (&l->c->jobs, j)
        (*j)->unfit_stamp = (*j)->ahead_stamp = 0;
    plan_begin(&p, l->c, l->now_sec, l->backfill);
    while (plan_next(&p, &d)) {
        if (d.kind == PLAN_START)
            wrong(l, d.job->id, "was overlooked");
        if (d.start_at && d.start_at != d.job->expected_at)
            wrong(l, d.job->id, "was told another start");
        free(d.detail);
    }
    plan_end(&p);
}

/* To the next end of a job: at its limit, or before. */
static bool pass_time(struct life *l, uint64_t *chance)
{
    struct order_link *first = order_first(&l->c->ends);
    if (!first)
        return false;
    struct job *j = order_item(first, struct job, ends);
    int64_t left = first->key - l->now_sec;
    if (left > 0 && test_between(chance, 0, 2) == 0) { /* any running job ends early */
        for (uint32_t skip = test_between(chance, 0, 3); skip && order_next(&j->ends); skip--)
            j = order_item(order_next(&j->ends), struct job, ends);
        left = (int64_t)test_between(chance, 0, left > 100 ? 100 : (uint32_t)left);
    }
    l->now_sec += left;
    alloc_clear(l->c, j);
    order_remove(&l->c->ends, &j->ends);
    if (job_set_state(l->c, j, PB__JOB_STATE__COMPLETED) != 0)
        wrong(l, j->id, "has ended before");
    l->ended++;
    return true;
}

static void live(struct life *l)
{
    uint64_t chance = l->seed;

    l->c = test_cluster(conf);
    l->now_sec = 1000;
    test_up(l->c);
    for (uint32_t id = 1; id <= JOBS; id++)
        add_job(l, &chance, id);
    pass(l);
    for (int turn = 0; turn < DONE && pass_time(l, &chance); turn++) {
        pass(l);
        pass(l); /* as after a submission: nothing has become free */
        nothing_overlooked(l);
    }
    if (l->ended != JOBS || l->c->pending || l->c->running)
        wrong(l, 0, "some never had their turn");
    vec_foreach (&l->c->nodes, n)
        assert_int_equal((*n)->free_units, (*n)->units);
    test_cluster_free(l->c);
}

static void one_partition(void **state)
{
    size_t backfilled = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct life l = {.seed = seed, .parts = 1, .backfill = true, .rests = seed % 2};
        live(&l);
        backfilled += l.backfilled;
    }
    assert_true(backfilled > 150 * JOBS / 20); /* holes were filled */
}

static void three_partitions(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct life l = {.seed = seed, .parts = 3, .backfill = true, .rests = seed % 2};
        live(&l);
    }
}

static void in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct life l = {.seed = seed, .parts = 1 + seed % 3};
        live(&l);
        assert_int_equal(l.backfilled, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_partition),
        cmocka_unit_test(three_partitions),
        cmocka_unit_test(in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
