/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The planner against the ledger: selections for random requests about tasks, sockets, CPUs and
 * GPUs can be allocated, on idle nodes every request that is not rejected gets a selection, and a
 * job can start at its planned start when the running jobs have ended.
 */
#include "base/test_drawn.h"
#include "cluster/resource/gres_cores.h"
#include "sched/sched_test_util.h"

enum { CASES = TEST_DRAWN(20000) };

#define NODES(restricted)                                                                          \
    "GresTypes=gpu\nDefMemPerCPU=100\n"                                                            \
    "NodeName=n[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000 "                 \
    "Gres=gpu:tesla:2" restricted "\n"                                                             \
    "NodeName=n[3-4] Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=16000 "                \
    "Gres=gpu:kepler:4" restricted "\n"                                                            \
    "NodeName=n[5-6] CPUs=4 RealMemory=4000\n"                                                     \
    "PartitionName=p Nodes=ALL Default=YES\n"                                                      \
    "GresConf=1 NodeName=n[1-2] Name=gpu Type=tesla Count=1 Cores=0-3\n"                           \
    "GresConf=1 NodeName=n[1-2] Name=gpu Type=tesla Count=1 Cores=4-7\n"                           \
    "GresConf=1 NodeName=n[3-4] Name=gpu Type=kepler Count=4 Cores=2-7\n"
#define CONF(cr, restricted)                                                                       \
    "SelectType=select/cons_tres\nSelectTypeParameters=" cr "\n" NODES(restricted)
#define KEPT " RestrictedCoresPerGPU=1"

static const char *const confs[] = {CONF("CR_Core_Memory", ""), CONF("CR_Socket_Memory", ""),
                                    CONF("CR_CPU_Memory", ""),  CONF("CR_CPU", ""),
                                    CONF("CR_Core", ""),        CONF("CR_Core", KEPT),
                                    CONF("CR_CPU_Memory", KEPT)};

static bool chance(uint64_t *seed, uint32_t in_hundred)
{
    return test_between(seed, 1, 100) <= in_hundred;
}

static void maybe(struct str *words, uint64_t *seed, uint32_t in_hundred, const char *fmt,
                  uint32_t last)
{
    if (chance(seed, in_hundred))
        str_printf(words, fmt, test_between(seed, 1, last));
}

static void random_request(struct str *words, uint64_t *seed)
{
    maybe(words, seed, 50, " n=%u", 8);
    maybe(words, seed, 20, " N=%u", 3);
    maybe(words, seed, 20, " c=%u", 4);
    maybe(words, seed, 40, " mincpus=%u", 10);
    maybe(words, seed, 60, " tasks-per-socket=%u", 4);
    maybe(words, seed, 15, " tasks-per-core=%u", 2);
    maybe(words, seed, 10, " threads=%u", 2);
    maybe(words, seed, 10, " per-node=%u", 3);
    maybe(words, seed, 10, " mem-per-cpu=%u", 2000);
    maybe(words, seed, 20, " w=n%u", 6);
    if (chance(seed, 10))
        str_puts(words, " overcommit");
    if (chance(seed, 50)) {
        static const char *const gpus[] = {"gres=gpu", "per-job=gpu", "per-task=gpu",
                                           "gres=gpu:tesla:1 per-task=gpu:kepler",
                                           "gres=gpu:4 per-task=gpu"};
        str_printf(words, " %s:%u", gpus[test_between(seed, 0, COUNT(gpus) - 1)],
                   test_between(seed, 1, 4));
        maybe(words, seed, 60, " cpus-per-gpu=%u", 5);
        maybe(words, seed, 20, " mem-per-gpu=%u", 5000);
    }
}

/* Marks some cores of some nodes as used. */
static void random_state(struct cluster *c, uint64_t *seed)
{
    uint32_t jobs = test_between(seed, 1, 6);

    for (uint32_t id = 1; id <= jobs; id++) {
        const struct node *n = c->nodes.data[test_between(seed, 0, (uint32_t)c->nodes.len - 1)];
        struct job *j = test_job(c, id, "");
        const struct alloc_want want = {.node = n->index,
                                        .units = test_between(seed, 1, n->units),
                                        .per_socket = test_between(seed, 0, 3),
                                        .amounts = {.mem_mib = 1000 * test_between(seed, 0, 1)}};
        if (alloc_place(c, j, &want, NULL) == 0)
            job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
        else
            cluster_remove_job(c, j);
    }
}

/* Returns the present state, with fewer units on some nodes because of reservations. */
static struct free_view reserved_view(const struct cluster *c, uint32_t *most, uint64_t *seed)
{
    struct free_view view = c->pool.now;

    for (size_t i = 0; i < c->nodes.len; i++)
        most[i] = chance(seed, 50) ? test_between(seed, 0, 4) : UINT32_MAX;
    view.most = most;
    return view;
}

static void place(struct cluster *c, struct job *j, const struct selection *s,
                  const struct free_view *view, const char *words, uint64_t seed)
{
    struct err err = {0};

    vec_foreach (&s->shares, at) {
        const struct alloc_want want = share_want(s, at);
        if (view->most && at->units > view->most[at->node])
            fail_msg("seed %llu,%s: takes reserved cores", (unsigned long long)seed, words);
        if (alloc_place(c, j, &want, &err) != 0)
            fail_msg("seed %llu,%s: %s", (unsigned long long)seed, words, err.text);
        const struct node *n = c->nodes.data[at->node];
        if (n->restricted && !gres_cores_may(&j->want.gres) &&
            bitset_intersects(vec_last(&attempt_of(j)->alloc).busy, n->restricted))
            fail_msg("seed %llu,%s: takes restricted cores", (unsigned long long)seed, words);
    }
}

static void one_trial(uint64_t seed, uint32_t *found)
{
    uint64_t random = seed;
    struct cluster *c = test_cluster(confs[seed % COUNT(confs)]);
    struct str words = STR_INIT;
    struct selection s = {0};
    bool idle = seed / COUNT(confs) % 2 == 0;
    uint32_t most[8];

    test_up(c);
    assert_true(c->nodes.len <= COUNT(most));
    if (!idle)
        random_state(c, &random);
    struct free_view view = c->pool.now;
    if (!idle && chance(&random, 30))
        view = reserved_view(c, most, &random);
    random_request(&words, &random);
    struct job *j = test_try_job(c, 100, str_cstr(&words));
    if (j) {
        _cleanup_bitset_ struct bitset *set = select_candidates(c, j);
        bool possible = select_possible(c, j, NULL) == 0;
        bool chosen = select_nodes(c, j, set, &view, &s) == 0;
        if (idle ? possible != chosen : chosen && !possible)
            fail_msg("seed %llu,%s: %s", (unsigned long long)seed, str_cstr(&words),
                     possible ? "is taken, and never starts" : "is refused, and could start");
        if (chosen)
            place(c, j, &s, &view, str_cstr(&words), seed);
        *found += chosen;
        alloc_clear(c, j);
        test_sound(c);
    }
    select_done(&s);
    str_done(&words);
    test_cluster_free(c);
}

static void chosen_nodes_can_be_allocated(void **state)
{
    uint32_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        one_trial(seed, &found);
    /* The requests are neither trivial nor hopeless. */
    assert_in_range(found, CASES / 5, CASES * 4 / 5);
}

/* Runs some jobs that end at different times; returns how many. */
static uint32_t run_some(struct cluster *c, uint64_t *random)
{
    static const char *const words[] = {"n=2", "n=3",           "n=5",
                                        "n=8", "n=2 threads=1", "gres=gpu:1 c=3",
                                        "c=4", "per-job=gpu:2", "exclusive"};
    uint32_t jobs = test_between(random, 4, 12);
    for (uint32_t id = 1; id <= jobs; id++) {
        struct selection s = {0};
        struct job *j = test_job(c, id, words[test_between(random, 0, COUNT(words) - 1)]);
        _cleanup_bitset_ struct bitset *set = select_candidates(c, j);
        if (select_nodes(c, j, set, NULL, &s) == 0)
            test_run_selection(c, j, &s, test_between(random, 11, 30) * 10);
        else
            cluster_remove_job(c, j);
        select_done(&s);
    }
    return jobs;
}

/* No job but the running ones, which end when they are expected to: the start is no later. */
static void one_planned_start(uint64_t seed, uint32_t *found)
{
    static const char *const words[] = {"n=4 threads=1",      "n=7 threads=1",
                                        "n=10 threads=1 N=2", "n=6",
                                        "n=8 mincpus=4 N=2",  "gres=gpu:2 n=3",
                                        "per-task=gpu:1 n=4", "n=6 w=n1 threads=1",
                                        "c=4 n=2 w=n2",       "per-job=gpu:3 n=5 threads=1"};
    uint64_t random = seed;
    struct cluster *c = test_cluster(confs[seed % COUNT(confs)]);
    struct selection s = {0};
    test_up(c);
    uint32_t jobs = run_some(c, &random);
    const char *what = words[test_between(&random, 0, COUNT(words) - 1)];
    struct job *j = test_job(c, 100, what);
    _cleanup_bitset_ struct bitset *set = select_candidates(c, j);
    j->limit_sec = 60;
    bool possible = select_possible(c, j, NULL) == 0;
    int64_t at = possible ? test_earliest(c, j, set, 100, &s) : 0;
    for (uint32_t id = 1; id <= jobs; id++) {
        struct job *other = cluster_find_job(c, id);
        if (other && attempt_of(other)->ends.key <= at)
            cluster_remove_job(c, other);
    }
    select_clear(&s);
    if (possible && select_nodes(c, j, set, NULL, &s) != 0)
        fail_msg("seed %llu, %s: cannot start at %lld", (unsigned long long)seed, what,
                 (long long)at);
    *found += at > 100;
    test_sound(c);
    select_done(&s);
    test_cluster_free(c);
}

static void planned_starts_can_be_allocated(void **state)
{
    uint32_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= CASES / 4; seed++)
        one_planned_start(seed, &found);
    assert_in_range(found, CASES / 40, CASES / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chosen_nodes_can_be_allocated),
        cmocka_unit_test(planned_starts_can_be_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
