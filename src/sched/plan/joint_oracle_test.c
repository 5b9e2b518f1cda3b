/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the joint placement with an exhaustive search: on small random clusters of cores with
 * two threads, with overlapping partitions (one of which lets jobs share cores), running jobs, and
 * sets whose components may name several partitions.
 */
#include "sched/plan/joint.h"
#include "sched/sched_test_util.h"

enum { NOW = 1000, NODES = 4, CORES = 4, THREADS = 2, MEMORY = 100, COMPONENTS = 3 };
enum { ALL, LEFT, RIGHT, SHARED, PARTS }; /* partitions */
enum { SHARE_MOST = 2, ROUNDS = 5000, ROUNDS_OF_RELEASE = 100000 };

static const char config[] =
    CONS "NodeName=n[1-4] Sockets=1 CoresPerSocket=4 ThreadsPerCore=2 RealMemory=100\n"
         "PartitionName=p0 Nodes=ALL\n"
         "PartitionName=p1 Nodes=n[1-2]\n"
         "PartitionName=p2 Nodes=n[2-4]\n"
         "PartitionName=p3 Nodes=n[1-3] OverSubscribe=FORCE:2\n";
static const uint32_t part_nodes[PARTS] = {0xf, 0x3, 0xe, 0x7};

struct core {
    uint32_t jobs;
    bool may_share;
};

struct host {
    struct core cores[CORES];
    uint32_t mem;
    bool empty, closed; /* closed: one job has the whole node */
};

struct need {       /* of a component */
    uint32_t nodes; /* 0: any number */
    uint32_t tasks, cpus, mem;
    uint32_t parts[2], part_count;
    bool exclusive;
    bool spread; /* also on more nodes than its tasks need */
};

/* --- exhaustive search --------------------------------------------------------------------------
 */

static uint32_t count_cores(const struct host *h, bool shared)
{
    uint32_t count = 0;
    for (int i = 0; i < CORES; i++)
        count += h->cores[i].jobs == 0 ||
                 (shared && h->cores[i].may_share && h->cores[i].jobs < SHARE_MOST);
    return count;
}

static uint32_t count_tasks(const struct host *h, const struct need *n, bool sharing)
{
    if (h->closed || h->mem < n->mem || (n->exclusive && !h->empty))
        return 0;
    return count_cores(h, sharing) * THREADS / n->cpus;
}

/* A job has each core at most once: the cores that it shares differ from its own. */
static void take_cores(struct host *h, uint32_t count, bool shared)
{
    struct host before = *h;
    for (uint32_t i = 0; i < CORES && count; i++)
        if (before.cores[i].jobs == 0) {
            h->cores[i] = (struct core){1, shared};
            count--;
        }
    for (uint32_t jobs = 1; jobs < SHARE_MOST; jobs++)
        for (uint32_t i = 0; i < CORES && count; i++)
            if (before.cores[i].jobs == jobs && before.cores[i].may_share) {
                h->cores[i].jobs++;
                count--;
            }
    assert_int_equal(count, 0);
}

/* Tries the next way to deal the tasks to the nodes of the set: at least one task on each node, and
 * no more than fit. 'way' counts all ways, including impossible ones. */
static bool deal_tasks(const struct need *n, uint32_t set, const uint32_t *most, uint32_t way,
                       uint32_t *got)
{
    uint32_t left = n->tasks;
    for (uint32_t i = 0; i < NODES; i++) {
        got[i] = 0;
        if (!(set >> i & 1))
            continue;
        got[i] = 1 + way % n->tasks;
        way /= n->tasks;
        if (got[i] > most[i] || got[i] > left)
            return false;
        left -= got[i];
    }
    return left == 0;
}

static uint32_t count_ways(const struct need *n, uint32_t set)
{
    uint32_t ways = 1;
    for (int i = __builtin_popcount(set); i > 0; i--)
        ways *= n->tasks;
    return ways;
}

/* Whether the tasks fit without one of the nodes: a component without a node count does not get
 * such a node. */
static bool has_spare_node(const struct need *n, const uint32_t *most)
{
    uint32_t sum = 0, least = UINT32_MAX;
    for (uint32_t i = 0; i < NODES; i++) {
        sum += most[i];
        least = most[i] && most[i] < least ? most[i] : least;
    }
    return sum - least >= n->tasks;
}

static bool place(const struct need *n, uint32_t part, uint32_t set, bool sharing, uint32_t way,
                  struct host *hosts)
{
    uint32_t most[NODES], got[NODES];
    for (uint32_t i = 0; i < NODES; i++)
        most[i] = set >> i & 1 ? count_tasks(&hosts[i], n, sharing) : 0;
    if (!deal_tasks(n, set, most, way, got) || (!n->nodes && !n->spread && has_spare_node(n, most)))
        return false;
    for (uint32_t i = 0; i < NODES; i++) {
        struct host *h = &hosts[i];
        if (!(set >> i & 1))
            continue;
        take_cores(h, (got[i] * n->cpus + THREADS - 1) / THREADS, part == SHARED);
        h->mem -= n->mem;
        h->empty = false;
        h->closed = n->exclusive;
    }
    return true;
}

static bool search(const struct need *need, uint32_t left, const struct host *hosts);

static bool search_with(const struct need *need, uint32_t left, uint32_t at, uint32_t part,
                        const struct host *hosts)
{
    const struct need *n = &need[at];
    for (uint32_t set = 1; set < 1u << NODES; set++) {
        uint32_t size = (uint32_t)__builtin_popcount(set);
        if (set & ~part_nodes[part] || size > n->tasks || (n->nodes && size != n->nodes))
            continue;
        uint32_t ways = count_ways(n, set), rounds = part == SHARED ? 2 : 1;
        for (uint32_t way = 0; way < ways * rounds; way++) {
            struct host then[NODES];
            memcpy(then, hosts, sizeof then);
            if (place(n, part, set, way >= ways, way % ways, then) &&
                search(need, left & ~(1u << at), then))
                return true;
        }
    }
    return false;
}

/* Whether the components in 'left' fit in any order of placement. */
static bool search(const struct need *need, uint32_t left, const struct host *hosts)
{
    if (!left)
        return true;
    for (uint32_t at = 0; at < COMPONENTS; at++)
        for (uint32_t p = 0; left >> at & 1 && p < need[at].part_count; p++)
            if (search_with(need, left, at, need[at].parts[p], hosts))
                return true;
    return false;
}

/* --- drawn worlds -------------------------------------------------------------------------------
 */

static void draw_running(struct cluster *c, uint64_t *seed, struct host *hosts)
{
    for (uint32_t i = 0; i < NODES; i++) {
        hosts[i] = (struct host){.mem = MEMORY, .empty = true};
        uint32_t cores = test_between(seed, 0, 4), mem = 10 * test_between(seed, 0, 6);
        bool shared = part_nodes[SHARED] >> i & 1 && test_between(seed, 0, 1);
        char where[40];
        snprintf(where, sizeof where, "n%u:%u/%u", i + 1, cores, mem);
        if (!cores)
            continue;
        struct job *j = test_job(c, 100 + i, shared ? "p=p3" : "p=p0");
        test_run_job(c, j, where, NOW + 100);
        hosts[i].mem -= mem;
        hosts[i].empty = false;
        take_cores(&hosts[i], cores, shared);
    }
}

static struct job *draw_set(struct cluster *c, uint64_t *seed, uint32_t count, struct need *need,
                            struct str *text)
{
    for (uint32_t i = 0; i < count; i++) {
        struct need *n = &need[i];
        _cleanup_str_ struct str words = STR_INIT;
        *n = (struct need){.nodes = test_between(seed, 0, 3), .mem = 10 * test_between(seed, 1, 4)};
        n->tasks = (n->nodes ? n->nodes : 1) + test_between(seed, 0, 2);
        n->cpus = test_between(seed, 1, 4);
        n->part_count = test_between(seed, 1, 2);
        n->parts[0] = test_between(seed, 0, PARTS - 1);
        n->parts[1] = (n->parts[0] + test_between(seed, 1, PARTS - 1)) % PARTS;
        n->exclusive = test_between(seed, 0, 4) == 0 && n->parts[0] != SHARED &&
                       (n->part_count == 1 || n->parts[1] != SHARED);
        str_printf(&words, "p=p%u", n->parts[0]);
        if (n->part_count == 2)
            str_printf(&words, ",p%u", n->parts[1]);
        if (n->nodes)
            str_printf(&words, " N=%u", n->nodes);
        str_printf(&words, " n=%u c=%u mem=%u%s", n->tasks, n->cpus, n->mem,
                   n->exclusive ? " exclusive" : "");
        struct job *j = test_job(c, 1 + i, str_cstr(&words));
        assert_int_equal(job_set_join(c, j, 1, i, count, NULL), 0);
        for (uint32_t at = 0; at < job_partitions_count(j); at++) {
            job_partitions_select(j, at);
            j->limit_sec = 100;
            job_partitions_queue(j);
        }
        job_partitions_select_first(j);
        str_printf(text, "%s%s", i ? " : " : "", str_cstr(&words));
    }
    return cluster_find_job(c, 1);
}

static void start_all(struct cluster *c, const struct joint *joint)
{
    vec_foreach (&joint->parts, part)
        job_partitions_unqueue(cluster_find_job(c, part->job->id));
    vec_foreach (&joint->order, at) {
        const struct joint_part *part = &joint->parts.data[*at];
        struct job *j = cluster_find_job(c, part->job->id);
        assert_true(job_partitions_select_part(j, part->job->part));
        vec_foreach (&part->where.shares, share) {
            const struct alloc_want want = share_want(&part->where, share);
            assert_int_equal(alloc_place(c, j, &want, NULL), 0);
        }
        assert_int_equal(job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL), 0);
        order_insert(&c->ends, &attempt_make(j)->ends, job_ends_at(j, NOW), j->id);
    }
    test_sound(c);
}

/* The pass examines a set in each partition of its leader. */
static bool starts(struct cluster *c, const struct job *leader)
{
    struct plan p;
    bool fits = false;
    plan_begin(&p, c, NULL, NOW, true);
    for (uint32_t i = 0; i < job_partitions_count(leader) && !fits; i++) {
        struct job_copy room;
        struct joint joint;
        const struct job *view =
            leader->partitions ? job_partitions_view(leader, leader->partitions->of[i].part, &room)
                               : leader;
        joint_begin(&joint, &p, view);
        fits = joint_fits_now(&joint);
        assert_true(!fits || joint_could_fit(&p, view, NULL));
        if (fits)
            start_all(c, &joint);
        joint_end(&joint);
    }
    plan_end(&p);
    return fits;
}

/* HET-95, HET-97, HET-115: every possible joint start is found, and every start that is found can
 * be allocated. */
static void what_exhaustive_search_finds_is_found(void **state)
{
    uint64_t seed = 1;
    uint32_t found = 0, none = 0, missed = 0;
    const char *percent = getenv("SLUICE_SOAK");
    int rounds = percent ? ROUNDS_OF_RELEASE / 100 * atoi(percent) : ROUNDS;
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct cluster *c = test_cluster(config);
        struct host hosts[NODES];
        struct need need[COMPONENTS];
        _cleanup_str_ struct str text = STR_INIT;
        test_up(c);
        draw_running(c, &seed, hosts);
        uint32_t count = test_between(&seed, 2, COMPONENTS);
        struct job *leader = draw_set(c, &seed, count, need, &text);
        uint32_t all = (1u << count) - 1;
        bool fits = starts(c, leader), could = search(need, all, hosts);
        for (uint32_t i = 0; i < count; i++)
            need[i].spread = true;
        if (fits && !could && !search(need, all, hosts))
            fail_msg("round %d: more than fits: %s", round, str_cstr(&text));
        if (could && !fits)
            print_message("round %d: missed: %s\n", round, str_cstr(&text));
        found += fits;
        none += !could && !fits;
        missed += could && !fits;
        test_cluster_free(c);
    }
    print_message("%u found, %u cannot start, %u missed\n", found, none, missed);
    assert_true(found > (uint32_t)rounds / 5 && none > (uint32_t)rounds / 5);
    assert_int_equal(missed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_exhaustive_search_finds_is_found)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
