/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sockets, cores and threads in the choice of nodes. */
#include "sched/sched_test_util.h"

#define NODES                                                                                      \
    "NodeName=a[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=8000\n"                \
    "GresTypes=gpu\n"                                                                              \
    "NodeName=b[1-2] Sockets=4 CoresPerSocket=2 ThreadsPerCore=1 RealMemory=8000 Gres=gpu:3\n"     \
    "PartitionName=all Nodes=ALL Default=YES\n"
#define CONF(cr) "SelectType=select/cons_tres\nSelectTypeParameters=" cr "\n" NODES

static char *given(struct cluster *c, const char *words)
{
    struct selection s = {0};
    struct job *j = test_try_job(c, 1000, words);
    if (!j)
        return mem_strdup("refused");
    char *text = mem_strdup("never");
    if (select_possible(c, j, NULL) == 0) {
        struct bitset *set = select_candidates(c, j);
        free(text);
        text = select_nodes(c, j, set, NULL, &s) == 0 ? test_selection(c, &s) : mem_strdup("busy");
        vec_foreach (&s.shares, at) {
            const struct alloc_want want = share_want(&s, at);
            assert_int_equal(alloc_place(c, j, &want, NULL), 0); /* a selection can be allocated */
        }
        bitset_free(set);
    }
    alloc_clear(c, j);
    test_sound(c);
    select_done(&s);
    cluster_remove_job(c, j);
    return text;
}

static void expect(const char *conf, const char *busy, const char *words, const char *expected)
{
    struct cluster *c = test_cluster(conf);
    test_up(c);
    if (*busy)
        test_run(c, 1, busy, 1000);
    _cleanup_free_ char *text = given(c, words);
    if (strcmp(text, expected) != 0)
        fail_msg("%s: got %s, expected %s", words, text, expected);
    test_cluster_free(c);
}

static void cores_are_allocated_whole(void **state)
{
    (void)state;
    static const char *const conf = CONF("CR_Core");
    expect(conf, "", "n=4 x=b[1-2]", "a1:2/0");           /* one thread each */
    expect(conf, "", "n=4 threads=1 x=b[1-2]", "a1:4/0"); /* one core each */
    expect(conf, "", "n=4 tasks-per-core=1 x=b[1-2]", "a1:4/0");
    expect(conf, "", "n=16", "a1:8/0");
    expect(conf, "", "n=16 tasks-per-core=1", "a1:8/0 a2:8/0");
    expect(conf, "", "n=40 tasks-per-core=1", "never");
    expect(conf, "", "n=2 c=2 threads=1", "a1:4/0");
    expect(conf, "", "n=4 tasks-per-socket=1 x=b[1-2]", "a1:2/0 a2:2/0");
    expect(conf, "", "n=2 tasks-per-socket=1", "a1:2/0");
    expect(conf, "", "n=4 tasks-per-socket=1 N=1", "b1:4/0");
    expect(conf, "", "n=16 tasks-per-socket=8 N=1", "a1:8/0");
    expect(conf, "", "n=3 tasks-per-socket=1 w=a1 N=1", "never");
    expect(conf, "", "sockets=4", "b1:1/0");
    expect(conf, "", "cores=4", "a1:1/0");
    expect(conf, "", "sockets=4 cores=4", "never");
    expect(conf, "", "threads=2 w=b1", "never");
    expect(conf, "", "core-spec=1 n=14", "a1:8/0");
    expect(conf, "", "core-spec=1 n=15 N=1", "never");
    /* one socket is full: with one task each, one task fits */
    static const char *const block = CONF("CR_Core,CR_CORE_DEFAULT_DIST_BLOCK");
    expect(block, "a1:4", "n=2 tasks-per-socket=1 w=a1 N=1", "busy");
    expect(conf, "a1:4", "n=2 tasks-per-socket=1 w=a1 N=1", "a1:2/0");
    expect(block, "a1:3", "n=2 tasks-per-socket=1 w=a1 N=1", "a1:2/0");
}

static void cpus_are_allocated_singly(void **state)
{
    (void)state;
    static const char *const conf = CONF("CR_CPU");
    expect(conf, "", "n=4 x=b[1-2]", "a1:4/0");
    expect(conf, "", "n=9 tasks-per-core=1 N=1", "never");
    expect(conf, "", "n=4 tasks-per-socket=2", "a1:4/0");
}

/* With CPUs as units, jobs that leave threads of their cores unused take whole cores. */
static void jobs_that_leave_threads_unused_get_whole_cores(void **state)
{
    (void)state;
    static const char *const conf = CONF("CR_CPU");
    expect(conf, "", "n=4 threads=1 x=b[1-2]", "a1:8/0");
    expect(conf, "", "n=4 threads=2 x=b[1-2]", "a1:4/0");
    expect(conf, "", "n=2 c=2 threads=1 x=b[1-2]", "a1:8/0");
    expect(conf, "", "n=8 threads=1 w=a1 N=1", "a1:16/0");
    expect(conf, "", "n=9 threads=1 w=a1 N=1", "never");
    expect(conf, "", "n=12 threads=1 x=b[1-2]", "a1:16/0 a2:8/0");
    expect(conf, "a1:1", "n=7 threads=1 w=a1 N=1", "a1:14/0"); /* one core is not whole */
    expect(conf, "a1:1", "n=8 threads=1 w=a1 N=1", "busy");
    expect(conf, "a1:3", "n=6 threads=1 w=a1 N=1", "a1:12/0");
    expect(conf, "a1:3", "n=7 threads=1 w=a1 N=1", "busy");
    expect(conf, "", "n=2 threads=1 tasks-per-socket=1 w=a1", "a1:4/0");
    expect(conf, "", "n=3 threads=1 tasks-per-socket=1 w=a1 N=1", "never");
    expect(conf, "", "n=3 threads=1 tasks-per-core=1 w=a1", "a1:6/0");
    expect(conf, "", "threads=1 mincpus=3 w=a1", "a1:6/0");
    expect(conf, "", "n=2 threads=1 w=b1", "b1:2/0"); /* cores with one thread */
    expect(CONF("CR_CPU_Memory"), "", "n=4 threads=1 mem-per-cpu=100 w=a1", "a1:8/400");
}

/* On a socket of four cores with two threads, MaxCPUsPerSocket=3 gives a partition one whole
 * core. */
static void whole_cores_of_a_share_of_sockets(void **state)
{
    (void)state;
    static const char *const conf = CONF("CR_CPU") "PartitionName=p Nodes=a1 MaxCPUsPerSocket=3\n";
    expect(conf, "", "p=p n=2 threads=1", "a1:4/0");
    expect(conf, "", "p=p n=3 threads=1", "never");
    expect(conf, "", "p=p c=3 threads=1", "never");
    expect(conf, "", "p=p threads=1 mincpus=3", "never");
    expect(conf, "", "p=p n=6", "a1:6/0");
    expect(conf, "", "p=p n=7", "never");
}

/* CPUs without a task (--mincpus, --cpus-per-gpu) may be on any socket. */
static void beyond_tasks(void **state)
{
    (void)state;
    static const char *const core = CONF("CR_Core"), *const cpu = CONF("CR_CPU");
    expect(core, "", "tasks-per-socket=1 mincpus=3 w=b1", "b1:3/0");
    expect(core, "", "tasks-per-socket=1 mincpus=5 w=b1", "b1:5/0");
    expect(core, "", "n=2 tasks-per-socket=1 mincpus=6 w=b1", "b1:6/0");
    expect(core, "", "tasks-per-socket=2 mincpus=9", "a1:5/0");
    expect(core, "", "tasks-per-socket=1 mincpus=9", "a1:5/0");
    expect(core, "", "tasks-per-socket=1 mincpus=17", "never");
    expect(core, "a1:4", "tasks-per-socket=1 mincpus=9 w=a1", "busy"); /* too few are left */
    expect(core, "a1:3", "tasks-per-socket=1 mincpus=9 w=a1", "a1:5/0");
    expect(cpu, "", "tasks-per-socket=2 mincpus=8 w=b1", "b1:8/0");
    expect(core, "", "tasks-per-socket=1 gres=gpu:3 cpus-per-gpu=1", "b1:3/0+gpu=3");
    expect(core, "", "tasks-per-socket=1 per-job=gpu:2 cpus-per-gpu=2", "b1:4/0+gpu=2");
    expect(core, "", "tasks-per-socket=1 gres=gpu:3 cpus-per-gpu=3", "never");
    /* one core each: two on one socket and one on the other are three tasks, not four */
    expect(core, "b1:5", "n=3 tasks-per-socket=2 tasks-per-core=1 w=b1", "b1:3/0");
}

static void sockets_are_allocated_whole(void **state)
{
    (void)state;
    static const char *const conf = CONF("CR_Socket_Memory");
    expect(conf, "", "n=1 mem=100 x=b[1-2]", "a1:1/100");
    expect(conf, "", "n=9 mem=100", "a1:2/100");
    expect(conf, "", "n=1 mem-per-cpu=10 x=b[1-2]", "a1:1/80");
    expect(conf, "a1:1", "n=9 w=a1 N=1 mem=1", "busy");
}

/* A partition allocates whole sockets to its jobs; the cluster allocates cores. */
static void jobs_of_a_partition_have_whole_sockets(void **state)
{
    (void)state;
    static const char *const conf =
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_Core,CR_CORE_DEFAULT_DIST_BLOCK\n"
        "GresTypes=gpu\n"
        "NodeName=a[1-2] Sockets=2 CoresPerSocket=4 ThreadsPerCore=2\n"
        "NodeName=b1 Sockets=4 CoresPerSocket=2 Gres=gpu:3\n"
        "NodeName=s1 Sockets=2 CoresPerSocket=8 CoreSpecCount=1\n"
        "PartitionName=q Nodes=ALL\n"
        "PartitionName=p Nodes=ALL SelectTypeParameters=CR_Socket\n";
    expect(conf, "", "p=p n=1 x=b1,s1", "a1:4/0");
    expect(conf, "", "p=p n=9 x=b1,s1", "a1:8/0");
    expect(conf, "", "p=p n=5 threads=1 w=a1", "a1:8/0"); /* four per socket */
    expect(conf, "a1:1", "p=p n=8 w=a1 N=1", "a1:4/0");
    expect(conf, "a1:1", "p=p n=9 w=a1 N=1", "busy");
    expect(conf, "a1:5", "p=p n=1 w=a1", "busy"); /* at least one in use on each socket */
    expect(conf, "", "p=p n=3 w=b1 x=a[1-2]", "b1:4/0");
    expect(conf, "b1:5", "p=p n=2 w=b1", "b1:2/0");
    expect(conf, "", "p=p n=2 tasks-per-socket=1 w=b1 N=1", "b1:4/0");
    expect(conf, "b1:3", "p=p n=3 tasks-per-socket=1 w=b1 N=1", "busy");
    expect(conf, "", "p=p gres=gpu:3 cpus-per-gpu=1", "b1:4/0+gpu=3");
    expect(conf, "", "p=p exclusive w=b1", "b1:8/0+gpu=3");
    expect(conf, "s1:1", "p=p n=3 w=s1", "s1:3/0"); /* cores if a socket is not whole */
    expect(conf, "", "p=p n=33 N=1", "never");
}

/* A planned start waits until so few cores are in use that a socket is free whichever cores they
 * are. */
static void a_socket_is_planned_for_when_it_is_surely_free(void **state)
{
    (void)state;
    struct cluster *c = test_cluster("SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                                     "NodeName=n1 Sockets=2 CoresPerSocket=4\n"
                                     "PartitionName=q Nodes=ALL\n"
                                     "PartitionName=p Nodes=ALL SelectTypeParameters=CR_Socket\n");
    test_up(c);
    test_run(c, 1, "n1:5", 300); /* on both sockets */
    test_run(c, 2, "n1:2", 400);
    test_run(c, 3, "n1:1", 500);
    struct job *one = test_job(c, 4, "p=p n=1"), *both = test_job(c, 5, "p=p n=5");
    struct selection where = {0};
    _cleanup_bitset_ struct bitset *set = select_candidates(c, one);
    one->limit_sec = both->limit_sec = 60;
    assert_int_equal(test_earliest(c, one, set, 100, &where), 400);
    assert_int_equal(test_earliest(c, both, set, 100, &where), 500);
    select_done(&where);
    test_cluster_free(c);
}

/* A job that leaves threads unused needs free cores: free threads of cores that other jobs use do
 * not help it. A planned job keeps its cores from others that take whole cores. */
static void a_core_is_planned_for_when_it_is_free(void **state)
{
    (void)state;
    struct cluster *c = test_cluster("SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
                                     "NodeName=n1 CoresPerSocket=4 ThreadsPerCore=2\n"
                                     "PartitionName=p Nodes=ALL\n");
    test_up(c);
    for (uint32_t id = 1; id <= 8; id++) /* odd ones have the first threads of the cores */
        test_run(c, id, "n1:1", id % 2 ? 900 + id : 100 + id);
    struct job *one = test_job(c, 20, "n=1 threads=1"), *both = test_job(c, 21, "n=2 threads=1");
    struct job *thread = test_job(c, 22, "n=1");
    struct selection where = {0};
    _cleanup_bitset_ struct bitset *set = select_candidates(c, one);
    one->limit_sec = both->limit_sec = thread->limit_sec = 60;
    assert_int_equal(test_earliest(c, thread, set, 50, &where), 102);
    assert_int_equal(test_earliest(c, one, set, 50, &where), 901);
    assert_int_equal(test_earliest(c, both, set, 50, &where), 903);
    struct timeline t;
    timeline_init(&t, c, 50);
    select_clear(&where);
    assert_int_equal(timeline_find(&t, both, set, &where), 903);
    timeline_reserve(&t, both, &where, 903);
    select_clear(&where);
    assert_int_equal(timeline_find(&t, one, set, &where), 905);
    select_done(&where);
    timeline_done(&t);
    test_cluster_free(c);
}

static void exclusive_user_shares_with_own_jobs_only(void **state)
{
    (void)state;
    struct cluster *c = test_cluster(CONF("CR_Core"));
    test_up(c);
    struct job *holder = test_job(c, 1, "exclusive-user");
    holder->uid = 7;
    test_run_job(c, holder, "a1:1", 1000);
    struct job *other = test_job(c, 2, "x=b[1-2]"), *same = test_job(c, 3, "x=b[1-2]");
    struct selection s = {0};
    same->uid = 7;
    _cleanup_bitset_ struct bitset *set = select_candidates(c, other);
    assert_int_equal(select_nodes(c, other, set, NULL, &s), 0);
    _cleanup_free_ char *elsewhere = test_selection(c, &s);
    assert_string_equal(elsewhere, "a2:1/0");
    select_clear(&s);
    assert_int_equal(select_nodes(c, same, set, NULL, &s), 0);
    _cleanup_free_ char *there = test_selection(c, &s);
    assert_string_equal(there, "a1:1/0");
    select_done(&s);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_allocated_whole),
        cmocka_unit_test(cpus_are_allocated_singly),
        cmocka_unit_test(jobs_that_leave_threads_unused_get_whole_cores),
        cmocka_unit_test(whole_cores_of_a_share_of_sockets),
        cmocka_unit_test(beyond_tasks),
        cmocka_unit_test(sockets_are_allocated_whole),
        cmocka_unit_test(jobs_of_a_partition_have_whole_sockets),
        cmocka_unit_test(a_socket_is_planned_for_when_it_is_surely_free),
        cmocka_unit_test(a_core_is_planned_for_when_it_is_free),
        cmocka_unit_test(exclusive_user_shares_with_own_jobs_only)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
