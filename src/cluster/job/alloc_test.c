/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster_test_util.h"
#include "cluster/resource/cores.h"

static const char conf[] = CONS "NodeName=a CPUs=1 RealMemory=100\n"
                                "NodeName=b CPUs=4 RealMemory=1000\n"
                                "NodeName=c Sockets=2 CoresPerSocket=33 ThreadsPerCore=2 "
                                "RealMemory=2000\n"
                                "NodeName=d CPUs=64\n"
                                "PartitionName=p Nodes=ALL\n";

/* Returns a running job; its allocations count. */
static struct job *make_running_job(struct cluster *c, uint32_t id, const char *words)
{
    struct job *j = test_job(c, id, words);
    job_load_state(c, j, PB__JOB_STATE__RUNNING);
    return j;
}

static void assert_take_refused(struct cluster *c, struct job *j, uint32_t node, uint32_t units,
                                uint64_t mem)
{
    const struct node before = *c->nodes.data[node], *n = c->nodes.data[node];
    size_t bits = bitset_count(n->busy), len = attempt_of(j)->alloc.len;
    uint64_t stamp = c->stamp;
    struct err err = {0};

    if (alloc_take(c, j, node, units, mem, &err) != -ERR_NODES_BUSY)
        fail_msg("%u cores and %llu MiB of %s were given", units, (unsigned long long)mem, n->name);
    assert_int_equal(err.code, -ERR_NODES_BUSY);
    assert_non_null(strstr(err.text, n->name));
    assert_int_equal(alloc_take(c, j, node, units, mem, NULL), -ERR_NODES_BUSY);
    assert_memory_equal(&before, n, sizeof before);
    assert_int_equal(bitset_count(n->busy), bits);
    assert_int_equal(attempt_of(j)->alloc.len, len);
    assert_int_equal(c->stamp, stamp);
    test_sound(c);
}

static void allocation_beyond_the_node_is_refused(void **state)
{
    static const uint64_t mem[] = {1001, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 99};
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, ""), *k = make_running_job(c, 2, "");

    (void)state;
    assert_take_refused(c, j, 0, 2, 0);
    assert_take_refused(c, j, 1, 5, 0);
    assert_take_refused(c, j, 1, UINT32_MAX, 0);
    assert_take_refused(c, j, 2, 67, 0); /* cores, not threads */
    assert_int_equal(alloc_take(c, j, 1, 1, 100, NULL), 0);
    assert_take_refused(c, k, 1, 4, 0);
    for (size_t i = 0; i < COUNT(mem); i++) { /* including sums that wrap around */
        assert_take_refused(c, k, 1, 1, mem[i]);
        assert_take_refused(c, k, 1, 1, mem[i] - 100);
    }
    assert_int_equal(alloc_take(c, k, 1, 3, 900, NULL), 0);
    assert_take_refused(c, j, 1, 1, 0);
    test_cluster_free(c);
}

static void exclusive_job_has_its_node_alone(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, "exclusive"), *k = make_running_job(c, 2, "");

    (void)state;
    assert_int_equal(alloc_take(c, j, 1, 1, 0, NULL), 0);
    assert_take_refused(c, k, 1, 1, 0);
    assert_take_refused(c, k, 1, 0, 0);
    assert_int_equal(alloc_take(c, k, 2, 1, 0, NULL), 0);
    assert_take_refused(c, j, 2, 66, 0);
    assert_take_refused(c, j, 2, 1, 0); /* another job is there */
    alloc_release(c, j, alloc_find(j, 1));
    assert_int_equal(alloc_take(c, k, 1, 4, 0, NULL), 0);
    test_sound(c);
    test_cluster_free(c);
}

/* From all sockets in turn while they have units; units near devices first. */
static void cyclic_job_takes_units_of_sockets_in_turn(void **state)
{
    static const struct {
        const char *busy, *near, *expect;
        uint32_t units, per_socket;
    } v[] = {
        {"", "", "0,4", 2, 0},         {"", "", "0-1,4", 3, 0},   {"", "", "0-2,4-5", 5, 0},
        {"0-2", "", "3-6", 4, 0},      {"0-3", "", "4-5", 2, 0},  {"", "4-7", "4-6", 3, 0},
        {"5-7", "4-7", "0-1,4", 3, 0}, {"", "", "0-1,4-5", 4, 2}, {"", "", "", 5, 2},
        {"0-6", "", "", 2, 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = test_cluster(CONS "NodeName=a Sockets=2 CoresPerSocket=4\n"
                                              "PartitionName=p Nodes=ALL\n");
        struct node *n = c->nodes.data[0];
        _cleanup_bitset_ struct bitset *near = bitset_new(n->units), *got = bitset_new(n->units),
                                       *expect = bitset_new(n->units);
        cores_of_list(n, v[i].busy, n->busy);
        n->free_units -= (uint32_t)bitset_count(n->busy);
        cores_of_list(n, v[i].near, near);
        cores_of_list(n, v[i].expect, expect);
        const struct cores_want want = {.units = v[i].units,
                                        .per_socket = v[i].per_socket,
                                        .cyclic = true,
                                        .near = *v[i].near ? near : NULL};
        assert_int_equal(cores_choose(n, &want, got), *v[i].expect != 0);
        if (!bitset_equal(got, expect))
            fail_msg("row %zu", i);
        test_cluster_free(c);
    }
}

/* From the fullest sufficient socket, otherwise from the emptiest first; and CPUs by the threads of
 * a core. */
static void units_come_from_the_fullest_sufficient_socket(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, ""), *k = make_running_job(c, 2, ""),
               *l = make_running_job(c, 3, "");

    (void)state;
    j->want.cyclic = k->want.cyclic = l->want.cyclic = false;
    c->nodes.data[2]->incarnation = mem_strdup("boot-1");
    assert_int_equal(alloc_take(c, j, 2, 3, 70, NULL), 0);
    assert_int_equal(alloc_take(c, k, 2, 60, 0, NULL), 0);
    alloc_release(c, j, alloc_find(j, 2));
    assert_int_equal(alloc_take(c, l, 2, 5, 7, NULL), 0);
    const struct alloc_node *a = alloc_find(l, 2);
    static const size_t expected[] = {0, 1, 2, 30, 31};
    for (size_t i = 0; i < COUNT(expected); i++)
        assert_true(bitset_test(a->busy, expected[i]));
    assert_int_equal(bitset_count(a->busy), 5);
    assert_int_equal(a->units, 5);
    assert_int_equal(a->cpus, 10);
    assert_int_equal(a->amounts.mem_mib, 7);
    assert_string_equal(a->incarnation, "boot-1");
    assert_false(a->released || a->touched);
    assert_null(alloc_find(l, 1));
    assert_int_equal(job_alloc_cpus(l), 10);
    test_sound(c);
    test_cluster_free(c);
}

static void allocation_is_released_once(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, ""), *k = make_running_job(c, 2, "");
    const struct node *n = c->nodes.data[1];

    (void)state;
    assert_int_equal(alloc_take(c, j, 1, 2, 300, NULL), 0);
    assert_int_equal(alloc_take(c, j, 2, 2, 300, NULL), 0);
    assert_int_equal(alloc_take(c, k, 1, 1, 100, NULL), 0);
    for (int times = 0; times < 3; times++) {
        alloc_release(c, j, alloc_find(j, 1));
        assert_int_equal(n->free_units, 3);
        assert_int_equal(n->used.mem_mib, 100);
        assert_int_equal(n->jobs, 1);
        assert_int_equal(job_nodes_left(j), 1);
        assert_int_equal(job_alloc_cpus(j), 6); /* its former CPUs */
    }
    assert_true(j->dirty);
    alloc_clear(c, j);
    alloc_clear(c, j);
    assert_int_equal(attempt_of(j)->alloc.len, 0);
    assert_int_equal(job_nodes_left(j), 0);
    assert_int_equal(n->free_units, 3);
    assert_int_equal(c->nodes.data[2]->jobs, 0);
    test_sound(c);
    cluster_remove_job(c, k); /* releases its resources */
    assert_int_equal(n->free_units, 4);
    assert_int_equal(n->used.mem_mib, 0);
    test_sound(c);
    test_cluster_free(c);
}

/* --- after a restart --- */

static int take_from_record(struct cluster *c, struct job *j, const char *node, const char *bytes,
                            size_t len)
{
    Pb__NodeAlloc stored = PB__NODE_ALLOC__INIT;
    stored.node = (char *)node;
    stored.cpus = 2;
    stored.has_cores = bytes != NULL;
    stored.cores = (ProtobufCBinaryData){len, (uint8_t *)bytes};
    stored.has_mem_mib = true;
    stored.mem_mib = 10;
    return alloc_retake(c, j, &stored);
}

static void damaged_allocation_records_are_refused(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, ""), *k = make_running_job(c, 2, ""),
               *l = make_running_job(c, 3, "");
    struct err err = {0};

    (void)state;
    assert_int_equal(take_from_record(c, j, "nobody", "\1", 1), -ERR_NO_NODE);
    assert_int_equal(take_from_record(c, j, "", "\1", 1), -ERR_NO_NODE);
    assert_int_equal(attempt_of(j)->alloc.len, 0);
    assert_int_equal(take_from_record(c, j, "a", "\xff\xff\xff\xff\xff\xff\xff\xff\xff", 9), 0);
    assert_int_equal(c->nodes.data[0]->free_units, 0); /* no units are left */
    assert_int_equal(take_from_record(c, j, "b", "\1", 1), 0);
    assert_int_equal(take_from_record(c, j, "c", "", 0), 0);
    test_sound(c);
    /* The same cores twice: the check reports it, and no more than the node has is allocated. */
    assert_int_equal(take_from_record(c, k, "a", "\1", 1), 0);
    assert_int_equal(take_from_record(c, k, "b", "\3", 1), 0);
    assert_int_equal(alloc_check(c, &err), -ERR_INTERNAL);
    assert_int_equal(c->nodes.data[0]->free_units, 0);
    assert_int_equal(c->nodes.data[1]->free_units, 2);
    assert_int_equal(alloc_take(c, l, 0, 1, 0, NULL), -ERR_NODES_BUSY);
    assert_int_equal(alloc_take(c, l, 1, 3, 0, NULL), -ERR_NODES_BUSY);
    assert_int_equal(alloc_take(c, l, 1, 2, 0, NULL), 0);
    alloc_clear(c, k);
    alloc_clear(c, l);
    alloc_clear(c, j);
    for (size_t i = 0; i < c->nodes.len; i++) {
        assert_int_equal(c->nodes.data[i]->free_units, c->nodes.data[i]->units);
        assert_int_equal(c->nodes.data[i]->used.mem_mib, 0);
        assert_int_equal(c->nodes.data[i]->jobs, 0);
    }
    test_sound(c);
    test_cluster_free(c);
}

/* A record without a bitmap means the first cores. */
static void record_without_a_bitmap_means_the_first_cores(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, "");

    (void)state;
    assert_int_equal(take_from_record(c, j, "a", NULL, 0), 0);
    assert_int_equal(take_from_record(c, j, "b", NULL, 0), 0);
    assert_int_equal(take_from_record(c, j, "c", NULL, 0), 0);
    assert_int_equal(attempt_of(j)->alloc.data[0].units, 1);
    assert_int_equal(attempt_of(j)->alloc.data[1].units, 2);
    assert_int_equal(attempt_of(j)->alloc.data[2].units, 1);
    assert_true(bitset_test(attempt_of(j)->alloc.data[1].busy, 0) &&
                bitset_test(attempt_of(j)->alloc.data[1].busy, 1));
    test_sound(c);
    test_cluster_free(c);
}

static void recorded_allocation_is_taken_again(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, "exclusive"), *k = make_running_job(c, 2, "");
    Pb__NodeAlloc gone = PB__NODE_ALLOC__INIT;

    (void)state;
    assert_int_equal(take_from_record(c, j, "b", "\5", 1), 0);
    const struct alloc_node *a = alloc_find(j, 1);
    assert_int_equal(a->units, 2);
    assert_int_equal(a->cpus, 2);
    assert_true(a->touched);
    assert_true(bitset_test(a->busy, 0) && bitset_test(a->busy, 2));
    assert_take_refused(c, k, 1, 1, 0);
    gone.node = (char *)"c";
    gone.has_released = gone.released = true;
    gone.incarnation = (char *)"boot-2";
    assert_int_equal(alloc_retake(c, j, &gone), 0);
    assert_int_equal(c->nodes.data[2]->jobs, 0);
    assert_int_equal(job_nodes_left(j), 1);
    assert_string_equal(alloc_find(j, 2)->incarnation, "boot-2");
    /* It was there before the other became exclusive. */
    assert_int_equal(take_from_record(c, k, "b", "\2", 1), 0);
    assert_true(c->nodes.data[1]->exclusive);
    alloc_clear(c, k);
    alloc_clear(c, j);
    test_sound(c);
    test_cluster_free(c);
}

/* --- the check itself --- */

static void expect_unsound(const struct cluster *c, const char *says)
{
    struct err err = {0};

    assert_int_equal(alloc_check(c, &err), -ERR_INTERNAL);
    if (!strstr(err.text, says))
        fail_msg("expected '%s', got '%s'", says, err.text);
    assert_int_equal(alloc_check(c, NULL), -ERR_INTERNAL);
}

static void check_detects_each_inconsistency(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = make_running_job(c, 1, ""), *k = make_running_job(c, 2, "");
    struct node *n = c->nodes.data[1];

    (void)state;
    assert_int_equal(alloc_take(c, j, 1, 2, 600, NULL), 0);
    assert_int_equal(alloc_take(c, k, 1, 1, 300, NULL), 0);
    test_sound(c);
    job_load_state(c, j, PB__JOB_STATE__PENDING);
    expect_unsound(c, "b is held by pending job 1");
    job_load_state(c, j, PB__JOB_STATE__COMPLETED);
    expect_unsound(c, "b is held by job 1, which has ended");
    alloc_begin_completing(c, j);
    assert_true(attempt_of(j)->completing);
    test_sound(c);
    n->completing++;
    expect_unsound(c, "b: the ledger and the jobs disagree");
    n->completing--;
    n->completing_units++;
    expect_unsound(c, "b: the ledger and the jobs disagree");
    n->completing_units--;
    bitset_set(attempt_of(k)->alloc.data[0].busy, 0);
    expect_unsound(c, "a core is allocated twice, to job 2");
    bitset_unset(attempt_of(k)->alloc.data[0].busy, 0);
    bitset_set(n->busy, 3);
    expect_unsound(c, "b: the ledger and the jobs disagree");
    bitset_unset(n->busy, 3);
    n->used.mem_mib++;
    expect_unsound(c, "b: the ledger and the jobs disagree");
    n->used.mem_mib--;
    n->free_units++;
    expect_unsound(c, "b: the ledger and the jobs disagree");
    n->free_units--;
    n->jobs++;
    expect_unsound(c, "b: the ledger and the jobs disagree");
    n->jobs--;
    n->amounts.mem_mib = 899;
    expect_unsound(c, "b: memory is over-allocated");
    n->amounts.mem_mib = 900;
    alloc_release(c, j, alloc_find(j, 1));
    assert_int_equal(n->completing, 0);
    test_sound(c);
    test_cluster_free(c);
}

/* --- another configuration under jobs --- */

#define OF(cr, node)                                                                               \
    "SelectType=select/cons_tres\nSelectTypeParameters=" cr                                        \
    ",CR_CORE_DEFAULT_DIST_BLOCK\nNodeName=a " node " RealMemory=100\nPartitionName=p Nodes=a\n"
#define TWO_THREADS "Sockets=2 CoresPerSocket=4 ThreadsPerCore=2"
#define ONE_THREAD "Sockets=2 CoresPerSocket=8 ThreadsPerCore=1"

static const char *const ways[] = {OF("CR_CPU", TWO_THREADS),    OF("CR_Core", TWO_THREADS),
                                   OF("CR_Socket", TWO_THREADS), OF("CR_Core", ONE_THREAD),
                                   OF("CR_Socket", ONE_THREAD),  OF("CR_CPU", "CPUs=8"),
                                   OF("CR_CPU", "CPUs=32")};

static struct job *carry_job_over(const struct cluster *c, struct job *from, struct cluster *next)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    struct job *to = make_running_job(next, from->id, "");
    job_pack_live(c, from);
    const Pb__JobLive *live =
        arena_unpack(&arena, &pb__job_live__descriptor, from->live.data, from->live.len);
    assert_int_equal(alloc_retake(next, to, live->alloc[0]), 0);
    assert_int_equal(job_alloc_cpus(to), job_alloc_cpus(from)); /* as its processes know */
    return to;
}

/* Two jobs with 'cpus' CPUs each, then another configuration: no other job gets their CPUs. */
static void change_units_under_jobs(const char *before, const char *after, uint32_t cpus)
{
    struct cluster *c = test_cluster(before), *next = test_cluster(after);
    struct node *n = c->nodes.data[0], *m = next->nodes.data[0];
    struct job *jobs[2];
    for (uint32_t i = 0; i < 2; i++) {
        struct job *j = make_running_job(c, i + 1, "");
        uint32_t units = (cpus + n->cpus_per_unit - 1) / n->cpus_per_unit;
        assert_int_equal(alloc_take(c, j, 0, units, 0, NULL), 0);
    }
    uint32_t held = job_alloc_cpus(c->jobs.data[0]);
    for (uint32_t i = 0; i < 2; i++)
        jobs[i] = carry_job_over(c, c->jobs.data[i], next);
    test_sound(next);
    for (uint32_t left = 2; left > 0; left--) {
        uint32_t used = held * left < m->cpus ? held * left : m->cpus;
        if (m->free_units * m->cpus_per_unit > m->cpus - used)
            fail_msg("%u jobs of %u CPUs, %u of %u free: %s, then %s", left, held,
                     m->free_units * m->cpus_per_unit, m->cpus, before, after);
        alloc_release(next, jobs[left - 1], &attempt_of(jobs[left - 1])->alloc.data[0]);
        job_load_state(next, jobs[left - 1], PB__JOB_STATE__COMPLETED);
        test_sound(next);
    }
    assert_int_equal(m->free_units, m->units);
    assert_false(m->squeezed);
    test_cluster_free(c);
    test_cluster_free(next);
}

static void running_jobs_keep_cpus_after_a_change_of_units(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(ways); i++)
        for (size_t k = 0; k < COUNT(ways); k++) {
            change_units_under_jobs(ways[i], ways[k], 1);
            change_units_under_jobs(ways[i], ways[k], 3);
            change_units_under_jobs(ways[i], ways[k], strstr(ways[i], "CPUs=8") ? 4 : 8);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocation_beyond_the_node_is_refused),
        cmocka_unit_test(exclusive_job_has_its_node_alone),
        cmocka_unit_test(cyclic_job_takes_units_of_sockets_in_turn),
        cmocka_unit_test(units_come_from_the_fullest_sufficient_socket),
        cmocka_unit_test(allocation_is_released_once),
        cmocka_unit_test(damaged_allocation_records_are_refused),
        cmocka_unit_test(record_without_a_bitmap_means_the_first_cores),
        cmocka_unit_test(recorded_allocation_is_taken_again),
        cmocka_unit_test(check_detects_each_inconsistency),
        cmocka_unit_test(running_jobs_keep_cpus_after_a_change_of_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
