/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Choices by the network: by a table, and against an oracle that tries every set of nodes on small
 * clusters.
 */
#include "cluster/node/topo.h"
#include "sched/sched_test_util.h"

enum { NODES = 8, CASES = 4000 };

#define T "TopologyConf=1 "
#define TREE                                                                                       \
    CONS "TopologyPlugin=topology/tree\nNodeName=n[1-12] CPUs=4\nPartitionName=p Nodes=ALL\n"
/* Two halves: leaves of 3, 2 and 1 nodes, and a leaf of 5; n12 is unconnected. */
#define HALVES                                                                                     \
    T "SwitchName=a Nodes=n[1-3]\n" T "SwitchName=b Nodes=n[4-5]\n" T "SwitchName=c Nodes=n6\n" T  \
      "SwitchName=d Nodes=n[7-11]\n" T "SwitchName=left Switches=a,b,c\n"
#define WHOLE T "SwitchName=top Switches=left,d\n"

static char *choose(struct cluster *c, uint32_t id, const char *words)
{
    struct job *j = test_job(c, id, words);
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    struct selection s = {0};
    bitset_and(allowed, c->pool.usable);
    int rc = select_nodes(c, j, allowed, NULL, &s);
    char *text = test_selection(c, &s);
    assert_int_equal(rc, *text ? 0 : -ERR_NODES_BUSY);
    select_done(&s);
    return text;
}

struct row {
    const char *words, *where;
};

static void try_all(const char *conf, const struct row *v, size_t n)
{
    struct cluster *c = test_cluster(conf);
    test_up(c);
    for (size_t i = 0; i < n; i++) {
        _cleanup_free_ char *text = choose(c, (uint32_t)i + 1, v[i].words);
        if (!str_eq(text, v[i].where))
            fail_msg("'%s': %s", v[i].words, text);
    }
    test_cluster_free(c);
}

static void tree_chooses_few_leaves(void **state)
{
    static const struct row v[] = {
        {"N=1", "n6:1/0"}, /* the leaf with the least left */
        {"N=2", "n4:1/0 n5:1/0"},
        {"N=3", "n1:1/0 n2:1/0 n3:1/0"},
        {"N=4", "n7:1/0 n8:1/0 n9:1/0 n10:1/0"},              /* one leaf, not the two of 'left' */
        {"N=6", "n1:1/0 n2:1/0 n3:1/0 n4:1/0 n5:1/0 n6:1/0"}, /* below 'left' */
        {"N=7", "n4:1/0 n5:1/0 n7:1/0 n8:1/0 n9:1/0 n10:1/0 n11:1/0"}, /* two leaves of 'top' */
        {"w=n4 N=2", "n4:1/0 n5:1/0"},
        {"w=n6,n1 N=3", "n1:1/0 n2:1/0 n6:1/0"}, /* leaves that are used in any case */
        {"n=20", "n7:4/0 n8:4/0 n9:4/0 n10:4/0 n11:4/0"},
        {"n=22", "n1:4/0 n2:4/0 n3:4/0 n4:4/0 n5:4/0 n6:2/0"},
        {"N=12", ""}, /* n12 is below no switch */
        {"N=2 w=n12", ""},
        {"w=n12", "n12:1/0"},
        {"N=3 contiguous", "n1:1/0 n2:1/0 n3:1/0"},
        {"N=12 contiguous", ""},
        {"n=3 spread", "n1:1/0 n2:1/0 n3:1/0"},
        {"N=2-4", "n4:1/0 n5:1/0"}, /* few leaves precede many nodes */
        {"switches=1 N=5", "n7:1/0 n8:1/0 n9:1/0 n10:1/0 n11:1/0"},
        {"switches=1 N=6", ""},
        {"switches=2 N=6", "n6:1/0 n7:1/0 n8:1/0 n9:1/0 n10:1/0 n11:1/0"},
        {"switches=3 N=6", "n1:1/0 n2:1/0 n3:1/0 n4:1/0 n5:1/0 n6:1/0"},
    };
    (void)state;
    try_all(TREE HALVES WHOLE, v, COUNT(v));
}

/* Without a switch above both halves no job spans both. */
static void no_job_spans_separate_fabrics(void **state)
{
    static const struct row v[] = {
        {"N=6", "n1:1/0 n2:1/0 n3:1/0 n4:1/0 n5:1/0 n6:1/0"},
        {"N=7", ""},
        {"N=7 contiguous", ""},
        {"N=6 contiguous", "n1:1/0 n2:1/0 n3:1/0 n4:1/0 n5:1/0 n6:1/0"},
        {"n=28", ""},
    };
    (void)state;
    try_all(TREE HALVES, v, COUNT(v));
    struct cluster *c = test_cluster(TREE HALVES);
    struct err err = {0};
    assert_int_equal(select_possible(c, test_job(c, 1, "N=7"), &err), -ERR_NODE_CONFIG);
    assert_int_equal(select_possible(c, test_job(c, 2, "N=6"), &err), 0);
    assert_int_equal(select_possible(c, test_job(c, 3, "w=n12"), &err), 0);
    assert_int_equal(select_possible(c, test_job(c, 4, "w=n12 N=2"), &err), -ERR_NODE_CONFIG);
    assert_int_equal(select_possible(c, test_job(c, 5, "N=6 switches=1"), &err), 0);
    test_cluster_free(c);
}

/* Only jobs that request switches are placed by them; other jobs may span everything. */
static void only_jobs_with_switches_are_placed_by_them(void **state)
{
    static const struct row v[] = {
        {"N=2", "n1:1/0 n2:1/0"},
        {"N=2 switches=1", "n4:1/0 n5:1/0"},
        {"N=12", "n1:1/0 n2:1/0 n3:1/0 n4:1/0 n5:1/0 n6:1/0 n7:1/0 n8:1/0 n9:1/0 n10:1/0 n11:1/0 "
                 "n12:1/0"},
    };
    (void)state;
    try_all(TREE "TopologyParam=TopoOptional\n" HALVES WHOLE, v, COUNT(v));
}

static void blocks_choose_nodes(void **state)
{
    static const char conf[] =
        CONS "TopologyPlugin=topology/block\nNodeName=n[1-12] CPUs=4\nPartitionName=p Nodes=ALL\n" T
             "BlockSizes=3,6\n" T "BlockName=b1 Nodes=n[1-3]\n" T "BlockName=b2 Nodes=n[4-6]\n" T
             "BlockName=b3 Nodes=n[7-9]\n" T "BlockName=b4 Nodes=n[10-12]\n";
    (void)state;
    struct cluster *c = test_cluster(conf);
    test_up(c);
    test_run(c, 1000, "n4:4", 2000);
    _cleanup_free_ char *three = choose(c, 1, "N=3"), *five = choose(c, 2, "N=5"),
                        *six = choose(c, 3, "N=6"), *most = choose(c, 4, "N=9 w=n5");
    assert_string_equal(three, "n1:1/0 n2:1/0 n3:1/0");
    assert_string_equal(five, "n1:1/0 n2:1/0 n3:1/0 n5:1/0 n6:1/0");
    assert_string_equal(six, "n7:1/0 n8:1/0 n9:1/0 n10:1/0 n11:1/0 n12:1/0");
    assert_true(strstr(most, "n5:1/0") && !strstr(most, "n4:"));
    test_cluster_free(c);
}

/* The least loaded nodes first, and single tasks at the end. */
static void least_loaded_nodes_are_chosen(void **state)
{
    static const char nodes[] = "NodeName=n[1-4] CPUs=4 RealMemory=100\n"
                                "NodeName=n5 CPUs=8 Weight=9\nPartitionName=p Nodes=ALL\n";
    static const struct {
        const char *more, *words, *where;
    } v[] = {
        {"", "n=1", "n4:1/0"}, /* the tightest fit */
        {"SelectTypeParameters=CR_Core,CR_LLN\n", "n=1", "n3:1/0"},
        {"SelectTypeParameters=CR_Core,CR_LLN\n", "N=2", "n2:1/0 n3:1/0"},
        {"SelectTypeParameters=CR_LLN\n", "n=1", "n3:1/0"},
        {"SchedulerParameters=pack_serial_at_end\n", "n=1", "n4:1/0"},
        {"SchedulerParameters=pack_serial_at_end\n", "n=2", "n1:2/0"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_free_ char *conf =
            mem_printf("SelectType=select/cons_tres\n%s%s", v[i].more, nodes);
        struct cluster *c = test_cluster(conf);
        test_up(c);
        test_run(c, 1000, "n1:2 n2:1 n4:3", 2000);
        _cleanup_free_ char *text = choose(c, 1, v[i].words);
        if (!str_eq(text, v[i].where))
            fail_msg("%s'%s': %s", v[i].more, v[i].words, text);
        test_cluster_free(c);
    }
    struct cluster *c = test_cluster("SelectType=select/cons_tres\nNodeName=n[1-2] CPUs=4\n"
                                     "PartitionName=p Nodes=ALL LLN=YES\n");
    test_up(c);
    test_run(c, 1000, "n1:2", 2000);
    _cleanup_free_ char *text = choose(c, 1, "n=1");
    assert_string_equal(text, "n2:1/0");
    test_cluster_free(c);
}

/* Whether a pass at that time starts the only job. */
static bool starts(struct cluster *c, int64_t now_sec)
{
    struct plan p;
    struct decision d;
    bool start = false;
    plan_begin(&p, c, NULL, now_sec, true);
    while (plan_next(&p, &d)) {
        start = start || d.kind == PLAN_START;
        test_follow(c, &d);
        plan_decision_done(&d);
        free(d.detail);
    }
    plan_end(&p);
    return start;
}

/* A job waits for few switches from the first time at which more would have sufficed, for the given
 * time. */
static void job_waits_for_fewer_switches(void **state)
{
    static const struct {
        const char *words;
        int64_t wait; /* 0: it starts at once */
    } v[] = {
        {"N=6 switches=3", 0},
        {"N=6 switches=1", 300},
        {"N=6 switches=1 switch-wait=20", 20},
        {"N=6 switches=1 switch-wait=2000", 300},
        {"N=5 switches=1 switch-wait=20", 0},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = test_cluster(TREE HALVES WHOLE);
        struct job *j = test_job(c, 1, v[i].words);
        j->limit_sec = 60;
        order_insert(&j->part->queue, &j->queued, 0, 1);
        assert_false(starts(c, 900)); /* no node is up: this is not waiting time */
        assert_int_equal(plan_switches_until(c, j), 0);
        test_up(c);
        if (v[i].wait) {
            assert_false(starts(c, 1000000)); /* the clock is set back */
            assert_false(starts(c, 1000));
            assert_int_equal(plan_switches_until(c, j), 1000 + v[i].wait);
            assert_false(starts(c, 1000 + v[i].wait - 1));
        }
        if (!starts(c, 1000 + v[i].wait))
            fail_msg("'%s' waits", v[i].words);
        test_cluster_free(c);
    }
}

/* Returns the start that a pass announces for the only job; 0: unforeseeable. */
static int64_t told(struct cluster *c, int64_t now_sec)
{
    struct plan p;
    struct decision d;
    int64_t at = 0;
    plan_begin(&p, c, NULL, now_sec, true);
    while (plan_next(&p, &d)) {
        assert_int_equal(d.kind, PLAN_WAIT);
        at = d.start_at;
        test_follow(c, &d);
        free(d.detail);
    }
    plan_end(&p);
    return at;
}

static int64_t foreseen(struct cluster *c, struct job *j, int64_t now_sec, size_t nodes)
{
    struct selection s = {0};
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    bitset_and(allowed, c->pool.usable);
    int64_t at = test_earliest(c, j, allowed, now_sec, &s);
    assert_int_equal(s.shares.len, nodes);
    select_done(&s);
    return at;
}

/* The end of the waiting time is foreseen; nothing is foreseen if no number of switches
 * suffices. */
static void planned_start_includes_the_wait_for_switches(void **state)
{
    static const struct {
        const char *words;
        int64_t wait;
        size_t nodes;
    } v[] = {
        {"N=6 switches=1", 300, 6},
        {"N=6 switches=1 switch-wait=20", 20, 6},
        {"N=6 switches=1 switch-wait=0", 0, 6},
        {"N=6 switches=3", 0, 6},
        {"N=5 switches=1 switch-wait=20", 0, 5},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct cluster *c = test_cluster(TREE HALVES WHOLE);
        struct job *j = test_job(c, 1, v[i].words);
        j->limit_sec = 60;
        assert_int_equal(foreseen(c, j, 900, 0), 900 + CLUSTER_NO_LIMIT_SEC);
        order_insert(&j->part->queue, &j->queued, 0, 1);
        assert_int_equal(told(c, 900), 0);
        test_up(c);
        assert_int_equal(foreseen(c, j, 1000, v[i].nodes), 1000 + v[i].wait);
        if (v[i].wait) {
            assert_int_equal(told(c, 1000), 1000 + v[i].wait);
            assert_int_equal(foreseen(c, j, 1010, v[i].nodes), 1000 + v[i].wait);
        }
        test_cluster_free(c);
    }
}

/* --- addresses and shapes --- */

static void addresses_name_switches_and_node(void **state)
{
    static const struct {
        const char *node, *address, *pattern;
    } v[] = {
        {"n1", "top.left.a.n1", "switch.switch.switch.node"},
        {"n7", "top.d.n7", "switch.switch.node"},
        {"n12", "n12", "node"},
    };
    struct cluster *c = test_cluster(TREE HALVES WHOLE);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_str_ struct str address = STR_INIT, pattern = STR_INIT;
        conf_topo_address(c->conf, conf_default_network(c->conf),
                          cluster_find_node(c, v[i].node)->index, &address, &pattern);
        assert_string_equal(str_cstr(&address), v[i].address);
        assert_string_equal(str_cstr(&pattern), v[i].pattern);
    }
    assert_int_equal(c->topos[0]->leaves, 5);
    assert_int_equal(c->topos[0]->roots, 2);
    test_cluster_free(c);
}

/* --- the oracle --- */

struct world {
    struct cluster *c;
    struct job *j;
    uint32_t fit[NODES], leaf[NODES], half[NODES];
    bool joined; /* a switch is above both halves */
};

static void make_world(struct world *w, uint64_t *seed)
{
    _cleanup_str_ struct str text = STR_INIT;
    uint32_t leaves = test_between(seed, 2, 5), split = test_between(seed, 1, leaves - 1);
    str_puts(&text, CONS "TopologyPlugin=topology/tree\n");
    for (uint32_t i = 0; i < NODES; i++) {
        w->fit[i] = test_between(seed, 1, 3);
        w->leaf[i] = test_between(seed, 0, leaves - 1);
        w->half[i] = w->leaf[i] >= split;
        str_printf(&text, "NodeName=n%u CPUs=%u\n", i + 1, w->fit[i]);
    }
    str_puts(&text, "PartitionName=p Nodes=ALL\n");
    for (uint32_t l = 0; l < leaves; l++) {
        str_printf(&text, T "SwitchName=l%u Nodes=", l);
        bool some = false;
        for (uint32_t i = 0; i < NODES; i++)
            if (w->leaf[i] == l) {
                str_printf(&text, "%sn%u", some ? "," : "", i + 1);
                some = true;
            }
        str_puts(&text, some ? "\n" : "elsewhere\n");
    }
    w->joined = test_between(seed, 0, 2);
    str_printf(&text, T "SwitchName=h0 Switches=l[0-%u]\n", split - 1);
    str_printf(&text, T "SwitchName=h1 Switches=l[%u-%u]\n", split, leaves - 1);
    str_puts(&text, w->joined ? T "SwitchName=top Switches=h[0-1]\n" : "");
    w->c = test_cluster(str_cstr(&text));
    test_up(w->c);
}

static bool holds(const struct world *w, uint32_t set)
{
    const struct request *r = &w->j->want;
    uint32_t count = 0, tasks = 0;
    for (uint32_t i = 0; i < NODES; i++) {
        bool in = set >> i & 1;
        if (!in && r->req && bitset_test(r->req, i))
            return false;
        count += in;
        tasks += in ? w->fit[i] : 0;
    }
    return count >= r->min_nodes && count <= r->max_nodes && tasks >= r->tasks;
}

static uint32_t leaves_of(const struct world *w, uint32_t set)
{
    uint32_t leaves = 0;
    for (uint32_t i = 0; i < NODES; i++)
        leaves |= set >> i & 1 ? 1u << w->leaf[i] : 0;
    return (uint32_t)__builtin_popcount(leaves);
}

/* Returns the level of the lowest switch above the nodes; 9: none. */
static uint32_t level_of(const struct world *w, uint32_t set)
{
    uint32_t halves = 0;
    for (uint32_t i = 0; i < NODES; i++)
        halves |= set >> i & 1 ? 1u << w->half[i] : 0;
    if (leaves_of(w, set) == 1)
        return 0;
    return halves != 3 ? 1 : w->joined ? 2 : 9;
}

/* Returns the lowest level at which a set satisfies the request, and the fewest leaves below such a
 * switch. */
static uint32_t best(const struct world *w, uint32_t *leaves)
{
    uint32_t level = 9;
    *leaves = UINT32_MAX;
    for (uint32_t set = 1; set < 1u << NODES; set++) {
        uint32_t l = holds(w, set) ? level_of(w, set) : 9;
        if (l > level || l == 9)
            continue;
        uint32_t n = leaves_of(w, set);
        *leaves = l < level || n < *leaves ? n : *leaves;
        level = l;
    }
    return level;
}

/* Limits the nodes, or the tasks: then the number of leaves is minimal. */
static bool one_trial(uint64_t seed)
{
    struct world w = {0};
    uint64_t at = seed;
    _cleanup_str_ struct str words = STR_INIT;
    struct selection s = {0};
    make_world(&w, &at);
    uint32_t form = test_between(&at, 0, 2), nodes = test_between(&at, 1, 6);
    if (form == 0)
        str_printf(&words, "N=%u", nodes);
    else if (form == 1)
        str_printf(&words, "n=%u", test_between(&at, 1, 12));
    else
        str_printf(&words, "N=%u-%u n=%u", nodes, nodes + 1, test_between(&at, nodes, nodes * 2));
    if (test_between(&at, 0, 4) == 0)
        str_printf(&words, " w=n%u", test_between(&at, 1, NODES));
    w.j = test_job(w.c, 1, str_cstr(&words));
    _cleanup_bitset_ struct bitset *allowed = select_candidates(w.c, w.j);
    int rc = select_nodes(w.c, w.j, allowed, NULL, &s);
    uint32_t set = 0, leaves, level = best(&w, &leaves);
    vec_foreach (&s.shares, share)
        set |= 1u << share->node;
    const char *wrong = NULL;
    if ((rc == 0) != (level != 9))
        wrong = rc == 0 ? "chosen where nothing does" : "waits, and could run";
    else if (rc == 0 && !holds(&w, set))
        wrong = "a set that does not hold it";
    else if (rc == 0 && level_of(&w, set) != level)
        wrong = "a lower switch would do";
    else if (rc == 0 && form != 2 && leaves_of(&w, set) > leaves)
        wrong = "fewer leaves would do";
    if (wrong)
        fail_msg("seed %llu, '%s': %s (%x)", (unsigned long long)seed, str_cstr(&words), wrong,
                 set);
    select_done(&s);
    test_cluster_free(w.c);
    return rc == 0;
}

static void choices_agree_with_the_oracle(void **state)
{
    uint32_t found = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        found += one_trial(seed);
    assert_in_range(found, CASES / 3, CASES - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_chooses_few_leaves),
        cmocka_unit_test(no_job_spans_separate_fabrics),
        cmocka_unit_test(only_jobs_with_switches_are_placed_by_them),
        cmocka_unit_test(blocks_choose_nodes),
        cmocka_unit_test(least_loaded_nodes_are_chosen),
        cmocka_unit_test(job_waits_for_fewer_switches),
        cmocka_unit_test(planned_start_includes_the_wait_for_switches),
        cmocka_unit_test(addresses_name_switches_and_node),
        cmocka_unit_test(choices_agree_with_the_oracle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
