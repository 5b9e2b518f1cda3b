/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ledger against a naive model under random allocations and releases: they agree after each
 * step, nothing is allocated twice, and everything is returned. */
#include "cluster/cluster_test_util.h"

enum { NODES = 4, UNITS_MAX = 70, JOBS = 12, STEPS = 600 };

static const char conf[] = CONS "NodeName=a CPUs=1 RealMemory=100\n"
                                "NodeName=b CPUs=6 RealMemory=1000\n"
                                "NodeName=c Sockets=1 CoresPerSocket=5 ThreadsPerCore=2 "
                                "RealMemory=500\n"
                                "NodeName=d CPUs=70 RealMemory=4000\n"
                                "PartitionName=p Nodes=ALL\n"
                                "PartitionName=q Nodes=ALL MaxCPUsPerNode=8\n";
static const uint32_t units_of[NODES] = {1, 6, 5, 70}, mem_of[NODES] = {100, 1000, 500, 4000};

struct model {
    uint32_t owner[NODES][UNITS_MAX]; /* job id; 0: free */
    uint64_t mem[NODES][JOBS + 1];    /* by job id */
    bool holds[NODES][JOBS + 1], alone[JOBS + 1], ended[JOBS + 1];
};

/* Counts jobs and units of ended jobs on the node. */
static void count_completing(const struct model *m, uint32_t node, uint32_t *jobs, uint32_t *units)
{
    *jobs = *units = 0;
    for (uint32_t id = 1; id <= JOBS; id++)
        *jobs += m->holds[node][id] && m->ended[id];
    for (uint32_t i = 0; i < units_of[node]; i++)
        *units += m->owner[node][i] && m->ended[m->owner[node][i]];
}

static uint32_t count_jobs(const struct model *m, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t id = 1; id <= JOBS; id++)
        count += m->holds[node][id];
    return count;
}

static uint32_t count_free(const struct model *m, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < units_of[node]; i++)
        count += m->owner[node][i] == 0;
    return count;
}

static uint64_t count_mem(const struct model *m, uint32_t node)
{
    uint64_t sum = 0;
    for (uint32_t id = 1; id <= JOBS; id++)
        sum += m->mem[node][id];
    return sum;
}

/* CPUs of the node that jobs of the second partition (even ids) hold. */
static uint32_t count_part_cpus(const struct model *m, uint32_t node, uint32_t per_unit)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < units_of[node]; i++)
        count += m->owner[node][i] && m->owner[node][i] % 2 == 0;
    return count * per_unit;
}

static bool may_take(const struct model *m, uint32_t node, uint32_t id, uint32_t units,
                     uint64_t mem)
{
    for (uint32_t other = 1; other <= JOBS; other++)
        if (m->holds[node][other] && (m->alone[other] || m->alone[id]))
            return false;
    return units <= count_free(m, node) && mem <= mem_of[node] - count_mem(m, node);
}

static void take_in_model(struct model *m, uint32_t node, uint32_t id, uint32_t units, uint64_t mem)
{
    for (uint32_t i = 0; i < units_of[node] && units; i++)
        if (m->owner[node][i] == 0) {
            m->owner[node][i] = id;
            units--;
        }
    m->mem[node][id] = mem;
    m->holds[node][id] = true;
}

static void release_in_model(struct model *m, uint32_t node, uint32_t id)
{
    for (uint32_t i = 0; i < units_of[node]; i++)
        if (m->owner[node][i] == id)
            m->owner[node][i] = 0;
    m->mem[node][id] = 0;
    m->holds[node][id] = false;
}

static void assert_equals_model(const struct cluster *c, const struct model *m)
{
    for (uint32_t node = 0; node < NODES; node++) {
        const struct node *n = c->nodes.data[node];
        assert_int_equal(n->units, units_of[node]);
        assert_int_equal(n->free_units, count_free(m, node));
        assert_int_equal(n->used.mem_mib, count_mem(m, node));
        assert_int_equal(n->jobs, count_jobs(m, node));
        for (uint32_t i = 0; i < units_of[node]; i++)
            assert_int_equal(bitset_test(n->busy, i), m->owner[node][i] != 0);
        uint32_t jobs, units;
        count_completing(m, node, &jobs, &units);
        assert_int_equal(n->completing, jobs);
        assert_int_equal(n->completing_units, units);
        bool exclusive = false;
        for (uint32_t id = 1; id <= JOBS; id++)
            exclusive = exclusive || (m->holds[node][id] && m->alone[id]);
        assert_int_equal(n->exclusive, exclusive);
        assert_int_equal(c->parts.data[1]->used_cpus[node],
                         count_part_cpus(m, node, n->cpus_per_unit));
    }
    test_sound(c);
}

static void check_share(const struct cluster *c, struct job *j, const struct model *m,
                        uint32_t node)
{
    const struct alloc_node *a = alloc_find(j, node);
    uint32_t units = 0;

    assert_non_null(a);
    for (uint32_t i = 0; i < units_of[node]; i++) {
        assert_int_equal(bitset_test(a->busy, i), m->owner[node][i] == j->id);
        units += m->owner[node][i] == j->id;
    }
    assert_int_equal(a->units, units);
    assert_int_equal(a->cpus, units * c->nodes.data[node]->cpus_per_unit);
    assert_int_equal(a->amounts.mem_mib, m->mem[node][j->id]);
}

static void step_take(struct cluster *c, struct model *m, uint64_t *seed, uint32_t node,
                      struct job *j)
{
    uint32_t units = test_between(seed, 1, units_of[node] / 2 + 1);
    uint64_t mem = test_between(seed, 0, 3) ? test_between(seed, 0, mem_of[node] / 3)
                                            : test_random(seed) >> test_between(seed, 0, 60);

    if (alloc_find(j, node) || m->ended[j->id]) /* a job takes a node once */
        return;
    bool allowed = may_take(m, node, j->id, units, mem);
    int rc = alloc_take(c, j, node, units, mem, NULL);
    if (rc != (allowed ? 0 : -ERR_NODES_BUSY))
        fail_msg("%u cores and %llu MiB of node %u: %d", units, (unsigned long long)mem, node, rc);
    if (!allowed)
        return;
    take_in_model(m, node, j->id, units, mem);
    check_share(c, j, m, node);
}

static void step_end(struct cluster *c, struct model *m, struct job *j)
{
    if (m->ended[j->id] || job_nodes_left(j) == 0)
        return;
    m->ended[j->id] = true;
    job_load_state(c, j, PB__JOB_STATE__COMPLETED);
    alloc_begin_completing(c, j);
}

/* An ended job without resources starts again. */
static void step_begin(struct cluster *c, struct model *m, struct job *j)
{
    if (!m->ended[j->id] || job_nodes_left(j) > 0)
        return;
    alloc_clear(c, j);
    m->ended[j->id] = attempt_make(j)->completing = false;
    job_load_state(c, j, PB__JOB_STATE__RUNNING);
}

static void step_clear(struct cluster *c, struct model *m, struct job *j)
{
    alloc_clear(c, j);
    for (uint32_t node = 0; node < NODES; node++)
        release_in_model(m, node, j->id);
}

/* Rebuilding the ledger from the jobs gives the same ledger. */
static void assert_rebuilt_ledger_is_equal(const struct cluster *c, const struct model *m)
{
    struct cluster *next = test_cluster(conf);
    vec_foreach (&c->jobs, at) {
        _cleanup_arena_ struct arena arena;
        arena_init(&arena, 0);
        struct job *from = *at,
                   *to = test_job(next, from->id, from->want.exclusive ? "exclusive" : "");
        to->part = next->parts.data[to->id % 2 == 0];
        job_load_state(next, to, from->state);
        attempt_make(to)->completing = attempt_of(from)->completing;
        job_pack_live(c, from);
        const Pb__JobLive *live =
            arena_unpack(&arena, &pb__job_live__descriptor, from->live.data, from->live.len);
        assert_non_null(live);
        assert_int_equal(live->n_alloc, attempt_of(from)->alloc.len);
        for (size_t i = 0; i < live->n_alloc; i++)
            assert_int_equal(alloc_retake(next, to, live->alloc[i]), 0);
        assert_int_equal(job_alloc_cpus(to), job_alloc_cpus(from));
        assert_int_equal(job_nodes_left(to), job_nodes_left(from));
    }
    assert_equals_model(next, m);
    test_cluster_free(next);
}

static void make_random_changes(uint64_t seed)
{
    struct cluster *c = test_cluster(conf);
    struct model m = {0};

    for (uint32_t id = 1; id <= JOBS; id++) {
        m.alone[id] = test_between(&seed, 0, 5) == 0;
        struct job *j = test_job(c, id, m.alone[id] ? "exclusive" : "");
        j->part = c->parts.data[id % 2 == 0];
        job_load_state(c, j, PB__JOB_STATE__RUNNING);
    }
    assert_null(c->parts.data[0]->used_cpus);
    for (int step = 0; step < STEPS; step++) {
        struct job *j = cluster_find_job(c, test_between(&seed, 1, JOBS));
        uint32_t node = test_between(&seed, 0, NODES - 1), what = test_between(&seed, 0, 10);
        struct alloc_node *a = alloc_find(j, node);
        if (what < 6) {
            step_take(c, &m, &seed, node, j);
        } else if (what < 9 && a) {
            alloc_release(c, j, a);
            release_in_model(&m, node, j->id);
        } else if (what == 9) {
            step_clear(c, &m, j);
        } else if (what == 10) {
            step_end(c, &m, j);
        }
        step_begin(c, &m, j);
        assert_equals_model(c, &m);
        if (step % 100 == 0)
            assert_rebuilt_ledger_is_equal(c, &m);
        if (step % 100 == 50) { /* recounted sums are equal */
            memset(c->parts.data[1]->used_cpus, 0xff, NODES * sizeof(uint32_t));
            alloc_count_part(c, c->parts.data[1]);
        }
    }
    vec_foreach (&c->jobs, j)
        step_clear(c, &m, *j);
    assert_equals_model(c, &m);
    for (uint32_t node = 0; node < NODES; node++)
        assert_int_equal(c->nodes.data[node]->free_units, units_of[node]);
    test_cluster_free(c);
}

static void allocations_agree_with_a_model(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        make_random_changes(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_agree_with_a_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
