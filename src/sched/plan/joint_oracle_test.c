/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Compares the joint placement with an exhaustive search: on small random clusters of cores with
 * two threads, with overlapping partitions (one of which lets jobs share cores), running jobs, and
 * sets whose components may name several partitions and require nodes. Starts now, planned starts,
 * and sets that never fit are compared.
 */
#include "sched/plan/joint.h"
#include "sched/plan/timeline.h"
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
    uint32_t required; /* set of nodes */
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
        if (set & ~part_nodes[part] || n->required & ~set || size > n->tasks ||
            (n->nodes && size != n->nodes))
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

static void clear_hosts(struct host *hosts)
{
    for (uint32_t i = 0; i < NODES; i++)
        hosts[i] = (struct host){.mem = MEMORY, .empty = true};
}

/* 'ends': by node, the end of its running job; 0: it has none. */
static void draw_running(struct cluster *c, uint64_t *seed, struct host *hosts, int64_t *ends)
{
    clear_hosts(hosts);
    for (uint32_t i = 0; i < NODES; i++) {
        ends[i] = 0;
        uint32_t cores = test_between(seed, 0, 4), mem = 10 * test_between(seed, 0, 6);
        bool shared = part_nodes[SHARED] >> i & 1 && test_between(seed, 0, 1);
        char where[40];
        snprintf(where, sizeof where, "n%u:%u/%u", i + 1, cores, mem);
        if (!cores)
            continue;
        struct job *j = test_job(c, 100 + i, shared ? "p=p3" : "p=p0");
        ends[i] = NOW + 50 * (int64_t)test_between(seed, 1, 4);
        test_run_job(c, j, where, ends[i]);
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
        if (test_between(seed, 0, 3) == 0) { /* in all of its partitions */
            uint32_t node = test_between(seed, 1, 2);
            n->required = 1u << node;
            for (uint32_t at = 0; at < n->part_count; at++)
                n->required &= part_nodes[n->parts[at]];
        }
        str_printf(&words, "p=p%u", n->parts[0]);
        if (n->part_count == 2)
            str_printf(&words, ",p%u", n->parts[1]);
        if (n->nodes)
            str_printf(&words, " N=%u", n->nodes);
        if (n->required)
            str_printf(&words, " w=n%d", __builtin_ctz(n->required) + 1);
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

/* --- drawn rounds -------------------------------------------------------------------------------
 */

struct world {
    struct cluster *cluster;
    struct host hosts[NODES];
    int64_t ends[NODES];
    struct need need[COMPONENTS];
    uint32_t count;
    struct job *leader;
    struct str text;
};

static void draw_world(struct world *w, uint64_t *seed)
{
    *w = (struct world){.cluster = test_cluster(config), .text = STR_INIT};
    test_up(w->cluster);
    draw_running(w->cluster, seed, w->hosts, w->ends);
    w->count = test_between(seed, 2, COMPONENTS);
    w->leader = draw_set(w->cluster, seed, w->count, w->need, &w->text);
}

static void end_world(struct world *w)
{
    str_done(&w->text);
    test_cluster_free(w->cluster);
}

/* 'spread': on more nodes than the tasks need, too. */
static bool search_world(struct world *w, const struct host *hosts, bool spread)
{
    for (uint32_t i = 0; i < w->count; i++)
        w->need[i].spread = spread;
    return search(w->need, (1u << w->count) - 1, hosts);
}

static int count_rounds(void)
{
    const char *percent = getenv("SLUICE_SOAK");
    return percent ? ROUNDS_OF_RELEASE / 100 * atoi(percent) : ROUNDS;
}

/* HET-95, HET-97, HET-115: every possible joint start is found, and every start that is found can
 * be allocated. */
static void joint_start_is_found_if_exhaustive_search_finds_one(void **state)
{
    uint64_t seed = 1;
    uint32_t found = 0, none = 0, missed = 0;
    int rounds = count_rounds();
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct world w;
        draw_world(&w, &seed);
        bool fits = starts(w.cluster, w.leader), could = search_world(&w, w.hosts, false);
        if (fits && !could && !search_world(&w, w.hosts, true))
            fail_msg("round %d: more than fits: %s", round, str_cstr(&w.text));
        if (could && !fits)
            print_message("round %d: missed: %s\n", round, str_cstr(&w.text));
        found += fits;
        none += !could && !fits;
        missed += could && !fits;
        end_world(&w);
    }
    print_message("%u found, %u cannot start, %u missed\n", found, none, missed);
    assert_true(found > (uint32_t)rounds / 5 && none > (uint32_t)rounds / 5);
    assert_int_equal(missed, 0);
}

/* A set that fits on the empty cluster is never refused. Of the others many are. */
static void what_never_fits_is_found(void **state)
{
    uint64_t seed = 2;
    uint32_t never = 0, unknown = 0;
    int rounds = count_rounds();
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct world w;
        struct host empty[NODES];
        draw_world(&w, &seed);
        clear_hosts(empty);
        bool could = joint_could_ever_fit(w.cluster, w.leader, NULL);
        bool fits = search_world(&w, empty, true);
        if (fits && !could)
            fail_msg("round %d: it fits: %s", round, str_cstr(&w.text));
        never += !could;
        unknown += could && !fits;
        end_world(&w);
    }
    print_message("%u never fit, of %u others it is not known\n", never, unknown);
    assert_true(2 * never > unknown);
}

/* Returns the earliest time at which exhaustive search finds a placement; 0: never. */
static int64_t search_start(struct world *w, bool spread)
{
    for (int64_t at = NOW; at <= NOW + 200; at += 50) {
        struct host then[NODES];
        clear_hosts(then);
        for (uint32_t i = 0; i < NODES; i++)
            if (w->ends[i] > at)
                then[i] = w->hosts[i];
        if (search_world(w, then, spread))
            return at;
    }
    return 0;
}

/* The set is planned in each partition of its leader. */
static int64_t plan_start(struct cluster *c, const struct job *leader)
{
    struct plan p;
    int64_t first = 0;
    plan_begin(&p, c, NULL, NOW, true);
    for (uint32_t i = 0; i < job_partitions_count(leader); i++) {
        struct job_copy room;
        struct joint joint;
        struct timeline t;
        const struct job *view =
            leader->partitions ? job_partitions_view(leader, leader->partitions->of[i].part, &room)
                               : leader;
        timeline_init(&t, c, NOW);
        timeline_set_resv(&t, p.resv);
        t.claims = &p.claims;
        joint_begin(&joint, &p, view);
        int64_t at = joint_find_start(&joint, &t, NOW);
        first = at && (!first || at < first) ? at : first;
        joint_end(&joint);
        timeline_done(&t);
    }
    plan_end(&p);
    return first;
}

/* HET-95, HET-118: a planned start is the earliest time at which exhaustive search finds a
 * placement. */
static void no_planned_start_is_late(void **state)
{
    uint64_t seed = 3;
    uint32_t found = 0, later = 0, late = 0, lost = 0;
    int rounds = count_rounds();
    (void)state;
    for (int round = 0; round < rounds; round++) {
        struct world w;
        draw_world(&w, &seed);
        int64_t start = plan_start(w.cluster, w.leader), could = search_start(&w, false);
        int64_t any = search_start(&w, true);
        if (start && (!any || start < any))
            fail_msg("round %d: planned for %lld, possible from %lld: %s", round, (long long)start,
                     (long long)any, str_cstr(&w.text));
        if (could && start != could && (!start || start > could))
            print_message("round %d: planned for %lld, possible at %lld: %s\n", round,
                          (long long)start, (long long)could, str_cstr(&w.text));
        found += start > 0;
        later += start > NOW;
        late += could && start > could;
        lost += could && !start;
        end_world(&w);
    }
    print_message("%u planned, %u of them not at once, %u late, %u without a start\n", found, later,
                  late, lost);
    assert_true(later > (uint32_t)rounds / 10);
    assert_int_equal(late + lost, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joint_start_is_found_if_exhaustive_search_finds_one),
        cmocka_unit_test(what_never_fits_is_found),
        cmocka_unit_test(no_planned_start_is_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
