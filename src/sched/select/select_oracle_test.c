/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selections against an oracle that tries every set of nodes: on small clusters in random states, a
 * request gets nodes exactly if a set of them satisfies it, and the result is such a set.
 */
#include "base/test_drawn.h"
#include "sched/sched_test_util.h"

enum { NODES = 6, CASES = TEST_DRAWN(20000), NOW = 1000 };

static const char conf[] =
    CONS "NodeName=a[1-2] CPUs=4 RealMemory=400 TmpDisk=10 Feature=a,x\n"
         "NodeName=b1 CPUs=2 RealMemory=300 Feature=b,x Weight=3\n"
         "NodeName=c1 Sockets=1 CoresPerSocket=3 ThreadsPerCore=2 RealMemory=600 Feature=a,y\n"
         "NodeName=d1 CPUs=1 RealMemory=100 TmpDisk=20 Feature=b Weight=2\n"
         "NodeName=e1 CPUs=8 RealMemory=900 TmpDisk=20 Feature=a,b Weight=3\n"
         "PartitionName=p Nodes=ALL Default=YES\n";

/* --- random states and requests --- */

static void add(struct str *words, uint64_t *seed, const char *fmt, uint32_t first, uint32_t last)
{
    str_printf(words, fmt, test_between(seed, first, last));
}

static bool chance(uint64_t *seed, uint32_t in_hundred)
{
    return test_between(seed, 1, 100) <= in_hundred;
}

static void random_nodes(struct str *words, uint64_t *seed, const char *key)
{
    static const char *const names[NODES] = {"a1", "a2", "b1", "c1", "d1", "e1"};
    uint32_t first = test_between(seed, 0, NODES - 1), second = test_between(seed, 0, NODES - 1);

    str_printf(words, " %s=%s", key, names[first]);
    if (second != first && chance(seed, 50))
        str_printf(words, ",%s", names[second]);
}

static void random_memory(struct str *words, uint64_t *seed)
{
    uint32_t kind = test_between(seed, 0, 14);

    if (kind < 2)
        add(words, seed, " mem=%u", 0, 1);
    else if (kind < 4)
        add(words, seed, " mem=%u", 50, 450);
    else if (kind < 6)
        add(words, seed, " mem-per-cpu=%u", 20, 150);
}

static void random_request(struct str *words, uint64_t *seed)
{
    static const char *const features[] = {"a", "b", "x|y", "a&b", "b|x", "a,x"};
    uint32_t first = test_between(seed, 1, 4);

    if (chance(seed, 60))
        str_printf(words, " N=%u-%u", first, first + test_between(seed, 0, 3) / 2);
    if (chance(seed, 65))
        add(words, seed, " n=%u", 1, 12);
    if (chance(seed, 15))
        add(words, seed, " per-node=%u", 1, 4);
    if (chance(seed, 20))
        add(words, seed, " c=%u", 1, 4);
    if (chance(seed, 7))
        add(words, seed, " mincpus=%u", 1, 5);
    if (chance(seed, 5))
        add(words, seed, " tmp=%u", 0, 20);
    random_memory(words, seed);
    if (chance(seed, 10))
        random_nodes(words, seed, "w");
    if (chance(seed, 10))
        random_nodes(words, seed, "x");
    if (chance(seed, 10))
        str_printf(words, " C=%s", features[test_between(seed, 0, COUNT(features) - 1)]);
    if (chance(seed, 10))
        str_puts(words, " exclusive");
    if (chance(seed, 10))
        str_puts(words, " overcommit");
    if (chance(seed, 15))
        str_puts(words, " contiguous");
}

/* Sets limits of the partition in half of the cases. */
static void random_limits(struct cluster *c, uint64_t *seed)
{
    struct part *p = c->parts.data[0];

    if (chance(seed, 20))
        p->conf.min_nodes = test_between(seed, 0, 2);
    if (chance(seed, 20))
        p->conf.max_nodes = test_between(seed, 2, 4);
    if (chance(seed, 20))
        p->conf.max_cpus_per_node = test_between(seed, 1, 5);
    alloc_count_part(c, p);
}

/* Makes some nodes partly or wholly used, and some unusable. */
static void random_state(struct cluster *c, uint64_t *seed)
{
    uint32_t busy = test_between(seed, 0, 5), id = 1;

    random_limits(c, seed);
    test_up(c);
    for (uint32_t i = 0; i < busy; i++) {
        struct node *n = c->nodes.data[test_between(seed, 0, NODES - 1)];
        struct job *j = test_job(c, id, chance(seed, 10) ? "exclusive" : "");
        uint32_t units = test_between(seed, 1, n->units);
        uint64_t mem = test_between(seed, 0, (uint32_t)n->amounts.mem_mib / 2);
        if (alloc_take(c, j, n->index, units, mem, NULL) != 0) {
            cluster_remove_job(c, j);
            continue;
        }
        job_set_state(c, j, PB__JOB_STATE__RUNNING, CAUSE_NONE, NULL);
        order_insert(&c->ends, &attempt_make(j)->ends,
                     NOW + (int64_t)test_between(seed, 1, 5) * 100, id++);
    }
    vec_foreach (&c->nodes, n)
        (*n)->drain = chance(seed, 4);
    test_changed(c);
    test_sound(c);
}

/* --- the oracle --- */

struct space { /* of a node */
    uint32_t units;
    uint64_t mem;
    uint32_t cpus_of_part; /* rest of MaxCPUsPerNode */
    bool idle;
};

static struct space space_now(const struct cluster *c, const struct node *n)
{
    const struct part *p = c->parts.data[0];
    struct space s = {n->exclusive ? 0 : n->free_units,
                      (uint64_t)(n->amounts.mem_mib - n->used.mem_mib), p->conf.max_cpus_per_node,
                      n->jobs == 0};
    uint32_t used = 0;
    vec_foreach (&c->jobs, j)
        vec_foreach (&attempt_of((*j))->alloc, a)
            used += a->node == n->index ? a->cpus : 0;
    if (s.cpus_of_part != UINT32_MAX)
        s.cpus_of_part -= used < s.cpus_of_part ? used : s.cpus_of_part;
    return s;
}

static uint32_t units_of(const struct request *r, const struct node *n, uint32_t tasks)
{
    uint32_t cpus = (r->overcommit ? 1 : tasks) * r->cpus_per_task;

    if (r->exclusive)
        return n->units;
    cpus = cpus > r->min_cpus ? cpus : r->min_cpus;
    return (cpus + n->cpus_per_unit - 1) / n->cpus_per_unit;
}

static uint64_t memory_of(const struct request *r, const struct node *n, uint32_t cpus)
{
    if (r->mem_node_mib == UINT64_MAX)
        return (uint64_t)n->amounts.mem_mib;
    return r->mem_node_mib ? r->mem_node_mib : r->mem_cpu_mib * cpus;
}

static bool suits(const struct cluster *c, const struct job *j, const struct node *n)
{
    const struct request *r = &j->want;
    static const struct {
        const char *expr, *nodes;
    } features[] = {{"a", "a1 a2 c1 e1"}, {"b", "b1 d1 e1"},         {"x|y", "a1 a2 b1 c1"},
                    {"a&b", "e1"},        {"b|x", "a1 a2 b1 d1 e1"}, {"a,x", "a1 a2"}};
    bool has = !r->features;

    for (size_t i = 0; i < COUNT(features); i++)
        has = has || (str_eq(r->features, features[i].expr) && strstr(features[i].nodes, n->name));
    return has && !n->drain && n->tmp_mib >= r->tmp_mib &&
           !(r->exc && bitset_test(r->exc, n->index)) && bitset_test(j->part->nodes, n->index) &&
           c->nodes.data[n->index] == n;
}

/* Returns how many tasks fit; 0: none. */
static uint32_t capacity(const struct job *j, const struct node *n, struct space s)
{
    const struct request *r = &j->want;
    uint32_t most = r->tasks, tasks = 0;

    if (r->ntasks_per_node && r->ntasks_per_node < most)
        most = r->ntasks_per_node;
    for (uint32_t t = 1; t <= most; t++) {
        uint32_t units = units_of(r, n, t), cpus = units * n->cpus_per_unit;
        uint32_t least = (r->overcommit ? 1 : t) * r->cpus_per_task;
        least = least > r->min_cpus ? least : r->min_cpus;
        bool room = units <= s.units && cpus <= s.cpus_of_part && cpus >= least &&
                    memory_of(r, n, cpus) <= s.mem && least * r->mem_cpu_mib <= s.mem &&
                    (!r->exclusive || s.idle);
        tasks = room ? t : tasks;
    }
    bool all = r->ntasks_per_node && !r->tasks_given; /* the full number on every node */
    return all && tasks < r->ntasks_per_node ? 0 : tasks;
}

static bool is_one_run(uint32_t set)
{
    while (!(set & 1))
        set >>= 1;
    return (set & (set + 1)) == 0;
}

static bool set_holds(const struct job *j, const uint32_t fit[NODES], uint32_t set)
{
    const struct request *r = &j->want;
    const struct conf_part *p = &j->part->conf;
    uint32_t count = 0, tasks = 0;

    for (uint32_t i = 0; i < NODES; i++) {
        bool in = set >> i & 1;
        if (in && !fit[i])
            return false;
        if (r->req && bitset_test(r->req, i) && !in)
            return false;
        count += in;
        tasks += in ? fit[i] : 0;
    }
    return count >= r->min_nodes && count <= r->max_nodes && tasks >= r->tasks &&
           count >= p->min_nodes && count <= p->max_nodes && (!r->contiguous || is_one_run(set));
}

static uint32_t find_set(const struct job *j, const uint32_t fit[NODES])
{
    for (uint32_t set = 1; set < 1u << NODES; set++)
        if (set_holds(j, fit, set))
            return set;
    return 0;
}

/* --- checks of a selection --- */

static uint32_t heaviest(const struct cluster *c, const struct request *r, uint32_t set)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < NODES; i++)
        if (set >> i & 1 && !(r->req && bitset_test(r->req, i)) && c->nodes.data[i]->weight > most)
            most = c->nodes.data[i]->weight;
    return most;
}

/* Returns the set that satisfies the request with the lightest heaviest node. */
static uint32_t lightest(const struct cluster *c, const struct job *j, const uint32_t fit[NODES])
{
    uint32_t least = UINT32_MAX;
    for (uint32_t set = 1; set < 1u << NODES; set++)
        if (set_holds(j, fit, set) && heaviest(c, &j->want, set) < least)
            least = heaviest(c, &j->want, set);
    return least;
}

struct trial {
    struct cluster *c;
    struct job *j;
    uint32_t fit[NODES];
    const char *words;
    uint64_t seed;
};

#define WRONG(t, what)                                                                             \
    fail_msg("seed %llu, '%s': %s", (unsigned long long)(t)->seed, (t)->words, what)

static void check_share(const struct trial *t, const struct share *s)
{
    const struct request *r = &t->j->want;
    const struct node *n = t->c->nodes.data[s->node];
    struct space space = space_now(t->c, n);

    if (s->units == 0 || s->units > space.units)
        WRONG(t, "more cores than are free");
    uint64_t mem_mib = (uint64_t)s->amounts.mem_mib;
    if (mem_mib > space.mem)
        WRONG(t, "more memory than is free");
    if (mem_mib != memory_of(r, n, s->units * n->cpus_per_unit))
        WRONG(t, "not the memory it asks for");
    if (r->exclusive && (s->units != n->units || !space.idle))
        WRONG(t, "not the whole node");
    if (s->units * n->cpus_per_unit < r->min_cpus)
        WRONG(t, "fewer CPUs than --mincpus");
}

/* Checks that the nodes satisfy the request, and that no lighter node was skipped without need. */
static void check_set(const struct trial *t, const struct selection *s)
{
    const struct request *r = &t->j->want;
    uint32_t set = 0, tasks = 0;

    vec_foreach (&s->shares, at) {
        const struct node *n = t->c->nodes.data[at->node];
        check_share(t, at);
        set |= 1u << at->node;
        tasks += at->units * n->cpus_per_unit / r->cpus_per_task;
    }
    if (!set_holds(t->j, t->fit, set))
        WRONG(t, "a set of nodes that does not hold it");
    if (!r->overcommit && tasks < r->tasks)
        WRONG(t, "too few CPUs for its tasks");
    /* More nodes than needed may be heavier, and a run of neighbours takes the nodes in it. */
    bool exact = !r->contiguous && r->good_nodes <= r->min_nodes;
    if (exact && heaviest(t->c, r, set) > lightest(t->c, t->j, t->fit))
        WRONG(t, "lighter nodes would do");
}

static void one_trial(uint64_t seed, uint32_t *found)
{
    struct str words = STR_INIT;
    struct trial t = {.seed = seed};
    struct selection s = {0};

    t.c = test_cluster(conf);
    random_state(t.c, &seed);
    random_request(&words, &seed);
    t.words = str_cstr(&words);
    t.j = test_try_job(t.c, 100, t.words);
    if (!t.j) { /* such as "N=1 w=a1,a2" */
        str_done(&words);
        test_cluster_free(t.c);
        return;
    }
    vec_foreach (&t.c->nodes, n)
        t.fit[(*n)->index] = suits(t.c, t.j, *n) ? capacity(t.j, *n, space_now(t.c, *n)) : 0;
    _cleanup_bitset_ struct bitset *allowed = select_candidates(t.c, t.j);
    bitset_and(allowed, t.c->pool.usable);
    int rc = select_nodes(t.c, t.j, allowed, NULL, &s);
    uint32_t set = find_set(t.j, t.fit);
    if (rc == 0) {
        check_set(&t, &s);
        _cleanup_free_ char *where = test_selection(t.c, &s);
        test_run_job(t.c, t.j, where, NOW + 1);
        test_sound(t.c);
    } else if (set) {
        WRONG(&t, "waits, and could run");
    }
    *found += rc == 0;
    select_done(&s);
    str_done(&words);
    test_cluster_free(t.c);
}

static void choices_agree_with_exhaustive_search(void **state)
{
    uint32_t found = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        one_trial(seed, &found);
    /* The requests are neither trivial nor hopeless. */
    assert_in_range(found, CASES / 5, CASES * 4 / 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_agree_with_exhaustive_search),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
