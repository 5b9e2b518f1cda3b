/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/sched_test_util.h"

/* n: one thread per core; m: two; big: larger than the others; out: of another partition. */
static const char mixed[] =
    CONS "NodeName=n[1-4] CPUs=4 RealMemory=1000 TmpDisk=500 Feature=a,x\n"
         "NodeName=m[1-2] Sockets=1 CoresPerSocket=2 ThreadsPerCore=2 RealMemory=1000 "
         "Feature=a,y Weight=5\n"
         "NodeName=f1 CPUs=64 RealMemory=64000 Feature=future State=FUTURE\n"
         "NodeName=big CPUs=8 RealMemory=8000 Feature=c Weight=9\n"
         "NodeName=out CPUs=4 RealMemory=1000 Feature=elsewhere\n"
         "PartitionName=p Nodes=n[1-4],m[1-2],f1,big Default=YES\n"
         "PartitionName=q Nodes=out\n";

/* Returns the selection for the request among all nodes that are up, as a text; NULL: none. */
static char *choice(const struct cluster *c, const struct job *j)
{
    _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
    struct selection s = {0};

    bitset_and(allowed, c->pool.usable);
    int rc = select_nodes(c, j, allowed, NULL, &s);
    if (rc != 0) {
        assert_int_equal(rc, -ERR_NODES_BUSY);
        assert_int_equal(s.shares.len, 0);
        return NULL;
    }
    char *text = test_selection(c, &s);
    select_done(&s);
    return text;
}

struct choice_case {
    const char *holds; /* held by a running job, or NULL */
    const char *spec;
    const char *where; /* NULL: it waits */
};

/* A selection can be allocated in the ledger. */
static void check_choice(const char *conf, const struct choice_case *at)
{
    struct cluster *c = test_cluster(conf);
    test_up(c);
    if (at->holds)
        test_run(c, 1, at->holds, 100);
    struct job *j = test_job(c, 2, at->spec);
    _cleanup_free_ char *where = choice(c, j);
    if (!str_eq(where, at->where))
        fail_msg("'%s' beside '%s': expected %s, got %s", at->spec, at->holds ? at->holds : "",
                 at->where ? at->where : "nothing", where ? where : "nothing");
    if (where)
        test_run_job(c, j, where, 100);
    test_sound(c);
    test_cluster_free(c);
}

static void check_choices(const char *conf, const struct choice_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        check_choice(conf, &cases[i]);
}

static void impossible_requests_are_refused(void **state)
{
    static const struct {
        const char *spec;
        int code;
        const char *says;
    } cases[] = {
        {"C=nope", ERR_FEATURE, "nope"},
        {"C=a&nope", ERR_FEATURE, "nope"},
        {"C=nope|nope", ERR_FEATURE, "nope"},
        {"C=aa", ERR_FEATURE, "aa"},
        {"C=a&c", ERR_NODE_CONFIG, ""},
        {"C=elsewhere", ERR_NODE_CONFIG, ""},
        {"C=future", ERR_NODE_CONFIG, ""},
        {"N=9", ERR_NODE_COUNT, "9 nodes asked, 8 in partition p"},
        {"N=4294967295", ERR_NODE_COUNT, "4294967295 nodes asked"},
        {"N=8", ERR_NODE_CONFIG, ""},
        {"w=out", ERR_NODE_CONFIG, "not in partition p"},
        {"w=n1,out", ERR_NODE_CONFIG, "not in partition p"},
        {"w=n[1-3] x=n[2-4]", ERR_NO_NODE, ": n[2-3] required and excluded, too"},
        {"w=n1 C=c", ERR_NODE_CONFIG, ""},
        {"N=7 x=n1", ERR_NODE_CONFIG, ""},
        {"N=1 n=9", ERR_NODE_CONFIG, ""},
        {"N=1-2 n=13", ERR_NODE_CONFIG, ""},
        {"N=1 w=n1 n=5", ERR_NODE_CONFIG, ""},
        {"n=97", ERR_TOO_MANY_CPUS, "97 CPUs asked, 96 in partition p"},
        {"n=49 c=2", ERR_TOO_MANY_CPUS, "98 CPUs asked"},
        {"c=97", ERR_TOO_MANY_CPUS, "97 CPUs asked"},
        {"n=4294967295 c=4294967295", ERR_TOO_MANY_CPUS, "18446744065119617025 CPUs asked"},
        {"per-node=2147483648 c=2", ERR_TOO_MANY_CPUS, "4294967296 CPUs asked"},
        {"n=33", ERR_NODE_CONFIG, ""},
        {"c=9", ERR_NODE_CONFIG, ""},
        {"n=2 c=8", ERR_NODE_CONFIG, ""},
        {"mincpus=9", ERR_NODE_CONFIG, ""},
        {"mincpus=65", ERR_NODE_CONFIG, "CPU count per node can not be satisfied: 65 asked"},
        {"mincpus=4294967295", ERR_NODE_CONFIG, "4294967295 asked, at most 64 on a node"},
        {"N=2 mincpus=5", ERR_NODE_CONFIG, ""},
        {"tmp=501", ERR_NODE_CONFIG, "501M asked, at most 500M on a node of partition p"},
        {"mem=64001", ERR_NODE_CONFIG, "64001M asked, at most 64000M on a node"},
        {"mem-per-cpu=32001 c=2", ERR_NODE_CONFIG, "Memory specification"},
        {"mem-per-cpu=17592186044416 c=2", ERR_NODE_CONFIG, "Memory specification"},
        {"mem-per-cpu=17592186044416 c=2 exclusive", ERR_NODE_CONFIG, "Memory"},
        {"mem-per-cpu=17592186044416", ERR_NODE_CONFIG, "17592186044416M per CPU asked"},
        {"mem=17592186044416", ERR_NODE_CONFIG, "17592186044416M asked"},
        {"mem=8001", ERR_NODE_CONFIG, ""},
        {"N=2 mem=1001", ERR_NODE_CONFIG, ""},
        {"per-node=9", ERR_NODE_CONFIG, ""},
        {"N=2 per-node=2147483648", ERR_TOO_MANY_CPUS, "4294967295 CPUs asked"},
        {"per-node=65536 c=65536", ERR_TOO_MANY_CPUS, "4294967296 CPUs asked"},
        {"N=7 contiguous", ERR_NODE_CONFIG, ""},
        {"N=2 contiguous C=c|future", ERR_NODE_CONFIG, ""},
        {"contiguous w=n1,big", ERR_NODE_CONFIG, ""},
        {"N=2-6 sizes=2-6:4 n=2 mem=8000", ERR_NODE_CONFIG, ""},
        {"N=1-9 sizes=1,9 n=33", ERR_NODE_CONFIG, ""},
        {"N=1-9 sizes=1,9 n=9", ERR_NODE_CONFIG,
         ""}, /* too few tasks for the first, too few nodes for the second */
        {"N=1 n=2 mem-per-cpu=4001", ERR_NODE_CONFIG, ""},
        {"n=2 mem-per-cpu=4001 exclusive", ERR_NODE_CONFIG, "4001M for each CPU of a node asked"},
        {"mem-per-cpu=1001 exclusive", ERR_NODE_CONFIG,
         "at most 1000M for each CPU of a node on a node of partition p"},
        {"N=2 mem-per-cpu=251 exclusive", ERR_NODE_CONFIG, ""},
    };
    struct cluster *c = test_cluster(mixed);

    (void)state;
    test_up(c);
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct err err = {0};
        struct job *j = test_job(c, 1, cases[i].spec);
        int rc = select_possible(c, j, &err);
        if (rc != -cases[i].code || err.code != rc || !strstr(err.text, cases[i].says) ||
            !str_starts(err.text, err_text(rc)))
            fail_msg("'%s': expected %s, got %d: %s", cases[i].spec, cases[i].says, rc, err.text);
        _cleanup_free_ char *where = choice(c, j);
        if (where)
            fail_msg("'%s' matches %s", cases[i].spec, where);
        assert_int_equal(select_possible(c, j, NULL), rc);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* A request that could run later is not rejected because it cannot run now. */
static void possible_requests_are_accepted(void **state)
{
    static const char *const specs[] = {
        "",
        "N=7",
        "n=32",
        "w=n1,m2",
        "N=6 contiguous",
        "N=6-8 sizes=6,8",
        "N=1-9 sizes=1,5,9 n=9",
        "mem=8000",
        "mem-per-cpu=1000",
        "N=2 mincpus=4",
        "exclusive",
        "c=8",
        "n=512 N=1 overcommit",
        "tmp=500 N=4",
        "C=a&x|c",
        "mem=0 N=7",
        "per-node=4 N=6",
    };
    struct cluster *c = test_cluster(mixed);
    struct err err = {0};

    (void)state;
    test_run(c, 1, "n1:4 n2:4 n3:4 n4:4/900 m1:2 m2:2 big:8", 100);
    for (size_t i = 0; i < COUNT(specs); i++) { /* no node is up */
        struct job *j = test_job(c, 2, specs[i]);
        if (select_possible(c, j, &err) != 0)
            fail_msg("'%s': %s", specs[i], err.text);
        assert_null(choice(c, j));
        cluster_remove_job(c, j);
    }
    assert_int_equal(err.code, 0);
    test_cluster_free(c);
}

static void tasks_and_nodes_are_chosen_by_count(void **state)
{
    static const struct choice_case cases[] = {
        {NULL, "", "n1:1/0"},
        {NULL, "n=4", "n1:4/0"},
        {NULL, "n=5", "n1:4/0 n2:1/0"},
        {NULL, "N=2", "n1:1/0 n2:1/0"},
        {NULL, "N=3 n=7", "n1:4/0 n2:2/0 n3:1/0"},
        {NULL, "N=2-3 n=8", "n1:4/0 n2:3/0 n3:1/0"},
        {NULL, "N=2-4", "n1:1/0 n2:1/0 n3:1/0 n4:1/0"},
        {NULL, "N=2-4 n=3", "n1:1/0 n2:1/0 n3:1/0"},
        {"n2:4 n3:4 n4:4 m2:2 big:8", "N=2-4", "n1:1/0 m1:1/0"},
        {"n1:3 n2:3", "N=1 n=4", "n3:4/0"},
        {"n1:3 n2:3 n3:3 n4:3", "N=1 n=4", "m1:2/0"},
        {"n1:3 n2:3 n3:3 n4:1", "N=2 n=4", "n3:1/0 n4:3/0"},
        {"n1:3 n2:3 n3:3 n4:1", "N=2 n=6", "n4:3/0 m1:2/0"},
        {"n1:3 n2:3 n3:3 n4:1", "N=2 n=12", "m1:2/0 big:8/0"},
        {"n1:3 n2:3 n3:3 n4:1", "N=2 n=13", NULL},
        {"n1:3 n2:3 n3:3 n4:1", "N=2 w=n1 n=9", "n1:1/0 big:8/0"},
        {NULL, "N=2-3 n=9", "n1:4/0 n2:4/0 n3:1/0"},
        {NULL, "N=1-2 n=9 x=m[1-2],big", NULL},
        {NULL, "N=4 n=2", "n1:1/0 n2:1/0 n3:1/0 n4:1/0"},
        {NULL, "c=3 n=2", "n1:3/0 n2:3/0"},
        {NULL, "c=2 n=2", "n1:4/0"},
        {NULL, "N=2 n=3 c=2", "n1:4/0 n2:2/0"},
        {NULL, "mincpus=3", "n1:3/0"},
        {NULL, "N=2 per-node=3", "n1:3/0 n2:3/0"},
        {NULL, "n=6 per-node=2", "n1:2/0 n2:2/0 n3:2/0"},
        {NULL, "n=5 per-node=2", "n1:2/0 n2:2/0 n3:1/0"},
        {"n1:3 n2:3 n3:3", "n=3 per-node=2", "n1:1/0 n2:1/0 n3:1/0"},
        {"n1:3 n2:3 n3:3", "per-node=2", "n4:2/0"},
        {NULL, "c=8", "big:8/0"},
        {NULL, "N=2 n=4 spread", "n1:2/0 n2:2/0"},
        {NULL, "n=9 N=1 overcommit", "n1:1/0"},
        {NULL, "n=9 N=2 mincpus=2 overcommit", "n1:2/0 n2:2/0"},
        {"n1:4 n2:3 n3:1", "n=4", "n4:4/0"},
        {"n1:1 n2:1 n3:1 n4:1 m1:1", "c=4", "m2:2/0"},
        {"n1:4 n2:4 n3:4 n4:4 m1:2 m2:2 big:8", "", NULL},
        {"n1:4 n2:4 n3:4 n4:4 m1:2 m2:2 big:8", "overcommit", NULL},
    };

    (void)state;
    check_choices(mixed, cases, COUNT(cases));
}

/* GANG-54: tasks of jobs that share CPUs are dealt in turn. */
static void shared_cpus(void **state)
{
    static const char conf[] = CONS "NodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL "
                                    "OverSubscribe=YES:2\n";
    static const struct choice_case cases[] = {
        {NULL, "N=2 n=4", "n1:3/0 n2:1/0"},
        {NULL, "N=2 n=4 share", "n1:2/0 n2:2/0"},
    };

    (void)state;
    check_choices(conf, cases, COUNT(cases));
}

/* Cores with two threads are allocated whole, and their CPUs count. */
static void threads(void **state)
{
    static const struct choice_case cases[] = {
        {NULL, "w=m1", "m1:1/0"},
        {NULL, "w=m1 n=2", "m1:1/0"},
        {NULL, "w=m1 n=3", "m1:2/0"},
        {NULL, "w=m1 mem-per-cpu=100", "m1:1/200"},
        {NULL, "w=m1 n=3 mem-per-cpu=100", "m1:2/400"},
        {NULL, "w=m1 mincpus=3 mem-per-cpu=10", "m1:2/40"},
        {NULL, "w=m[1-2] n=6", "m1:2/0 m2:1/0"},
        {"m1:1", "w=m1 n=3", "n4:2/0 m1:1/0"},
        {"m1:1", "N=1 w=m1 n=3", NULL},
        {"m1:1/850", "w=m1 N=1 mem-per-cpu=75", "m1:1/150"},
        {"m1:1/851", "w=m1 N=1 mem-per-cpu=75", NULL},
        {NULL, "w=m1 n=2 threads=1 mem-per-cpu=100", "m1:2/200"}, /* for the CPUs in use */
        {NULL, "w=m1 n=2 threads=2 mem-per-cpu=100", "m1:1/200"},
        {NULL, "w=m1 threads=1 mem-per-cpu=1000", "m1:1/1000"},
        {NULL, "w=m1 threads=1 mem-per-cpu=400 exclusive", "m1:2/800"},
        {NULL, "w=m1 mem-per-cpu=400 exclusive", NULL},
        {"m1:1/850", "w=m1 N=1 threads=1 mem-per-cpu=150", "m1:1/150"},
        {"m1:1/850", "w=m1 N=1 threads=1 mem-per-cpu=151", NULL},
    };

    (void)state;
    check_choices(mixed, cases, COUNT(cases));
}

static void memory(void **state)
{
    static const struct choice_case cases[] = {
        {NULL, "mem=1000", "n1:1/1000"},
        {NULL, "mem=1001", "big:1/1001"},
        {NULL, "mem=0", "n1:1/1000"},
        {NULL, "mem=0 N=5", "n1:1/1000 n2:1/1000 n3:1/1000 n4:1/1000 m1:1/1000"},
        {NULL, "mem-per-cpu=250 n=4", "n1:4/1000"},
        {NULL, "mem-per-cpu=251 n=4", "n1:3/753 n2:1/251"},
        {NULL, "mem-per-cpu=251 c=4", "big:4/1004"},
        {"n1:1/1", "mem=1000", "n2:1/1000"},
        {"n1:1/1", "mem=0", "n2:1/1000"},
        {"n1:1/500", "mem=500", "n1:1/500"},
        {"n1:1/500", "mem-per-cpu=300 n=2", "n2:2/600"},
        {"n1:1/501 n2:1/501 n3:1/501 n4:1/501 m1:1/501 m2:1/501 big:1/7501", "mem=500", NULL},
        {"n1:1/501 n2:1/501 n3:1/501 n4:1/501 m1:1/501 m2:1/501 big:1/7501", "", "n1:1/0"},
        {"n1:1/800 n2:1/700", "c=2 mincpus=3 mem-per-cpu=100", "n2:3/300"},
        {"n1:1/801", "overcommit n=9 N=1 mem-per-cpu=200", "n2:1/200"},
        {"n1:1/801 n2:1", "overcommit mincpus=2 mem-per-cpu=400", "n2:2/800"},
    };

    (void)state;
    check_choices(mixed, cases, COUNT(cases));
}

/* --nodes=1,3: as many of them as there are nodes for; only listed numbers. */
static void listed_node_counts(void **state)
{
    static const struct choice_case cases[] = {
        {NULL, "N=1-3 sizes=1,3 mem=600", "n1:1/600 n2:1/600 n3:1/600"},
        {"n1:4 n2:4 m1:2 m2:2 big:8", "N=1-3 sizes=1,3", "n3:1/0"},
        {"n1:4 m1:2 m2:2 big:8", "N=1-3 sizes=1,3 n=3", "n2:1/0 n3:1/0 n4:1/0"},
        {"n1:4 n2:4 m1:2 m2:2 big:8", "N=1-5 sizes=1,5 n=5", NULL},
        {"n1:4 n2:4 m1:2 m2:2 big:8", "N=1-5 sizes=1-5:4 n=4", "n3:4/0"},
        {NULL, "N=1-5 sizes=1-5:4 n=3", "n1:3/0"},
        {NULL, "N=1-5 sizes=1-5:2 n=9 w=n1", "n1:4/0 n2:2/0 n3:1/0 n4:1/0 m1:1/0"},
        {NULL, "N=1-5 sizes=1,3,5 w=n[1-2]", "n1:1/0 n2:1/0 n3:1/0 n4:1/0 m1:1/0"},
        {"n3:4 m1:2 m2:2", "N=1-4 sizes=1,2,4 contiguous", "n1:1/0 n2:1/0"},
        {"n3:4 m1:2 m2:2", "N=1-3 sizes=1,3 contiguous", "n4:1/0"},
    };

    (void)state;
    check_choices(mixed, cases, COUNT(cases));
}

static void names_and_features(void **state)
{
    static const struct choice_case cases[] = {
        {NULL, "w=n3", "n3:1/0"},
        {NULL, "w=n3,big", "n3:1/0 big:1/0"},
        {NULL, "w=n4 N=2", "n3:1/0 n4:1/0"},
        {NULL, "w=big n=9", "n1:4/0 big:5/0"},
        {NULL, "x=n[1-3]", "n4:1/0"},
        {NULL, "x=n[1-3],big N=2", "n4:1/0 m1:1/0"},
        {NULL, "C=y", "m1:1/0"},
        {NULL, "C=c", "big:1/0"},
        {NULL, "C=a&y", "m1:1/0"},
        {NULL, "C=a,y", "m1:1/0"},
        {NULL, "C=x|c N=5", "n1:1/0 n2:1/0 n3:1/0 n4:1/0 big:1/0"},
        {NULL, "C=c|a&y", "m1:1/0"},
        {NULL, "C=a&y|c x=m[1-2]", "big:1/0"},
        {NULL, "tmp=1", "n1:1/0"},
        {NULL, "tmp=500 N=4", "n1:1/0 n2:1/0 n3:1/0 n4:1/0"},
        {NULL, "tmp=1 N=5", NULL},
        {"n3:4", "w=n3", NULL},
        {"n3:4", "w=n[2-3]", NULL},
        {"m1:2 m2:2", "C=y", NULL},
    };

    (void)state;
    check_choices(mixed, cases, COUNT(cases));
}

/* The lightest nodes first, wherever they are. */
static void nodes_of_low_weight_come_first(void **state)
{
    static const char conf[] = CONS "NodeName=a[1-2] CPUs=2 Weight=30\nNodeName=b[1-2] CPUs=2\n"
                                    "NodeName=c[1-2] CPUs=2 Weight=4294967280\n"
                                    "NodeName=d[1-2] CPUs=2 Weight=0\nPartitionName=p Nodes=ALL\n";
    static const struct choice_case cases[] = {
        {NULL, "", "d1:1/0"},
        {NULL, "N=3", "b1:1/0 d1:1/0 d2:1/0"},
        {NULL, "n=9", "a2:2/0 b1:2/0 b2:2/0 d1:2/0 d2:1/0"},
        {NULL, "N=8", "a1:1/0 a2:1/0 b1:1/0 b2:1/0 c1:1/0 c2:1/0 d1:1/0 d2:1/0"},
        {"b1:2 b2:2 d1:2 d2:2 a1:2 a2:2", "N=2", "c1:1/0 c2:1/0"},
        {"d1:2 d2:2 b2:2", "N=2", "a2:1/0 b1:1/0"},
        {NULL, "w=c2 N=2", "c2:1/0 d1:1/0"},
    };

    (void)state;
    check_choices(conf, cases, COUNT(cases));
}

/* Runs of neighbouring nodes: few, and as small as possible. */
static void contiguous_runs_are_chosen(void **state)
{
    static const char conf[] = CONS "NodeName=l[01-12] CPUs=1\nPartitionName=p Nodes=ALL\n";
    static const char *const scattered = "l02:1 l04:1 l06:1 l08:1 l10:1 l12:1";
    static const char *const holes_2_3_1 = "l03:1 l07:1 l09:1 l10:1 l11:1 l12:1";
    static const char *const holes_2_3_5 = "l03:1 l07:1";
    static const char *const holes_7_4 = "l08:1";
    const struct choice_case cases[] = {
        {holes_2_3_1, "N=3", "l04:1/0 l05:1/0 l06:1/0"},
        {holes_2_3_1, "N=2", "l01:1/0 l02:1/0"},
        {holes_2_3_1, "N=1", "l08:1/0"},
        {holes_2_3_1, "N=4", "l04:1/0 l05:1/0 l06:1/0 l08:1/0"},
        {holes_2_3_1, "N=5", "l01:1/0 l02:1/0 l04:1/0 l05:1/0 l06:1/0"},
        {holes_2_3_5, "N=3", "l04:1/0 l05:1/0 l06:1/0"},
        {holes_2_3_5, "N=4", "l08:1/0 l09:1/0 l10:1/0 l11:1/0"},
        {holes_7_4, "N=3", "l09:1/0 l10:1/0 l11:1/0"},
        {holes_7_4, "N=5", "l01:1/0 l02:1/0 l03:1/0 l04:1/0 l05:1/0"},
        {holes_7_4, "N=3 contiguous", "l09:1/0 l10:1/0 l11:1/0"},
        {holes_7_4, "N=5 contiguous", "l01:1/0 l02:1/0 l03:1/0 l04:1/0 l05:1/0"},
        {holes_7_4, "contiguous w=l02,l05", "l02:1/0 l03:1/0 l04:1/0 l05:1/0"},
        {holes_7_4, "contiguous w=l02,l05 N=2-3", NULL},
        {holes_7_4, "contiguous w=l12", "l12:1/0"},
        {holes_7_4, "contiguous w=l07,l09", NULL},
        {holes_7_4, "N=3 contiguous w=l12", "l10:1/0 l11:1/0 l12:1/0"},
        {scattered, "N=2", "l01:1/0 l03:1/0"},
        {scattered, "N=2 contiguous", NULL},
        {holes_2_3_1, "N=4 contiguous", NULL},
        {holes_2_3_1, "N=3 contiguous", "l04:1/0 l05:1/0 l06:1/0"},
        {holes_2_3_1, "n=3 contiguous", "l04:1/0 l05:1/0 l06:1/0"},
        {holes_2_3_1, "contiguous w=l02,l04", NULL},
        {holes_2_3_1, "contiguous w=l05", "l05:1/0"},
        {holes_2_3_1, "N=2 contiguous w=l05", "l04:1/0 l05:1/0"},
        {holes_2_3_1, "N=2 contiguous w=l04", "l04:1/0 l05:1/0"},
        {NULL, "N=12 contiguous",
         "l01:1/0 l02:1/0 l03:1/0 l04:1/0 l05:1/0 l06:1/0 "
         "l07:1/0 l08:1/0 l09:1/0 l10:1/0 l11:1/0 l12:1/0"},
        {NULL, "N=2 contiguous x=l02,l04", "l05:1/0 l06:1/0"},
    };

    (void)state;
    check_choices(conf, cases, COUNT(cases));
}

static void exclusive_job_needs_idle_nodes(void **state)
{
    static const struct choice_case cases[] = {
        {NULL, "exclusive", "n1:4/0"},
        {NULL, "exclusive n=5", "n1:4/0 n2:4/0"},
        {NULL, "exclusive mem=100", "n1:4/100"},
        {NULL, "exclusive mem-per-cpu=100", "n1:4/400"},
        {NULL, "exclusive mem-per-cpu=250", "n1:4/1000"},
        {NULL, "exclusive mem-per-cpu=251", "big:8/2008"}, /* for all CPUs of the node */
        {NULL, "exclusive w=n1 mem-per-cpu=251", NULL},
        {NULL, "exclusive w=m1", "m1:2/0"},
        {NULL, "exclusive n=2 mem-per-cpu=600", "big:8/4800"},
        {NULL, "exclusive N=2 mem-per-cpu=600", NULL},
        {NULL, "exclusive mem=0", "n1:4/1000"},
        {NULL, "exclusive overcommit n=9 N=1", "n1:4/0"},
        {"n1:1", "exclusive", "n2:4/0"},
        {"n1:1 n2:1 n3:1 n4:1 m1:1 m2:1 big:1", "exclusive", NULL},
        {"n1:1", "exclusive w=n1", NULL},
    };
    struct cluster *c = test_cluster(mixed);

    (void)state;
    check_choices(mixed, cases, COUNT(cases));
    test_up(c);
    struct job *alone = test_job(c, 1, "exclusive"), *other = test_job(c, 2, "w=n1");
    test_run_job(c, alone, "n1:1", 100); /* it has the whole node, whatever it was allocated */
    assert_null(choice(c, other));
    alloc_release(c, alone, alloc_find(alone, 0));
    _cleanup_free_ char *where = choice(c, other);
    assert_string_equal(where, "n1:1/0");
    test_cluster_free(c);
}

/* Defaults of the partition apply if the job does not specify a number. */
static void of_the_partition(void **state)
{
    static const char nodes[] =
        CONS "NodeName=n[1-4] CPUs=4 RealMemory=1000\nPartitionName=p Nodes=ALL MinNodes=2 "
             "MaxNodes=3\n";
    static const struct choice_case counts_of_nodes[] = {
        {NULL, "", "n1:1/0 n2:1/0"},
        {NULL, "n=12", "n1:4/0 n2:4/0 n3:4/0"},
        {NULL, "n=13", NULL},
        {NULL, "N=2-4", "n1:1/0 n2:1/0 n3:1/0"},
        {"n1:3 n2:3 n3:3", "n=6", "n2:1/0 n3:1/0 n4:4/0"},
        {NULL, "w=n[1-4]", NULL},
        {NULL, "w=n[1-4] contiguous", NULL},
    };
    static const char three[] =
        CONS "NodeName=n[1-8] CPUs=1\nPartitionName=p Nodes=ALL MinNodes=3\n";
    static const struct choice_case run_of_three[] = {{"n2:1 n6:1", "", "n3:1/0 n4:1/0 n5:1/0"}};
    static const char cpus[] =
        CONS "NodeName=n[1-2] CPUs=4 RealMemory=1000\nNodeName=t Sockets=1 CoresPerSocket=4 "
             "ThreadsPerCore=2\nPartitionName=p Nodes=ALL MaxCPUsPerNode=3\n";
    static const struct choice_case cpus_of_nodes[] = {
        {NULL, "n=4", "n1:3/0 n2:1/0"}, {NULL, "c=4", NULL},
        {NULL, "exclusive", NULL},      {"n1:2", "n=2 N=1 x=t", "n2:2/0"},
        {"n1:2", "n=2", "t:1/0"},       {"n1:3 n2:3", "", "t:1/0"},
        {"n1:3 n2:3", "n=3", NULL},     {NULL, "w=t n=2 N=1", "t:1/0"},
    };
    static const char of_socket[] =
        CONS "NodeName=n[1-2] Sockets=2 CoresPerSocket=4 RealMemory=1000\nNodeName=t Sockets=2 "
             "CoresPerSocket=4 ThreadsPerCore=2\nPartitionName=p Nodes=ALL MaxCPUsPerSocket=3\n";
    static const struct choice_case cpus_of_sockets[] = {
        {NULL, "n=6 N=1", "n1:6/0"},
        {NULL, "n=7 N=1-1", NULL},
        {NULL, "n=7", "n1:6/0 n2:1/0"},
        {NULL, "exclusive", NULL},
        {"n1:5", "n=2", "t:1/0"},
        {"n1:6", "n=6", "n2:6/0"},
        {"n1:6 n2:6", "n=2", "t:1/0"}, /* a core is two CPUs: one core of each socket */
        {"n1:6 n2:6", "n=4", "t:2/0"},
        {"n1:6 n2:6", "n=5", NULL},
        {NULL, "n=4 tasks-per-socket=2 w=n1 N=1", "n1:4/0"},
        {NULL, "n=8 tasks-per-socket=4 w=n1 N=1", NULL},
        {"n1:3", "n=3 tasks-per-socket=3 w=n1 N=1", "n1:3/0"},
    };

    (void)state;
    check_choices(of_socket, cpus_of_sockets, COUNT(cpus_of_sockets));
    check_choices(nodes, counts_of_nodes, COUNT(counts_of_nodes));
    check_choices(three, run_of_three, COUNT(run_of_three));
    check_choices(cpus, cpus_of_nodes, COUNT(cpus_of_nodes));
}

/* A node configured smaller than its running jobs has nothing left, and no negative amounts. */
static void shrunk_nodes_offer_fewer_cpus(void **state)
{
    struct cluster *c = test_cluster(mixed);
    struct job *j = test_job(c, 2, "mem=1"), *k = test_job(c, 3, "");

    (void)state;
    test_up(c);
    test_run(c, 1, "n1:1/900", 100);
    c->nodes.data[0]->amounts.mem_mib = 800;
    test_changed(c);
    _cleanup_free_ char *where = choice(c, j), *other = choice(c, k);
    assert_string_equal(where, "n2:1/1");
    assert_string_equal(other, "n2:1/0");
    test_cluster_free(c);
}

/* Only usable nodes, for each reason that makes a node unusable. */
static void only_nodes_in_service_are_chosen(void **state)
{
    struct cluster *c = test_cluster(mixed);
    struct job *j = test_job(c, 1, "");

    (void)state;
    assert_null(choice(c, j));
    test_up(c);
    bool *const flags[] = {&c->nodes.data[0]->down, &c->nodes.data[1]->drain,
                           &c->nodes.data[2]->fail, &c->nodes.data[3]->future};
    vec_push(&c->nodes.data[4]->orphans, ((struct node_orphan){.job_id = 9}));
    c->nodes.data[5]->connected = false;
    test_changed(c);
    assert_int_equal(bitset_count(c->pool.usable), 6); /* not f1: a FUTURE node */
    for (size_t i = 0; i < COUNT(flags); i++)
        *flags[i] = true;
    c->nodes.data[7]->registered = false;
    test_changed(c);
    assert_int_equal(bitset_count(c->pool.usable), 1); /* the node of the other partition */
    assert_true(bitset_test(c->pool.usable, 8));
    assert_null(choice(c, j));
    *flags[1] = false;
    test_changed(c);
    _cleanup_free_ char *where = choice(c, j);
    assert_string_equal(where, "n2:1/0");
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(listed_node_counts),
        cmocka_unit_test(impossible_requests_are_refused),
        cmocka_unit_test(possible_requests_are_accepted),
        cmocka_unit_test(tasks_and_nodes_are_chosen_by_count),
        cmocka_unit_test(shared_cpus),
        cmocka_unit_test(threads),
        cmocka_unit_test(memory),
        cmocka_unit_test(names_and_features),
        cmocka_unit_test(nodes_of_low_weight_come_first),
        cmocka_unit_test(contiguous_runs_are_chosen),
        cmocka_unit_test(exclusive_job_needs_idle_nodes),
        cmocka_unit_test(only_nodes_in_service_are_chosen),
        cmocka_unit_test(of_the_partition),
        cmocka_unit_test(shrunk_nodes_offer_fewer_cpus),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
