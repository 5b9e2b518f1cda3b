/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/timefmt.h"
#include "show/node_rows.h"
#include "show/test_titles.h"

#define NODES 5

static Pb__PartRecord debug, all;
static Pb__NodeRecord nodes[NODES];
static char *names[] = {"n1", "n2", "n3", "n4", "m1"};

static int setup(void **state)
{
    pb__part_record__init(&debug);
    pb__part_record__init(&all);
    debug.name = "debug";
    debug.is_default = 1;
    debug.has_max_time_sec = 1;
    debug.max_time_sec = 3600;
    all.name = "long";
    for (size_t i = 0; i < NODES; i++) {
        pb__node_record__init(&nodes[i]);
        nodes[i].name = names[i];
        nodes[i].cpus = nodes[i].sockets = i == 4 ? 8 : 4;
        nodes[i].cores = nodes[i].threads = 1;
        nodes[i].state = PB__NODE_BASE__NODE_IDLE;
    }
    nodes[0].state = nodes[1].state = PB__NODE_BASE__NODE_MIXED;
    nodes[0].alloc_cpus = nodes[1].alloc_cpus = 1;
    nodes[3].drain = 1;
    nodes[3].reason = "loose cable";
    nodes[4].state = PB__NODE_BASE__NODE_DOWN;
    nodes[4].no_respond = 1;
    return 0;
}

static void expect_node_rows(const char *format, bool by_node, bool exact, const char *text)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct node_rows_unit units[NODES];
    struct listing l;
    struct node_rows r = {.by_node = by_node, .exact = exact, .listing = &l, .hosts = true};
    listing_init(&l, &node_columns);
    listing_set_letters(&l, format);
    listing_set_sort(&l, "#P,-t");
    for (size_t i = 0; i < NODES; i++)
        units[i] = (struct node_rows_unit){.node = &nodes[i], .count = 1};
    for (size_t i = 0; i < 4; i++)
        node_rows_add(&r, &debug, 0, &units[i]);
    for (size_t i = 0; i < NODES; i++)
        node_rows_add(&r, &all, 1, &units[i]);
    vec_foreach (&r.list, row)
        listing_measure(&l, *row);
    vec_foreach (&r.list, row)
        listing_add(&l, *row);
    listing_print_rows(&l, &out);
    assert_string_equal(str_cstr(&out), text);
    for (size_t i = 0; i < NODES; i++)
        vec_done(&units[i].in);
    node_rows_done(&r);
    listing_done(&l);
}

static void test_equal_nodes_share_a_row(void **state)
{
    expect_node_rows("%#9P %.5a %.10l %.6D %.6t %N", false, false,
                     "debug*       up    1:00:00      1  drain n4\n"
                     "debug*       up    1:00:00      2    mix n[1-2]\n"
                     "debug*       up    1:00:00      1   idle n3\n"
                     "long         up   infinite      1  down* m1\n"
                     "long         up   infinite      1  drain n4\n"
                     "long         up   infinite      2    mix n[1-2]\n"
                     "long         up   infinite      1   idle n3\n");
    expect_node_rows("%R|%F|%C|%N", false, false,
                     "debug|2/1/1/4|2/10/4/16|n[1-4]\n"
                     "long|2/1/2/5|2/10/12/24|m1,n[1-4]\n");
    expect_node_rows("%R|%c|%z", false, false, "debug|4|4:1:1\nlong|4+|4+:1:1\n");
    expect_node_rows("%R|%c|%N", false, true, "debug|4|n[1-4]\nlong|8|m1\nlong|4|n[1-4]\n");
    /* Partitions with equal columns share a line, and each node counts once in it. */
    expect_node_rows("%D", false, false, "5\n");
    expect_node_rows("%a|%D|%N|%C", false, false, "up|5|m1,n[1-4]|2/10/12/24\n");
    expect_node_rows("%l|%D", false, false, "1:00:00|4\ninfinite|5\n");
    /* Sorted by the state of the first node, even if the state is not shown; host names are
     * separate. */
    expect_node_rows("%E|%u|%N", false, false, "loose cable|root|n4\nnone|Unknown|m1,n[1-3]\n");
    expect_node_rows(
        "%R|%n", false, false,
        "debug|n4\ndebug|n1\ndebug|n2\ndebug|n3\nlong|m1\nlong|n4\nlong|n1\nlong|n2\nlong|n3\n");
    /* A line for each node and partition. */
    expect_node_rows("%N", true, false, "n4\nn1\nn2\nn3\nm1\nn4\nn1\nn2\nn3\n");
    /* The star is not cut. */
    expect_node_rows("%3P|%.3P|%.7P", false, false, "de*|de*| debug*\nlon|lon|   long\n");
}

static void test_partition_without_nodes(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct listing l;
    struct node_rows r = {.listing = &l};
    listing_init(&l, &node_columns);
    listing_set_letters(&l, "%P|%a|%D|%t|%N|%c|%E|%f|%b|%G|%O|%e|%F");
    Pb__PartRecord empty = all;
    empty.state = "INACTIVE";
    node_rows_add_empty(&r, &empty, 0);
    listing_add(&l, r.list.data[0]);
    listing_print_rows(&l, &out);
    assert_string_equal(str_cstr(&out),
                        "long|inactive|0|n/a||0|none|(null)|(null)|(null)|N/A|N/A|0/0/0/0\n");
    node_rows_done(&r);
    listing_done(&l);
}

/* The titles of Slurm 22.05. */
static const struct title letters[] = {
    {"a", "AVAIL"},
    {"A", "NODES(A/I)"},
    {"b", "ACTIVE_FEATURES"},
    {"B", "MAX_CPUS_PER_NODE"},
    {"c", "CPUS"},
    {"C", "CPUS(A/I/O/T)"},
    {"d", "TMP_DISK"},
    {"D", "NODES"},
    {"e", "FREE_MEM"},
    {"E", "REASON"},
    {"f", "AVAIL_FEATURES"},
    {"F", "NODES(A/I/O/T)"},
    {"g", "GROUPS"},
    {"G", "GRES"},
    {"h", "OVERSUBSCRIBE"},
    {"H", "TIMESTAMP"},
    {"I", "PRIO_JOB_FACTOR"},
    {"l", "TIMELIMIT"},
    {"L", "DEFAULTTIME"},
    {"m", "MEMORY"},
    {"M", "PREEMPT_MODE"},
    {"n", "HOSTNAMES"},
    {"N", "NODELIST"},
    {"o", "NODE_ADDR"},
    {"O", "CPU_LOAD"},
    {"p", "PRIO_TIER"},
    {"P", "PARTITION"},
    {"r", "ROOT"},
    {"R", "PARTITION"},
    {"s", "JOB_SIZE"},
    {"S", "ALLOCNODES"},
    {"t", "STATE"},
    {"T", "STATE"},
    {"u", "USER"},
    {"U", "USER"},
    {"v", "VERSION"},
    {"V", "CLUSTER"},
    {"w", "WEIGHT"},
    {"X", "SOCKETS"},
    {"Y", "CORES"},
    {"z", "S:C:T"},
    {"Z", "THREADS"},
};
static const struct title long_names[] = {
    {"AllocMem", "ALLOCMEM"},
    {"AllocNodes", "ALLOCNODES"},
    {"Available", "AVAIL"},
    {"Cluster", "CLUSTER"},
    {"Comment", "COMMENT"},
    {"Cores", "CORES"},
    {"CPUs", "CPUS"},
    {"CPUsLoad", "CPU_LOAD"},
    {"CPUsState", "CPUS(A/I/O/T)"},
    {"DefaultTime", "DEFAULTTIME"},
    {"Disk", "TMP_DISK"},
    {"Extra", "EXTRA"},
    {"Features", "AVAIL_FEATURES"},
    {"features_act", "ACTIVE_FEATURES"},
    {"FreeMem", "FREE_MEM"},
    {"Gres", "GRES"},
    {"GresUsed", "GRES_USED"},
    {"Groups", "GROUPS"},
    {"MaxCPUsPerNode", "MAX_CPUS_PER_NODE"},
    {"Memory", "MEMORY"},
    {"NodeAddr", "NODE_ADDR"},
    {"NodeAI", "NODES(A/I)"},
    {"NodeAIOT", "NODES(A/I/O/T)"},
    {"NodeHost", "HOSTNAMES"},
    {"NodeList", "NODELIST"},
    {"Nodes", "NODES"},
    {"OverSubscribe", "OVERSUBSCRIBE"},
    {"Partition", "PARTITION"},
    {"PartitionName", "PARTITION"},
    {"Port", "PORT"},
    {"PreemptMode", "PREEMPT_MODE"},
    {"PriorityJobFactor", "PRIO_JOB_FACTOR"},
    {"PriorityTier", "PRIO_TIER"},
    {"Reason", "REASON"},
    {"Root", "ROOT"},
    {"Size", "JOB_SIZE"},
    {"SocketCoreThread", "S:C:T"},
    {"Sockets", "SOCKETS"},
    {"StateCompact", "STATE"},
    {"StateLong", "STATE"},
    {"StateComplete", "STATECOMPLETE"},
    {"Threads", "THREADS"},
    {"Time", "TIMELIMIT"},
    {"TimeStamp", "TIMESTAMP"},
    {"User", "USER"},
    {"UserLong", "USER"},
    {"Version", "VERSION"},
    {"Weight", "WEIGHT"},
};

/* As in Slurm, a partition without nodes has a line only where a column names the partition. */
static void test_columns_that_name_the_partition(void **state)
{
    static const struct {
        const char *columns;
        bool name_it;
    } v[] = {{"%P %D", true}, {"%D %R", true}, {"%a %l %D", false}, {"%D %t %N", false}};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct listing l;
        listing_init(&l, &node_columns);
        listing_set_letters(&l, v[i].columns);
        assert_int_equal(node_rows_show_partition(&l), v[i].name_it);
        listing_done(&l);
    }
}

static void test_columns_have_the_titles_of_slurm(void **state)
{
    check_titles(&node_columns, letters, sizeof(letters) / sizeof(letters[0]), true);
    check_titles(&node_columns, long_names, sizeof(long_names) / sizeof(long_names[0]), false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_equal_nodes_share_a_row, setup),
        cmocka_unit_test_setup(test_partition_without_nodes, setup),
        cmocka_unit_test(test_columns_that_name_the_partition),
        cmocka_unit_test(test_columns_have_the_titles_of_slurm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
