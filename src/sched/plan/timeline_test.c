/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/plan/timeline.h"

#include "base/test_drawn.h"
#include "sched/sched_test_util.h"

enum { NOW = 1000, NEVER = 0 };

static const char conf[] = CONS "NodeName=n[1-3] CPUs=4 RealMemory=1000\nNodeName=t Sockets=1 "
                                "CoresPerSocket=2 ThreadsPerCore=2 RealMemory=500 Weight=5\n"
                                "PartitionName=p Nodes=ALL\n";

static struct bitset *all_up(const struct cluster *c, const struct job *j)
{
    struct bitset *allowed = select_candidates(c, j);
    bitset_and(allowed, c->pool.usable);
    return allowed;
}

/* Expects this start and these nodes; 'at' NEVER: unforeseeable. */
static void expect(const struct cluster *c, const struct job *j, int64_t at, const char *where)
{
    _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
    struct selection s = {0};
    int64_t got = test_earliest(c, j, allowed, NOW, &s);
    _cleanup_free_ char *text = test_selection(c, &s);

    if (got != (at == NEVER ? NOW + CLUSTER_NO_LIMIT_SEC : at) || !str_eq(text, where))
        fail_msg("at %lld on '%s', expected %lld on '%s'", (long long)got, text, (long long)at,
                 where);
    select_done(&s);
}

static struct cluster *cluster_up(void)
{
    struct cluster *c = test_cluster(conf);
    test_up(c);
    return c;
}

static void nodes_are_found_step_by_step(void **state)
{
    struct cluster *c = cluster_up();
    struct timeline t, once;
    struct selection s = {0};

    (void)state;
    test_run(c, 1, "n1:4 n2:4", NOW + 50);
    test_run(c, 2, "n3:3", NOW + 50);
    test_run(c, 3, "t:1 n3:1", NOW + 90);
    struct job *j = test_job(c, 9, "n=14");
    _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
    timeline_init(&once, c, NOW);
    timeline_begin(&t, c, NOW);
    int steps = 1;
    while (timeline_fill(&t, 1))
        steps++;
    assert_int_equal(steps, 3);
    assert_int_equal(timeline_find(&once, j, allowed, &s), NOW + 90);
    assert_int_equal(timeline_find(&t, j, allowed, &s), NOW + 90);
    assert_int_equal(once.moments.len, t.moments.len);
    timeline_done(&t);
    timeline_done(&once);
    /* Other jobs are inserted, more than there was space for. */
    timeline_begin(&t, c, NOW);
    assert_true(timeline_fill(&t, 1));
    alloc_clear(c, cluster_find_job(c, 2));
    order_remove(&c->ends, &cluster_find_job(c, 2)->attempt->ends);
    job_set_state(c, cluster_find_job(c, 2), PB__JOB_STATE__COMPLETED, CAUSE_NONE, NULL);
    for (uint32_t id = 20; id < 23; id++)
        test_run(c, id, "n3:1", NOW + 60 + id);
    while (timeline_fill(&t, 1))
        ;
    j->want.tasks = 5; /* more than any node will ever have */
    j->want.min_nodes = j->want.max_nodes = 1;
    assert_int_equal(timeline_find(&t, j, allowed, &s), NOW + CLUSTER_NO_LIMIT_SEC);
    timeline_done(&t);
    select_done(&s);
    test_cluster_free(c);
}

static void impossible_request_has_no_start(void **state)
{
    struct cluster *c = cluster_up();

    (void)state;
    test_run(c, 1, "n1:4 n2:4", NOW + 50);
    struct job *j = test_job(c, 2, "N=5");
    expect(c, j, NEVER, "");
    j->want.min_nodes = 3;
    j->want.tasks = 13; /* more than three nodes will ever have */
    j->want.max_nodes = 3;
    expect(c, j, NEVER, "");
    cluster_remove_job(c, j);
    j = test_job(c, 2, "N=3 c=4 x=t");
    c->nodes.data[2]->drain = true;
    test_changed(c);
    expect(c, j, NEVER, "");
    c->nodes.data[2]->drain = false;
    test_changed(c);
    expect(c, j, NOW + 50, "n1:4/0 n2:4/0 n3:4/0");
    test_cluster_free(c);
}

static void empty_node_set_has_no_start(void **state)
{
    struct cluster *c = cluster_up();
    _cleanup_bitset_ struct bitset *none = bitset_new(c->nodes.len);
    struct selection s = {0};

    (void)state;
    struct job *j = test_job(c, 1, "n=2");
    expect(c, j, NOW, "n1:2/0");
    assert_true(test_earliest(c, j, none, NOW, &s) == NOW + CLUSTER_NO_LIMIT_SEC);
    assert_int_equal(s.shares.len, 0);
    test_cluster_free(c);
}

static void each_start_waits_for_its_releases(void **state)
{
    struct cluster *c = cluster_up();

    (void)state;
    test_run(c, 1, "n1:4", NOW + 300);
    test_run(c, 2, "n2:3", NOW + 100);
    test_run(c, 3, "n3:4 t:2", NOW + 200);
    expect(c, test_job(c, 11, ""), NOW, "n2:1/0");
    expect(c, test_job(c, 12, "N=1 n=2"), NOW + 100, "n2:2/0");
    expect(c, test_job(c, 13, "N=2 x=t"), NOW + 200, "n2:1/0 n3:1/0");
    expect(c, test_job(c, 14, "N=3 n=12 x=t"), NOW + 300, "n1:4/0 n2:4/0 n3:4/0");
    expect(c, test_job(c, 15, "w=n1"), NOW + 300, "n1:1/0");
    expect(c, test_job(c, 16, "w=t n=3"), NOW + 200, "t:2/0");
    expect(c, test_job(c, 17, "N=2 contiguous x=n3"), NOW + 300, "n1:1/0 n2:1/0");
    test_cluster_free(c);
}

/* Resources that are released at the same time are free together; a late job is expected to end
 * now. */
static void simultaneous_releases_are_combined(void **state)
{
    struct cluster *c = cluster_up();

    (void)state;
    test_run(c, 1, "n1:4", NOW + 100);
    test_run(c, 2, "n2:4", NOW + 100);
    test_run(c, 3, "n3:4 t:2", NOW + 101);
    expect(c, test_job(c, 11, "N=2"), NOW + 100, "n1:1/0 n2:1/0");
    expect(c, test_job(c, 12, ""), NOW + 100, "n1:1/0");
    expect(c, test_job(c, 13, "N=3"), NOW + 101, "n1:1/0 n2:1/0 n3:1/0");
    test_cluster_free(c);
    c = cluster_up();
    test_run(c, 1, "n1:4", NOW - 100);
    test_run(c, 2, "n2:4", NOW);
    test_run(c, 3, "n3:4 t:2", NOW + 7);
    expect(c, test_job(c, 11, "N=2"), NOW, "n1:1/0 n2:1/0");
    expect(c, test_job(c, 12, "N=3"), NOW + 7, "n1:1/0 n2:1/0 n3:1/0");
    test_cluster_free(c);
}

/* A job without a limit is assumed to end in a year. */
static void job_without_a_limit_ends_in_a_year(void **state)
{
    struct cluster *c = cluster_up();

    (void)state;
    test_run(c, 1, "n1:4 n2:4 t:2", NOW - 10 + CLUSTER_NO_LIMIT_SEC);
    test_run(c, 2, "n3:4", NOW + 60);
    expect(c, test_job(c, 11, "N=2"), NOW - 10 + CLUSTER_NO_LIMIT_SEC, "n1:1/0 n2:1/0");
    expect(c, test_job(c, 12, ""), NOW + 60, "n3:1/0");
    test_cluster_free(c);
}

/* Exclusive node: not before the last of its jobs has ended. */
static void exclusive_node_is_free_after_its_last_job(void **state)
{
    struct cluster *c = cluster_up();

    (void)state;
    test_run(c, 1, "n1:1 n2:1 n3:1 t:1", NOW + 100);
    test_run(c, 2, "n1:1", NOW + 200);
    test_run(c, 3, "n2:1", NOW + 300);
    struct job *alone = test_job(c, 4, "exclusive");
    test_run_job(c, alone, "", NOW + 50); /* holds nothing yet */
    expect(c, test_job(c, 11, "exclusive"), NOW + 100, "n3:4/0");
    expect(c, test_job(c, 12, "exclusive N=2 x=t"), NOW + 200, "n1:4/0 n3:4/0");
    expect(c, test_job(c, 13, "exclusive N=3 x=t"), NOW + 300, "n1:4/0 n2:4/0 n3:4/0");
    test_cluster_free(c);
    c = cluster_up();
    test_run_job(c, test_job(c, 1, "exclusive"), "n1:1 n2:4", NOW + 100);
    test_run(c, 2, "n3:4 t:2", NOW + 200);
    expect(c, test_job(c, 11, ""), NOW + 100, "n1:1/0");
    expect(c, test_job(c, 12, "n=4 N=1"), NOW + 100, "n1:4/0"); /* one job had the whole node */
    test_cluster_free(c);
}

/* A job that is cancelled while suspended holds no units, but its node is not empty before the node
 * has reported the end of the job. */
static void suspended_job_that_is_completing_holds_its_node(void **state)
{
    static const struct {
        const char *request;
        bool fits;
    } rows[] = {{"n=4", true}, {"exclusive", false}, {"exclusive-user", false}};
    struct cluster *c = cluster_up();

    (void)state;
    struct job *j = test_run(c, 1, "n1:4", NOW + 100);
    job_set_state(c, j, PB__JOB_STATE__SUSPENDED, CAUSE_NONE, NULL);
    park_leave(c, j, &attempt_of(j)->alloc.data[0]);
    assert_int_equal(job_set_state(c, j, PB__JOB_STATE__NODE_FAIL, CAUSE_NONE, NULL), 0);
    alloc_begin_completing(c, j);
    for (uint32_t i = 0; i < COUNT(rows); i++) {
        struct job *next = test_job(c, 10 + i, rows[i].request);
        struct selection where = {0};
        struct timeline t;
        next->uid = 7;
        _cleanup_bitset_ struct bitset *n1 = bitset_new(c->nodes.len);
        bitset_set(n1, 0);
        timeline_init(&t, c, NOW);
        if (timeline_fits_now(&t, next, n1, &where) != rows[i].fits)
            fail_msg("%s", rows[i].request);
        timeline_done(&t);
        select_done(&where);
    }
    test_sound(c);
    test_cluster_free(c);
}

static void early_released_nodes_are_free(void **state)
{
    struct cluster *c = cluster_up();
    struct job *j = test_run(c, 1, "n1:3 n2:4 n3:4 t:2", NOW + 100);

    (void)state;
    alloc_release(c, j, alloc_find(j, 0)); /* already free, and not freed twice */
    expect(c, test_job(c, 11, "N=1 n=4"), NOW, "n1:4/0");
    expect(c, test_job(c, 12, "N=2 n=8"), NOW + 100, "n1:4/0 n2:4/0");
    expect(c, test_job(c, 13, "N=1 n=5"), NEVER, "");
    test_cluster_free(c);
}

static void memory_becomes_free_with_its_jobs(void **state)
{
    struct cluster *c = cluster_up();

    (void)state;
    test_run(c, 1, "n1:1/600 n2:1/900 n3:1/900 t:1/500", NOW + 200);
    test_run(c, 2, "n1:1/400", NOW + 100);
    expect(c, test_job(c, 11, "mem=100"), NOW, "n2:1/100");
    expect(c, test_job(c, 12, "mem=101"), NOW + 100, "n1:1/101");
    expect(c, test_job(c, 13, "mem=401"), NOW + 200, "n1:1/401");
    expect(c, test_job(c, 14, "mem=0 w=n1"), NOW + 200, "n1:1/1000");
    expect(c, test_job(c, 15, "mem=1001"), NEVER, "");
    c->nodes.data[0]->amounts.mem_mib = 500; /* reduced while jobs run there */
    test_changed(c);
    expect(c, test_job(c, 16, "w=n1"), NOW + 200, "n1:1/0");
    expect(c, test_job(c, 17, "w=n1 mem=500"), NOW + 200, "n1:1/500");
    expect(c, test_job(c, 18, "w=n1 mem=501"), NEVER, "");
    test_cluster_free(c);
}

/* --- against real time: jobs end one after the other, and each time the selection is tried --- */

static void random_running(struct cluster *c, uint64_t *seed)
{
    for (uint32_t id = 1; id <= 8; id++) {
        struct job *j = test_job(c, id, test_between(seed, 0, 6) ? "" : "exclusive");
        for (uint32_t node = 0; node < c->nodes.len; node++)
            if (test_between(seed, 0, 1))
                alloc_take(c, j, node, test_between(seed, 1, 2), test_between(seed, 0, 200), NULL);
        int64_t end = NOW - 100 + (int64_t)test_between(seed, 0, 8) * 50;
        test_run_job(c, j, "", end);
        if (attempt_of(j)->alloc.len && test_between(seed, 0, 5) == 0)
            alloc_release(c, j, &attempt_of(j)->alloc.data[0]);
    }
    c->nodes.data[test_between(seed, 0, 3)]->drain = test_between(seed, 0, 3) == 0;
    test_changed(c);
}

static int64_t by_waiting(struct cluster *c, const struct job *j, struct selection *where)
{
    _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
    int64_t at = NOW;

    while (select_nodes(c, j, allowed, NULL, where) != 0) {
        struct order_link *l = order_first(&c->ends);
        if (!l)
            return NOW + CLUSTER_NO_LIMIT_SEC;
        at = l->key > NOW ? l->key : NOW; /* late jobs end at once */
        while ((l = order_first(&c->ends)) && l->key <= at) {
            alloc_clear(c, job_of_end(l));
            order_remove(&c->ends, l);
        }
    }
    return at;
}

static void one_future(uint64_t seed)
{
    static const char *const specs[] = {"n=3",
                                        "N=2",
                                        "N=2 n=6",
                                        "exclusive",
                                        "exclusive N=2",
                                        "mem=700",
                                        "mem-per-cpu=200 n=4",
                                        "N=1-2 n=7",
                                        "c=4",
                                        "N=3 contiguous",
                                        "w=t n=4",
                                        "mem=0 N=2",
                                        "N=4",
                                        "per-node=3 N=2",
                                        "mincpus=4 mem=900",
                                        "n=13"};
    struct cluster *c = test_cluster(conf);
    struct selection first = {0}, second = {0};

    test_up(c);
    random_running(c, &seed);
    test_sound(c);
    const struct job *j = test_job(c, 100, specs[test_between(&seed, 0, COUNT(specs) - 1)]);
    _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
    int64_t told = test_earliest(c, j, allowed, NOW, &first);
    int64_t waited = by_waiting(c, j, &second);
    _cleanup_free_ char *a = test_selection(c, &first), *b = test_selection(c, &second);
    if (told != waited || !str_eq(a, b))
        fail_msg("%lld on '%s' was told, %lld on '%s' came", (long long)told, a, (long long)waited,
                 b);
    select_done(&first);
    select_done(&second);
    test_cluster_free(c);
}

static void random_predictions_come_true(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(4000); seed++)
        one_future(seed);
}

/* --- against a list of claims --- */

struct claim {
    uint32_t node, units;
    int64_t mem_mib;
    int64_t from, until;
};

struct claims {
    VEC(struct claim) list;
};

static void claim_all(struct claims *all, const struct selection *s, int64_t from, int64_t until)
{
    vec_foreach (&s->shares, at)
        vec_push(&all->list,
                 ((struct claim){at->node, at->units, at->amounts.mem_mib, from, until}));
}

static void claim_running(const struct cluster *c, struct claims *all)
{
    vec_foreach (&c->jobs, j)
        vec_foreach (&attempt_of((*j))->alloc, a)
            if (!a->released) {
                int64_t end = (*j)->attempt->ends.key > NOW ? (*j)->attempt->ends.key : NOW;
                uint32_t units = (*j)->want.exclusive ? c->nodes.data[a->node]->units : a->units;
                vec_push(&all->list,
                         ((struct claim){a->node, units, a->amounts.mem_mib, TIMELINE_NOW, end}));
            }
}

/* Returns what is free on the node at that time. */
static bool left_at(const struct cluster *c, const struct claims *all, uint32_t node, int64_t at,
                    int64_t *units, int64_t *mem_mib)
{
    *units = c->nodes.data[node]->units;
    *mem_mib = c->nodes.data[node]->amounts.mem_mib;
    vec_foreach (&all->list, k)
        if (k->node == node && k->from <= at && at < k->until) {
            *units -= k->units;
            *mem_mib -= k->mem_mib;
        }
    return *units >= 0 && *mem_mib >= 0;
}

/* Whether the job fits from that time on by the list: the minimum over all begins of claims. */
static bool fits_by_list(const struct cluster *c, const struct claims *all, const struct job *j,
                         const struct bitset *allowed, int64_t from)
{
    uint32_t units[8];
    struct amounts amounts[8] = {0};
    bool whole[8];
    const struct unit_use *use[8] = {0};
    struct free_view view = {.units = units, .amounts = amounts, .whole = whole, .use = use};
    struct selection s = {0};

    for (uint32_t node = 0; node < c->nodes.len; node++) {
        int64_t least, least_mem, u, m;
        left_at(c, all, node, from, &least, &least_mem);
        vec_foreach (&all->list, k)
            if (k->node == node && k->from > from && k->from < from + j->limit_sec) {
                left_at(c, all, node, k->from, &u, &m);
                least = u < least ? u : least;
                least_mem = m < least_mem ? m : least_mem;
            }
        units[node] = (uint32_t)least;
        amounts[node].mem_mib = least_mem;
        whole[node] = least == c->nodes.data[node]->units;
    }
    bool fits = select_nodes(c, j, allowed, &view, &s) == 0;
    select_done(&s);
    return fits;
}

static void check_list(const struct cluster *c, const struct claims *all, uint64_t seed)
{
    int64_t units, mem;

    vec_foreach (&all->list, k)
        if (!left_at(c, all, k->node, k->from, &units, &mem))
            fail_msg("seed %llu: %s is given twice at %lld", (unsigned long long)seed,
                     c->nodes.data[k->node]->name, (long long)k->from);
}

static void check_earliest(const struct cluster *c, const struct claims *all, const struct job *j,
                           const struct bitset *allowed, int64_t found, uint64_t seed)
{
    vec_foreach (&all->list, k)
        if (k->until >= NOW && k->until < found && fits_by_list(c, all, j, allowed, k->until))
            fail_msg("seed %llu: job %u is to start at %lld and could at %lld",
                     (unsigned long long)seed, j->id, (long long)found, (long long)k->until);
    if (found < NOW + CLUSTER_NO_LIMIT_SEC && !fits_by_list(c, all, j, allowed, found))
        fail_msg("seed %llu: job %u does not fit at %lld", (unsigned long long)seed, j->id,
                 (long long)found);
}

static void one_row_of_reservations(uint64_t seed)
{
    static const char *const specs[] = {"n=3",     "N=2",       "exclusive", "mem=700",    "c=4",
                                        "N=2 n=6", "N=2-3 n=8", "w=t",       "N=3 mem=90", ""};
    struct cluster *c = test_cluster(conf);
    struct claims all = {0};
    struct timeline t;
    uint64_t chance = seed;

    test_up(c);
    random_running(c, &chance);
    claim_running(c, &all);
    timeline_init(&t, c, NOW);
    for (uint32_t id = 100; id < 112; id++) {
        struct selection s = {0};
        struct job *j = test_job(c, id, specs[test_between(&chance, 0, COUNT(specs) - 1)]);
        j->limit_sec = test_between(&chance, 1, 12) * 25;
        _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
        if (test_between(&chance, 0, 3) == 0 && timeline_fits_now(&t, j, allowed, &s)) {
            timeline_start(&t, j, &s);
            claim_all(&all, &s, TIMELINE_NOW, NOW + j->limit_sec);
        } else {
            int64_t at = timeline_find(&t, j, allowed, &s);
            check_earliest(c, &all, j, allowed, at, seed);
            timeline_reserve(&t, j, &s, at);
            claim_all(&all, &s, at, at + j->limit_sec);
        }
        check_list(c, &all, seed);
        select_done(&s);
    }
    timeline_done(&t);
    vec_done(&all.list);
    test_cluster_free(c);
}

static void reservations_in_a_row_agree_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(1500); seed++)
        one_row_of_reservations(seed);
}

/* Runs random jobs of all kinds, with shared cores and devices, until random times. */
static void run_drawn_jobs(struct cluster *c, uint64_t *chance)
{
    static const char *const specs[] = {"n=2",         "N=2 n=4", "exclusive", "p=f n=3",
                                        "p=f N=3 n=5", "mem=300", "gres=gpu:1"};
    for (uint32_t id = 1; id <= 24; id++) {
        struct job *j = test_job(c, id, specs[test_between(chance, 0, COUNT(specs) - 1)]);
        struct selection s = {0};
        _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
        if (select_nodes(c, j, allowed, NULL, &s) == 0) {
            test_run_selection(c, j, &s, NOW - 20 + (int64_t)test_between(chance, 0, 60) * 10);
        } else {
            cluster_remove_job(c, j);
        }
        select_done(&s);
    }
}

/* Asks both timelines the same question. */
static void compare_answers(struct timeline *some, struct timeline *all, const struct job *j,
                            bool now, uint64_t seed)
{
    const struct cluster *c = all->cluster;
    struct selection one = {0}, other = {0};
    _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
    int64_t at = NOW, due = NOW;
    if (now) {
        if (timeline_fits_now(some, j, allowed, &one) != timeline_fits_now(all, j, allowed, &other))
            fail_msg("seed %llu: job %u", (unsigned long long)seed, j->id);
    } else {
        at = timeline_find(some, j, allowed, &one);
        due = timeline_find(all, j, allowed, &other);
    }
    _cleanup_free_ char *here = test_selection(c, &one), *there = test_selection(c, &other);
    if (at != due || !str_eq(here, there))
        fail_msg("seed %llu: job %u at %lld on '%s', of all at %lld on '%s'",
                 (unsigned long long)seed, j->id, (long long)at, here, (long long)due, there);
    if (now && one.shares.len) {
        timeline_start(some, j, &one);
        timeline_start(all, j, &other);
    } else if (one.shares.len) {
        timeline_reserve(some, j, &one, at);
        timeline_reserve(all, j, &other, due);
    }
    select_done(&one);
    select_done(&other);
}

/* A timeline that is filled on demand gives the same answers as a complete one. */
static void answers_do_not_depend_on_how_much_is_filled(void **state)
{
    static const char *const specs[] = {"n=3",     "N=2",     "exclusive", "mem=700",
                                        "c=4",     "N=2 n=6", "N=3",       "gres=gpu:2",
                                        "p=f n=3", "",        "N=4 n=4"};
    size_t partly = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= TEST_DRAWN(2000); seed++) {
        struct cluster *c =
            test_cluster(CONS "GresTypes=gpu\nNodeName=n[1-3] CPUs=4 RealMemory=1000\n"
                              "NodeName=g CPUs=8 RealMemory=2000 Gres=gpu:2 Weight=5\n"
                              "PartitionName=p Nodes=ALL Default=YES\n"
                              "PartitionName=f Nodes=ALL OverSubscribe=FORCE:2\n");
        uint64_t chance = seed;
        struct timeline some, all;
        test_up(c);
        run_drawn_jobs(c, &chance);
        timeline_init(&all, c, NOW);
        timeline_begin(&some, c, NOW);
        some.fill_step = 1;
        for (uint32_t id = 100; id < 108; id++) {
            struct job *j = test_job(c, id, specs[test_between(&chance, 0, COUNT(specs) - 1)]);
            j->limit_sec = test_between(&chance, 1, 12) * 25;
            compare_answers(&some, &all, j, test_between(&chance, 0, 3) == 0, seed);
            partly += !some.filled && id > 103;
        }
        assert_false(timeline_is_stale(&some));
        timeline_done(&some);
        timeline_done(&all);
        test_cluster_free(c);
    }
    assert_true(partly > TEST_DRAWN(2000) / 4);
}

/* After a change of running jobs an incomplete timeline is invalid. */
static void is_stale_after_a_change_until_it_is_filled(void **state)
{
    struct cluster *c = cluster_up();
    struct timeline t;
    (void)state;
    test_run(c, 1, "n1:4", NOW + 50);
    timeline_begin(&t, c, NOW);
    assert_false(timeline_is_stale(&t));
    test_run(c, 2, "n2:4", NOW + 60);
    assert_true(timeline_is_stale(&t));
    timeline_fill(&t, SIZE_MAX);
    assert_false(timeline_is_stale(&t));
    timeline_done(&t);
    test_cluster_free(c);
}

/* A reserved core leaves the rest of its node available. */
static void part_of_a_node_is_free_earlier(void **state)
{
    struct cluster *c = cluster_up();
    struct timeline t;
    struct selection s = {0};

    (void)state;
    test_run(c, 1, "n1:2 n2:4 n3:4 t:2", NOW + 100);
    struct job *head = test_job(c, 2, "w=n1 n=3"), *small = test_job(c, 3, "w=n1 mem=10");
    _cleanup_bitset_ struct bitset *n1 = all_up(c, head);
    head->limit_sec = small->limit_sec = 1000;
    timeline_init(&t, c, NOW);
    assert_int_equal(timeline_find(&t, head, n1, &s), NOW + 100);
    timeline_reserve(&t, head, &s, NOW + 100);
    assert_true(timeline_fits_now(&t, small, n1, &s));
    timeline_start(&t, small, &s);
    assert_false(timeline_fits_now(&t, small, n1, &s)); /* the planned job needs the other three */
    small->limit_sec = 100;
    assert_true(timeline_fits_now(&t, small, n1, &s)); /* ends before the planned start */
    select_done(&s);
    timeline_done(&t);
    test_cluster_free(c);
}

/* A shared unit is free when its last job ends; it may be shared before. */
static void shared_units_are_free_after_their_last_job(void **state)
{
    struct cluster *c = test_cluster(CONS "NodeName=n[1-2] CPUs=4 RealMemory=1000\n"
                                          "PartitionName=f Nodes=ALL OverSubscribe=FORCE:2\n"
                                          "PartitionName=p Nodes=ALL\n");
    test_up(c);
    struct job *a = test_job(c, 1, ""), *b = test_job(c, 2, "");
    test_run_job(c, a, "n1:4", NOW + 50);
    test_run_job(c, b, "n1:3", NOW + 80);
    struct job *j = test_job(c, 3, "n=2");
    expect(c, j, NOW, "n2:2/0");      /* free units come first */
    test_run(c, 4, "n2:4", NOW + 60); /* shares because it is in the first partition */
    expect(c, j, NOW, "n2:2/0");
    j = test_job(c, 5, "p=p w=n1 n=1");
    expect(c, j, NOW + 50, "n1:1/0");
    j = test_job(c, 6, "p=p w=n1 N=1 n=2");
    expect(c, j, NOW + 80, "n1:2/0");
    j = test_job(c, 7, "w=n1 N=1 n=2");
    expect(c, j, NOW + 50, "n1:2/0");
    test_sound(c);
    test_cluster_free(c);
}

/* A search on a large cluster visits the nodes on which something ends, not all nodes. */
static void only_nodes_where_something_ends_are_laid_out(void **state)
{
    struct cluster *c = cluster_up();
    struct selection s = {0};
    struct timeline t;

    (void)state;
    test_run(c, 1, "n2:4", NOW + 50);
    timeline_init(&t, c, NOW);
    assert_int_equal(bitset_count(t.laid_out), 1);
    assert_int_equal(t.nodes[1].len, 2); /* now, and after the end of its job */
    assert_int_equal(bitset_count(t.open), 4);
    struct job *j = test_job(c, 2, "w=n3 n=4");
    j->limit_sec = 60;
    _cleanup_bitset_ struct bitset *allowed = all_up(c, j);
    assert_int_equal(timeline_find(&t, j, allowed, &s), NOW);
    timeline_start(&t, j, &s);
    assert_int_equal(bitset_count(t.laid_out), 2);
    assert_int_equal(timeline_find(&t, j, allowed, &s), NOW + 60);
    select_done(&s);
    timeline_done(&t);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shared_units_are_free_after_their_last_job),
        cmocka_unit_test(only_nodes_where_something_ends_are_laid_out),
        cmocka_unit_test(reservations_in_a_row_agree_with_a_model),
        cmocka_unit_test(answers_do_not_depend_on_how_much_is_filled),
        cmocka_unit_test(is_stale_after_a_change_until_it_is_filled),
        cmocka_unit_test(part_of_a_node_is_free_earlier),
        cmocka_unit_test(nodes_are_found_step_by_step),
        cmocka_unit_test(impossible_request_has_no_start),
        cmocka_unit_test(empty_node_set_has_no_start),
        cmocka_unit_test(each_start_waits_for_its_releases),
        cmocka_unit_test(simultaneous_releases_are_combined),
        cmocka_unit_test(job_without_a_limit_ends_in_a_year),
        cmocka_unit_test(exclusive_node_is_free_after_its_last_job),
        cmocka_unit_test(early_released_nodes_are_free),
        cmocka_unit_test(memory_becomes_free_with_its_jobs),
        cmocka_unit_test(random_predictions_come_true),
        cmocka_unit_test(suspended_job_that_is_completing_holds_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
