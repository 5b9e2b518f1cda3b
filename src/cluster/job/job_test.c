/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a spec asks for, as the planner sees it. */
#include "cluster/cluster_test_util.h"

static const char conf[] =
    CONS "NodeName=n[1-8] CPUs=4 RealMemory=1000\nPartitionName=p Nodes=ALL\n"
         "PartitionName=def Nodes=ALL DefMemPerCPU=30\n"
         "PartitionName=node Nodes=ALL DefMemPerNode=300\n"
         "PartitionName=alone Nodes=ALL OverSubscribe=EXCLUSIVE\n"
         "PartitionName=forced Nodes=ALL OverSubscribe=FORCE:2\n"
         "PartitionName=most Nodes=ALL MaxMemPerCPU=100\n"
         "PartitionName=cores Nodes=ALL DefMemPerCPU=30 SelectTypeParameters=CR_Core\n";

static int read_words(const struct cluster *c, struct job *j, const char *words, struct err *err)
{
    _cleanup_arena_ struct arena arena;
    arena_init(&arena, 0);
    const Pb__JobSpec spec = test_spec(&arena, words);
    return job_read_spec(c, j, &spec, err);
}

static void requests_that_never_fit_are_refused(void **state)
{
    static const struct {
        const char *words;
        int code;
        const char *says;
    } cases[] = {
        {"w=n9", ERR_NO_NODE, "Invalid node name specified: n9"},
        {"w=n[1-9]", ERR_NO_NODE, "Invalid node name specified: n9"},
        {"x=nobody", ERR_NO_NODE, "Invalid node name specified: nobody"},
        {"w=n1 x=nobody", ERR_NO_NODE, "Invalid node name specified: nobody"},
        {"w=n[1-", ERR_PARSE, "bracket"},
        {"x=n]", ERR_PARSE, "host list"},
        {"w=n[1-3] N=2", ERR_NODE_COUNT, "the nodes it requires need 3 nodes; at most 2 asked"},
        {"w=n[1-3] N=1-2", ERR_NODE_COUNT, "Node count specification invalid"},
        {"N=3-2", ERR_NODE_COUNT, "invalid: at least 3 nodes asked, and at most 2"},
        {"mem=17592186044417", ERR_NODE_CONFIG, "17592186044417M asked, no node has more than"},
        {"mem-per-cpu=18446744073709551615", ERR_NODE_CONFIG, "18446744073709551615M per CPU"},
        {"N=1 n=4 per-node=2", ERR_NODE_COUNT,
         "4 tasks, 2 on a node, need 2 nodes; at most 1 asked"},
        {"N=1-2000000 sizes=1,2000000", ERR_NODE_COUNT, "ranges, up to 1048576, in a list"},
        {"N=1-9 sizes=1-1048576:2,1-1048576:3,2-1048576:5", ERR_NODE_COUNT, "at most 500 numbers"},
        {"N=1-9 sizes=1,x", ERR_NODE_COUNT, "Node count specification invalid"},
        {"N=1-9 sizes=1,3 n=40 per-node=4", ERR_NODE_COUNT, "1,3 has no node count from 1 on"},
        {"N=4-9 sizes=1,3", ERR_NODE_COUNT, "1,3 has no node count from 4 on"},
    };
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1, "N=2 n=3 w=n1 x=n2 C=a nice=5 begin=77 batch no-kill");

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct job before = *j;
        struct err err = {0};
        int rc = read_words(c, j, cases[i].words, &err);
        if (rc != -cases[i].code || err.code != rc || !strstr(err.text, cases[i].says))
            fail_msg("'%s': got %d: %s", cases[i].words, rc, err.text);
        assert_int_equal(read_words(c, j, cases[i].words, NULL), rc);
        assert_memory_equal(&before, j, sizeof before); /* what was read before holds */
    }
    assert_true(bitset_test(j->want.req, 0) && bitset_test(j->want.exc, 1));
    test_cluster_free(c);
}

struct count_case {
    const char *words;
    uint32_t min, max, tasks, cpus_per_task;
};

static void node_and_task_counts_follow_from_options(void **state)
{
    static const struct count_case cases[] = {
        {"", 1, UINT32_MAX, 1, 1},
        {"N=3", 3, 3, 3, 1},
        {"N=2-4", 2, 4, 2, 1},
        {"N=0-4", 1, 4, 1, 1},
        {"n=5", 1, UINT32_MAX, 5, 1},
        {"n=0", 1, UINT32_MAX, 1, 1},
        {"c=0", 1, UINT32_MAX, 1, 1},
        {"c=3 n=2", 1, UINT32_MAX, 2, 3},
        {"N=2 n=8", 2, 2, 8, 1},
        {"N=4 n=2", 4, 4, 2, 1},
        {"per-node=3", 1, UINT32_MAX, 3, 1},
        {"N=2 per-node=3", 2, 2, 6, 1},
        {"n=5 per-node=2", 3, UINT32_MAX, 5, 1},
        {"n=6 per-node=2", 3, UINT32_MAX, 6, 1},
        {"N=4 n=6 per-node=2", 4, 4, 6, 1},
        {"n=1 per-node=2", 1, UINT32_MAX, 1, 1},
        {"w=n[1-3]", 3, UINT32_MAX, 3, 1},
        {"w=n[1-3] N=5", 5, 5, 5, 1},
        {"w=n[1-3] N=3", 3, 3, 3, 1},
        {"w=n1,n1,n2", 2, UINT32_MAX, 2, 1},
        {"w=n[1-2] per-node=2", 2, UINT32_MAX, 4, 1},
        {"n=4294967295", 1, UINT32_MAX, UINT32_MAX, 1},
        {"n=4294967295 per-node=2", 2147483648, UINT32_MAX, UINT32_MAX, 1},
    };
    struct cluster *c = test_cluster(conf);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const struct count_case *at = &cases[i];
        struct job *j = test_job(c, 1, at->words);
        const struct request *r = &j->want;
        if (r->min_nodes != at->min || r->max_nodes != at->max || r->tasks != at->tasks ||
            r->cpus_per_task != at->cpus_per_task)
            fail_msg("'%s': %u to %u nodes, %u tasks of %u CPUs", at->words, r->min_nodes,
                     r->max_nodes, r->tasks, r->cpus_per_task);
        assert_int_equal(r->tasks_given, strstr(at->words, "n=") && !strstr(at->words, "n=0"));
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* A range of nodes is a wish for the larger number, as far as there are tasks for them. */
static void preferred_number_of_nodes_is_bounded_by_tasks(void **state)
{
    static const struct {
        const char *words;
        uint32_t good;
    } cases[] = {{"", 1},          {"N=3", 3},           {"N=2-4", 4}, {"N=2-4 n=3", 3},
                 {"N=2-4 n=1", 2}, {"N=2-4 n=9", 4},     {"n=9", 1},   {"w=n[1-2]", 2},
                 {"N=1-8 n=4", 4}, {"n=6 per-node=2", 3}};
    struct cluster *c = test_cluster(conf);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job *j = test_job(c, 1, cases[i].words);
        if (j->want.good_nodes != cases[i].good)
            fail_msg("'%s': %u", cases[i].words, j->want.good_nodes);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* What follows from GPUs of the job, of each node and of each task; and what contradicts itself, by
 * a part of the message. */
struct gpu_case {
    const char *words;
    uint32_t min, max, tasks;
    const char *refused;
};

#define ANY UINT32_MAX
static const struct gpu_case gpu_cases[] = {
    {"per-job=gpu:4 gres=gpu:2", 2, 2, 2, NULL},
    {"per-job=gpu:4 gres=gpu:2 N=2", 2, 2, 2, NULL},
    {"per-job=gpu:4 gres=gpu:2 N=1-4", 2, 2, 2, NULL},
    {"per-job=gpu:4 gres=gpu:2 n=1", 2, 2, 1, NULL},
    {"per-job=gpu:4 gres=gpu:2 n=4", 2, 2, 4, NULL},
    {"per-job=gpu:4 gres=gpu:2 per-node=3", 2, 2, 6, NULL},
    {"per-job=gpu:4 gres=gpu:2 sizes=1,2,4", 2, 2, 2, NULL},
    {"per-job=gpu:a:4 gres=gpu:a:2", 2, 2, 2, NULL},
    {"per-job=gpu:4 gres=gpu:a:2", 2, 2, 2, NULL},
    {"per-job=gpu:a:2,gpu:b:2 gres=gpu:a:1,gpu:b:1", 2, 2, 2, NULL},
    {"per-job=gpu:3 gres=gpu:2", 0, 0, 0, "the total is not a multiple"},
    {"per-job=gpu:1 gres=gpu:2", 0, 0, 0, "the total is not a multiple"},
    {"per-job=gpu:4 gres=gpu:2 N=1", 0, 0, 0, "this makes 2 nodes, the job has at most 1"},
    {"per-job=gpu:4 gres=gpu:2 N=3-4", 0, 0, 0, "this makes 2 nodes, the job has at least 3"},
    {"per-job=gpu:4 gres=gpu:2 sizes=1,3", 0, 0, 0, "the number of nodes is none of --nodes"},
    {"per-job=gpu:a:4 gres=gpu:2", 0, 0, 0, "--gpus is of the type a"},
    {"per-job=gpu:a:2,gpu:b:4 gres=gpu:a:1,gpu:b:1", 0, 0, 0, "this makes 4 nodes"},
    {"per-job=gpu:4 per-task=gpu:1", 1, ANY, 4, NULL},
    {"per-job=gpu:4 per-task=gpu:2", 1, ANY, 2, NULL},
    {"per-job=gpu:4 per-task=gpu:2 n=2", 1, ANY, 2, NULL},
    {"per-job=gpu:4 per-task=gpu:2 N=2", 2, 2, 2, NULL},
    {"per-job=gpu:4 per-task=gpu:3", 0, 0, 0, "the total is not a multiple"},
    {"per-job=gpu:2 per-task=gpu:4", 0, 0, 0, "the total is not a multiple"},
    {"per-job=gpu:4 per-task=gpu:2 n=3", 0, 0, 0, "this makes 2 tasks, the job has 3 (--ntasks)"},
    {"per-job=gpu:4 per-task=gpu:2 N=3", 0, 0, 0, "this makes 2 tasks, the job has 3 nodes"},
    {"per-task=gpu:1 n=3", 1, ANY, 3, NULL},
    {"per-task=gpu:1 N=2", 2, 2, 2, NULL},
    {"gres=gpu:2 per-task=gpu:1 n=4", 2, ANY, 4, NULL},
    {"gres=gpu:2 per-task=gpu:1 n=3", 2, ANY, 3, NULL},
    {"gres=gpu:2 per-task=gpu:1 N=3", 3, 3, 6, NULL},
    {"gres=gpu:2 per-task=gpu:1 per-node=2", 1, ANY, 2, NULL},
    {"gres=gpu:2 per-task=gpu:1 per-node=1", 0, 0, 0, "make 2 tasks of a node, --ntasks-per-node"},
    {"gres=gpu:2 per-task=gpu:1 per-node=4", 0, 0, 0, "make 2 tasks of a node, --ntasks-per-node"},
    {"gres=gpu:2 per-task=gpu:1 n=3 N=1", 0, 0, 0, "on so few --nodes"},
    {"per-job=gpu:8 gres=gpu:2 per-task=gpu:1", 4, 4, 8, NULL},
    {"per-job=gpu:8 gres=gpu:2 per-task=gpu:1 n=8", 4, 4, 8, NULL},
    {"per-job=gpu:8 gres=gpu:2 per-task=gpu:1 n=4", 0, 0, 0, "this makes 8 tasks, the job has 4"},
    {"per-job=gpu:5", 1, ANY, 1, NULL},
    {"per-job=gpu:2 N=2", 2, 2, 2, NULL},
    {"per-job=gpu:1 N=2", 0, 0, 0, "are not one of each of 2 nodes"},
    {"gres=gpu:2 ntasks-per-gpu=1", 1, ANY, 2, NULL},
    {"per-job=gpu:4 ntasks-per-gpu=2", 1, ANY, 8, NULL},
    {"per-job=gpu:4 gres=gpu:2 ntasks-per-gpu=1", 2, 2, 4, NULL},
    {"n=8 gres=gpu:2 ntasks-per-gpu=1", 4, ANY, 8, NULL},
    {"n=5 gres=gpu:2 ntasks-per-gpu=2", 2, ANY, 5, NULL},
    {"n=8 N=4 gres=gpu:2 ntasks-per-gpu=1", 4, 4, 8, NULL},
    {"n=8 N=2 gres=gpu:2 ntasks-per-gpu=1", 2, 2, 8, NULL}, /* more tasks than the GPUs hold */
    {"n=4 ntasks-per-gpu=2", 1, ANY, 4, NULL},
    {"n=5 ntasks-per-gpu=2", 0, 0, 0, "--ntasks=5 is not a multiple of --ntasks-per-gpu=2"},
    {"per-socket=gpu:1 sockets=2", 1, ANY, 1, NULL},
    {"per-socket=gpu:1 sockets=2 gres=gpu:2", 1, ANY, 1, NULL},
    {"per-job=gpu:4 per-socket=gpu:1 sockets=2", 2, 2, 2, NULL},
    {"per-socket=gpu:1 sockets=2 gres=gpu:4", 0, 0, 0, "are not the 4 of each node"},
    {"per-socket=gpu:1", 0, 0, 0, "need --sockets-per-node"},
};

static void compare_counts(struct cluster *c, const struct gpu_case *at)
{
    _cleanup_arena_ struct arena arena;
    struct parsed_request parsed;
    struct err err = {0};

    arena_init(&arena, 0);
    const Pb__JobSpec spec = test_spec(&arena, at->words);
    int rc = request_parse(c, &spec, &parsed, &err);
    if (at->refused) {
        if (rc != -ERR_GRES || !strstr(err.text, at->refused))
            fail_msg("'%s': %d %s", at->words, rc, err.text);
        return;
    }
    if (rc != 0)
        fail_msg("'%s': %s", at->words, err.text);
    const struct request *r = &parsed.request;
    if (r->min_nodes != at->min || r->max_nodes != at->max || r->tasks != at->tasks ||
        r->good_nodes < r->min_nodes || r->good_nodes > r->max_nodes)
        fail_msg("'%s': %u to %u nodes, %u wished, %u tasks", at->words, r->min_nodes, r->max_nodes,
                 r->good_nodes, r->tasks);
    request_parsed_done(&parsed);
}

static void nodes_and_tasks_follow_from_gpus(void **state)
{
    struct cluster *c = test_cluster(CONS "GresTypes=gpu\n"
                                          "NodeName=n[1-4] CPUs=8 Sockets=2 Gres=gpu:a:4,gpu:b:4\n"
                                          "PartitionName=p Nodes=ALL\n");

    (void)state;
    for (size_t i = 0; i < COUNT(gpu_cases); i++)
        compare_counts(c, &gpu_cases[i]);
    test_cluster_free(c);
}

static void memory_limits_follow_from_options_and_partition(void **state)
{
    static const struct {
        const char *part, *words;
        uint64_t node, cpu;
    } cases[] = {
        {"p", "", 0, 0},
        {"p", "mem=70", 70, 0},
        {"p", "mem=0", UINT64_MAX, 0},
        {"p", "mem-per-cpu=7", 0, 7},
        {"p", "mem-per-cpu=0", 0, 0},
        {"p", "mem=70 mem-per-cpu=7", 70, 0},
        {"def", "", 0, 30},
        {"def", "mem=70", 70, 0},
        {"def", "mem=0", UINT64_MAX, 0},
        {"def", "mem-per-cpu=0", 0, 0},
        {"node", "", 300, 0},
        {"node", "mem-per-cpu=7", 0, 7},
        {"cores", "", 0, 0},
        {"cores", "mem=70", 0, 0},
        {"cores", "mem-per-cpu=7", 0, 0},
        {"most", "mem=70", 70, 0},
        {"most", "mem=0", UINT64_MAX, 0},
        {"most", "mem-per-cpu=100", 0, 100},
        {"most", "mem-per-cpu=101", 0, 51},
        {"most", "mem-per-cpu=1000", 0, 100},
        {NULL, "", 0, 0},
    };
    struct cluster *c = test_cluster(conf);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job *j = cluster_add_job(c, 1);
        j->part = cases[i].part ? cluster_find_part(c, cases[i].part) : NULL;
        assert_int_equal(read_words(c, j, cases[i].words, NULL), 0);
        if (j->want.mem_node_mib != cases[i].node || j->want.mem_cpu_mib != cases[i].cpu)
            fail_msg("%s '%s': %llu a node, %llu a CPU", cases[i].part, cases[i].words,
                     (unsigned long long)j->want.mem_node_mib,
                     (unsigned long long)j->want.mem_cpu_mib);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* Defaults of the whole cluster are for partitions without their own. */
static void memory_of_the_cluster(void **state)
{
    static const char *const keys[] = {"DefMemPerCPU=20", "DefMemPerNode=200"};

    (void)state;
    for (size_t i = 0; i < COUNT(keys); i++) {
        _cleanup_free_ char *text = mem_printf("%s\n%s", keys[i], conf);
        struct cluster *c = test_cluster(text);
        struct job *j = test_job(c, 1, "");
        assert_int_equal(j->want.mem_cpu_mib, i == 0 ? 20 : 0);
        assert_int_equal(j->want.mem_node_mib, i == 0 ? 0 : 200);
        j->part = cluster_find_part(c, "def");
        assert_int_equal(read_words(c, j, "", NULL), 0);
        assert_int_equal(j->want.mem_cpu_mib, 30);
        assert_int_equal(j->want.mem_node_mib, 0);
        test_cluster_free(c);
    }
}

/* Memory beyond MaxMemPerCPU is paid for in CPUs. */
static void memory_paid_in_cpus(void **state)
{
    static const struct {
        const char *words;
        uint32_t cpus_per_task, min_cpus;
    } cases[] = {
        {"mem-per-cpu=100", 1, 0},
        {"mem-per-cpu=101", 2, 0},
        {"mem-per-cpu=250 c=2", 6, 0},
        {"mem=100", 1, 1},
        {"mem=101", 1, 2},
        {"mem=950 mincpus=3", 1, 10},
        {"mem=150 mincpus=3", 1, 3},
        {"mem-per-cpu=17592186044416", 1, 0},
        {"mem=17592186044416", 1, UINT32_MAX},
        {"mem-per-cpu=429496729500", UINT32_MAX, 0},
        {"mem-per-cpu=17592186044416 c=4294967295", UINT32_MAX, 0},
    };
    struct cluster *c = test_cluster(conf);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job *j = cluster_add_job(c, 1);
        j->part = cluster_find_part(c, "most");
        assert_int_equal(read_words(c, j, cases[i].words, NULL), 0);
        if (j->want.cpus_per_task != cases[i].cpus_per_task ||
            j->want.min_cpus != cases[i].min_cpus)
            fail_msg("'%s': %u a task, at least %u a node", cases[i].words, j->want.cpus_per_task,
                     j->want.min_cpus);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* The limit of the whole cluster is for partitions that have none of their own. */
static void memory_limit_of_the_cluster(void **state)
{
    static const char *const parts[] = {"p", "own", "node"};
    static const uint32_t cpus[] = {3, 2, 1};
    struct cluster *c = test_cluster("MaxMemPerCPU=50\n" CONS "NodeName=n1 CPUs=4\n"
                                     "PartitionName=p Nodes=ALL\n"
                                     "PartitionName=own Nodes=ALL MaxMemPerCPU=75\n"
                                     "PartitionName=node Nodes=ALL MaxMemPerNode=900\n");

    (void)state;
    for (size_t i = 0; i < COUNT(parts); i++) {
        struct job *j = cluster_add_job(c, 1);
        j->part = cluster_find_part(c, parts[i]);
        assert_int_equal(read_words(c, j, "mem-per-cpu=150", NULL), 0);
        assert_int_equal(j->want.cpus_per_task, cpus[i]);
        assert_int_equal(j->want.mem_cpu_mib, 150 / cpus[i]);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

/* If memory is not a consumable resource, no job requests any. */
static void memory_is_not_counted(void **state)
{
    struct cluster *c = test_cluster("SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\n"
                                     "NodeName=n1\nPartitionName=p Nodes=ALL DefMemPerCPU=9\n");
    static const char *const words[] = {"", "mem=70", "mem=0", "mem-per-cpu=70"};

    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        struct job *j = test_job(c, 1, words[i]);
        assert_int_equal(j->want.mem_cpu_mib | j->want.mem_node_mib, 0);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
}

static void whole_nodes_follow_from_partition_and_option(void **state)
{
    static const struct {
        const char *part, *words;
        bool exclusive, shared;
    } cases[] = {
        {"p", "", false, false},          {"p", "exclusive", true, false},
        {"alone", "", true, false},       {"alone", "exclusive", true, false},
        {"forced", "", false, true},      {"forced", "exclusive", true, true},
        {NULL, "exclusive", true, false},
    };
    struct cluster *c = test_cluster(conf);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job *j = cluster_add_job(c, 1);
        j->part = cases[i].part ? cluster_find_part(c, cases[i].part) : NULL;
        assert_int_equal(read_words(c, j, cases[i].words, NULL), 0);
        assert_int_equal(j->want.exclusive, cases[i].exclusive);
        assert_int_equal(j->want.shared, cases[i].shared);
        cluster_remove_job(c, j);
    }
    test_cluster_free(c);
    c = test_cluster("SelectType=select/linear\nNodeName=n1\n"
                     "PartitionName=p Nodes=ALL OverSubscribe=FORCE\n");
    assert_true(test_job(c, 1, "")->want.exclusive);
    test_cluster_free(c);
}

static void other_options_are_taken_over(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1,
                             "C=a&b mincpus=2 tmp=9 overcommit contiguous no-kill batch "
                             "nice=-7 begin=1234");

    (void)state;
    assert_string_equal(j->want.features, "a&b");
    assert_int_equal(j->want.min_cpus, 2);
    assert_int_equal(j->want.tmp_mib, 9);
    assert_true(j->want.overcommit && j->want.contiguous && j->no_kill && j->batch);
    assert_int_equal(j->nice, -7);
    assert_int_equal(j->begin_at, 1234);
    assert_int_equal(read_words(c, j, "C= w= x=", NULL), 0); /* no value is left */
    assert_null(j->want.features);
    assert_null(j->want.req);
    assert_null(j->want.exc);
    assert_false(j->want.overcommit || j->want.contiguous || j->no_kill || j->batch);
    assert_int_equal(j->nice, 0);
    assert_int_equal(j->begin_at, 0);
    test_cluster_free(c);
}

/* --signal as given; what cannot be read warns of nothing. */
static void warning_signal_is_parsed(void **state)
{
    static const struct {
        const char *words;
        uint32_t signal, sec;
        bool batch;
    } cases[] = {
        {"", 0, 0, false},
        {"signal=", 0, 0, false},
        {"signal=NONSENSE", 0, 0, false},
        {"signal=@30", 0, 0, false},
        {"signal=HUPABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHI@5", 0, 0, false},
        {"signal=TERM", 15, 60, false},
        {"signal=SIGUSR1@120", 10, 120, false},
        {"signal=9@5", 9, 5, false},
        {"signal=B:USR2@7", 12, 7, true},
        {"signal=R:USR2", 12, 60, false},
        {"signal=RB:HUP@1", 1, 1, true},
    };
    struct cluster *c = test_cluster(conf);

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct job *j = test_job(c, 1, cases[i].words);
        bool wrong = j->warn_signal != cases[i].signal;
        if (cases[i].signal) /* otherwise the rest has no meaning */
            wrong |= j->warn_sec != cases[i].sec || j->warn_batch != cases[i].batch;
        if (wrong)
            fail_msg("'%s': signal %u, %u s before", cases[i].words, j->warn_signal, j->warn_sec);
        cluster_remove_job(c, j);
    }
    struct job *j = test_job(c, 1, "signal=B:USR2@7");
    assert_int_equal(read_words(c, j, "", NULL), 0);
    assert_int_equal(j->warn_signal, 0);
    assert_false(j->warn_batch);
    test_cluster_free(c);
}

static void requeue_option_precedes_the_configuration(void **state)
{
    static const struct {
        const char *words;
        bool by_default, without;
    } cases[] = {
        {"batch", true, false}, {"batch requeue=1", true, true}, {"batch requeue=0", false, false},
        {"", false, false},     {"requeue=1", false, false},
    };
    _cleanup_free_ char *never = mem_printf("JobRequeue=0\n%s", conf);
    struct cluster *c = test_cluster(conf), *d = test_cluster(never);

    (void)state;
    for (uint32_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(test_job(c, i + 1, cases[i].words)->may_requeue, cases[i].by_default);
        assert_int_equal(test_job(d, i + 1, cases[i].words)->may_requeue, cases[i].without);
    }
    test_cluster_free(c);
    test_cluster_free(d);
}

/* A controller may have a million of them: what only jobs need that have started is elsewhere. */
static void pending_job_needs_little_memory(void **state)
{
    struct cluster *c = test_cluster(conf);
    struct job *j = test_job(c, 1, "");
    struct attempt *attempt;

    assert_in_range(sizeof *j, 1, 800);
    assert_null(j->attempt);
    assert_int_equal(attempt_of(j)->start_mono_ms, 0);
    assert_null(j->attempt);
    attempt = attempt_make(j);
    assert_ptr_equal(attempt_make(j), attempt);
    assert_ptr_equal(attempt_of(j), attempt);
    order_insert(&c->ends, &attempt->ends, 5, 1);
    assert_ptr_equal(job_of_end(order_first(&c->ends)), j);
    attempt_drop(c, j);
    assert_null(order_first(&c->ends));
    assert_null(job_of_end(order_first(&c->ends)));
    assert_null(j->attempt);
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests_that_never_fit_are_refused),
        cmocka_unit_test(node_and_task_counts_follow_from_options),
        cmocka_unit_test(preferred_number_of_nodes_is_bounded_by_tasks),
        cmocka_unit_test(nodes_and_tasks_follow_from_gpus),
        cmocka_unit_test(memory_limits_follow_from_options_and_partition),
        cmocka_unit_test(memory_of_the_cluster),
        cmocka_unit_test(memory_paid_in_cpus),
        cmocka_unit_test(memory_limit_of_the_cluster),
        cmocka_unit_test(memory_is_not_counted),
        cmocka_unit_test(whole_nodes_follow_from_partition_and_option),
        cmocka_unit_test(other_options_are_taken_over),
        cmocka_unit_test(warning_signal_is_parsed),
        cmocka_unit_test(requeue_option_precedes_the_configuration),
        cmocka_unit_test(pending_job_needs_little_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
