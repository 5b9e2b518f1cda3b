/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_test_util.h"

#define NODES HEAD "NodeName=n[1-4] Features=x\nNodeName=m[1-2] Features=x,y\n" /* 3 lines */

static void invalid_partition_lines_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {NODES "PartitionName=\n", "t.conf:4: ", "PartitionName has no value"},
        {NODES "PartitionName=a,b\n", "t.conf:4: ", "PartitionName=a,b"},
        {NODES "PartitionName=\"a b\"\n", "t.conf:4: ", "PartitionName=a b"},
        {NODES "PartitionName=p Nodes=n[1-5]\n", "t.conf:4: ", "node n5 is not defined"},
        {NODES "PartitionName=p Nodes=n[1-\n", "t.conf:4: ", "Nodes=n[1-"},
        {NODES "PartitionName=p\nPartitionName=p\n", "t.conf:5: ", "twice, first at t.conf:4"},
        {NODES "PartitionName=p State=OPEN\n", "t.conf:4: ", "UP, DOWN, DRAIN or INACTIVE"},
        {NODES "PartitionName=p MaxTime=long\n", "t.conf:4: ", "MaxTime=long"},
        {NODES "PartitionName=p MaxTime=NONE\n", "t.conf:4: ", "MaxTime=NONE"},
        {NODES "PartitionName=p MaxTime=10 DefaultTime=11\n",
         "t.conf:4: ", "DefaultTime=11 exceeds MaxTime=10"},
        {NODES "PartitionName=p MinNodes=3 MaxNodes=2\n", "t.conf:4: ", "MinNodes=3 exceeds"},
        {NODES "PartitionName=p Default=maybe\n", "t.conf:4: ", "Default=maybe"},
        {NODES "PartitionName=p OverSubscribe=MAYBE\n", "t.conf:4: ", "OverSubscribe=MAYBE"},
        {NODES "PartitionName=p Shared=NO:2\n", "t.conf:4: ", "OverSubscribe=NO:2"},
        {NODES "PartitionName=p OverSubscribe=YES:0\n", "t.conf:4: ", "1 to 65533"},
        {NODES "PartitionName=p OverSubscribe=YES:\n", "t.conf:4: ", "1 to 65533"},
        {NODES "PartitionName=p Exclusive=SOME\n", "t.conf:4: ", "NO, NONE, NODE, USER or TOPO"},
        {NODES "PartitionName=p PriorityTier=65534\n", "t.conf:4: ", "PriorityTier=65534"},
        {NODES "PartitionName=p MaxCPUsPerNode=0\n", "t.conf:4: ", "MaxCPUsPerNode=0"},
        {NODES "PartitionName=p ReqResv=x\n", "t.conf:4: ", "ReqResv=x"},
        {NODES "PartitionName=p Alternate=q\n", "t.conf:4: ", "Alternate=q is not a partition"},
        {NODES "PartitionName=p SelectTypeParameters=CR_What\n", "t.conf:4: ",
         "partition p: SelectTypeParameters=CR_What: use CR_Core or CR_Socket, each with"},
        {NODES "PartitionName=DEFAULT Nodes=n9\nPartitionName=p\n", "t.conf:4: ", "node n9"},
        {NODES "NodeSet=s\nPartitionName=p Nodes=s\n", "t.conf:4: ", "give Nodes or Feature"},
        {NODES "NodeSet=n1 Feature=x\n", "t.conf:4: ", "name of a node"},
        {NODES "NodeSet=s Feature=x\nNodeSet=s Feature=y\n", "t.conf:5: ", "defined twice"},
        {NODES "NodeSet=s Nodes=z\n", "t.conf:4: ", "node z is not defined"},
    };

    (void)state;
    test_refused(cases, COUNT(cases));
}

static void doubtful_partition_lines_are_warned_about(void **state)
{
    static const struct test_refusal cases[] = {
        {NODES "PartitionName=p Defalut=YES\n", "t.conf:4: ", "did you mean Default?"},
        {NODES "PartitionName=p Default=YES\nPartitionName=q Default=YES\n",
         "t.conf:5: ", "as has p (t.conf:4); q is the default"},
        {NODES "PartitionName=p ResumeTimeout=5\n", "t.conf:4: ", "has no effect"},
        {NODES "PartitionName=p DefMemPerCPU=5 DefMemPerNode=6\n", "t.conf:4: ", "DefMemPerCPU"},
        {NODES "PartitionName=p MaxNodes=1 MaxNodes=2\n", "t.conf:4: ", "given twice"},
        {NODES "PartitionName=p TRESBillingWeights=cpu=1,mme=2\n",
         "t.conf:4: ", "unknown resource 'mme'"},
        {NODES "PartitionName=p TRESBillingWeights=CPU=1,energy=2\n",
         "t.conf:4: ", "'energy' has no effect"},
        {NODES "PartitionName=p TRESBillingWeights=GRES/gpu=1,gres/gpuu:a=2\nGresTypes=gpu\n",
         "t.conf:4: ", "'gres/gpuu:a' is not in GresTypes"},
        {NODES "PartitionName=p TRESBillingWeights=license/a=1,license/b=2\nLicenses=a:3\n",
         "t.conf:4: ", "'license/b' is neither in Licenses"},
        {NODES "PartitionName=DEFAULT TRESBillingWeights=cpus=1\nPartitionName=p\n"
               "PartitionName=q\n",
         "t.conf:4: ", "unknown resource 'cpus'"},
    };

    (void)state;
    test_warned(cases, COUNT(cases));
}

/* SelectTypeParameters of a partition overrides the cluster's if both are among the four
   values. */
static void memory_is_counted_as_the_partition_says(void **state)
{
    static const struct {
        const char *cluster, *part;
        bool counts;
        const char *own; /* what is shown; NULL: none */
        const char *warned;
    } cases[] = {
        {"CR_Core_Memory", NULL, true, NULL, NULL},
        {"CR_Core_Memory", "CR_Core", false, "CR_Core", NULL},
        {"CR_Core", "CR_Core_Memory", true, "CR_Core_Memory", NULL},
        {"CR_Core", "cr_core_memory", true, "cr_core_memory", NULL},
        {"CR_Core,CR_LLN", "CR_Core_Memory", true, "CR_Core_Memory", NULL},
        {"CR_Socket", "CR_Socket_Memory", true, "CR_Socket_Memory", NULL},
        {"CR_Socket_Memory", "CR_Socket", false, "CR_Socket", NULL},
        {"CR_Core_Memory", "CR_Socket", false, "CR_Socket", NULL},
        {"CR_Core_Memory", "CR_Socket OverSubscribe=FORCE:2", false, "CR_Socket",
         "(OverSubscribe) are given cores"},
        {"CR_Core", "CR_Socket_Memory OverSubscribe=EXCLUSIVE", true, "CR_Socket_Memory", NULL},
        {"CR_Socket", "CR_Core_Memory", true, "CR_Core_Memory", "its jobs are given sockets"},
        {"CR_Core_Memory", "NONE", true, NULL, NULL},
        {"CR_Core_Memory", "CR_CPU", true, NULL, "CR_CPU is ignored: use CR_Core or CR_Socket"},
        {"CR_Core", "CR_Memory", false, NULL, "CR_Memory is ignored: use CR_Core or CR_Socket"},
        {"CR_Core_Memory", "CR_Core,CR_LLN", true, NULL, "CR_LLN is ignored: use CR_Core or"},
        {"CR_CPU_Memory", "CR_Core", true, NULL, "CR_Core is ignored: that of the cluster"},
        {"CR_Memory", "CR_Core", true, NULL, "CR_Core is ignored: that of the cluster"},
        {"CR_CPU", "CR_Core_Memory", false, NULL, "CR_Core_Memory is ignored: that of the"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct conf_report report = {0};
        _cleanup_free_ char *text =
            mem_printf(HEAD "SelectType=select/cons_tres\nSelectTypeParameters=%s\nNodeName=n1\n"
                            "PartitionName=p Nodes=n1%s%s\n",
                       cases[i].cluster, cases[i].part ? " SelectTypeParameters=" : "",
                       cases[i].part ? cases[i].part : "");
        struct conf *c = test_load(text, &report);
        const char *own = conf_part_select_parameters(c, &c->parts.data[0]);
        bool warned = false, any = false;
        vec_foreach (&report.warnings, w) {
            any |= strstr(w->text, "partition p: SelectTypeParameters") != NULL;
            warned |= cases[i].warned && strstr(w->text, cases[i].warned);
        }
        if (conf_part_counts_memory(c, &c->parts.data[0]) != cases[i].counts ||
            (own ? !cases[i].own || strcmp(own, cases[i].own) != 0 : cases[i].own != NULL) ||
            any != (cases[i].warned != NULL) || warned != any)
            fail_msg("%s, %s", cases[i].cluster, cases[i].part ? cases[i].part : "none");
        conf_free(c);
        conf_report_done(&report);
    }
}

static void partition_has_defaults(void **state)
{
    struct conf *c = test_load(NODES "PartitionName=p Nodes=n1\n", NULL);
    const struct conf_part *p = &c->parts.data[0];

    (void)state;
    assert_string_equal(p->name, "p");
    assert_int_equal(p->state, CONF_PART_UP);
    assert_true(p->max_time_sec == CONF_UNLIMITED);
    assert_int_equal(p->default_time_sec, 0);
    assert_true(p->max_nodes == UINT32_MAX);
    assert_int_equal(p->min_nodes, 0);
    assert_true(p->max_cpus_per_node == UINT32_MAX);
    assert_int_equal(p->share, CONF_SHARE_NO);
    assert_int_equal(p->priority_tier, 1);
    assert_int_equal(p->priority_job_factor, 1);
    assert_true(p->over_time_limit_sec == -1);
    assert_true(p->grace_time_sec == -1);
    assert_null(p->allow_groups);
    assert_false(p->is_default);
    conf_free(c);
}

static void partition_values_are_read(void **state)
{
    struct conf *c = test_load(
        NODES
        "DisableRootJobs=YES\n"
        "PartitionName=DEFAULT MaxTime=30 MaxNodes=2 Priority=7\n"
        "partitionname=p nodes=all default=yes MaxTime=1-00:00:00 DefaultTime=90 key=YES "
        "Shared=force:8 AllowGroups=students,teachers AllowAccounts=ALL PriorityTier=9 "
        "Hidden=1 RootOnly=true QOS=q PreemptMode=off TRESBillingWeights=\"CPU=1.0,Mem=.5G\"\n"
        "PartitionName=q Nodes=n[3-4],m1 OverSubscribe=EXCLUSIVE MaxNodes=UNLIMITED "
        "DisableRootJobs=NO Alternate=p OverSubscribe=EXCLUSIVE\n"
        "PartitionName=r Nodes= MaxTime=INFINITE State=drain OverSubscribe=YES\n",
        NULL);
    const struct conf_part *p = c->parts.data;

    (void)state;
    assert_true(p[0].is_default && p[0].key && p[0].hidden && p[0].root_only);
    assert_int_equal(p[0].max_time_sec, 86400);
    assert_int_equal(p[0].default_time_sec, 90 * 60);
    assert_int_equal(p[0].max_nodes, 2);
    assert_int_equal(p[0].priority_tier, 9);
    assert_int_equal(p[0].priority_job_factor, 7);
    assert_int_equal(p[0].share, CONF_SHARE_FORCE);
    assert_int_equal(p[0].share_max, 8);
    assert_string_equal(p[0].allow_groups, "students,teachers");
    assert_null(p[0].allow_accounts);
    assert_string_equal(p[0].tres_billing_weights, "CPU=1.0,Mem=.5G");
    assert_string_equal(p[0].nodes, "all");
    assert_int_equal(bitset_count(p[0].node_set), 6);
    assert_true(p[0].disable_root);

    assert_int_equal(p[1].max_time_sec, 30 * 60);
    assert_true(p[1].max_nodes == UINT32_MAX);
    assert_int_equal(p[1].share, CONF_SHARE_EXCLUSIVE);
    assert_int_equal(p[1].share_max, 1);
    assert_int_equal(bitset_count(p[1].node_set), 3);
    assert_true(bitset_test(p[1].node_set, (size_t)conf_find_node(c, "n3")));
    assert_true(bitset_test(p[1].node_set, (size_t)conf_find_node(c, "m1")));
    assert_false(p[1].disable_root);

    assert_string_equal(p[2].nodes, "");
    assert_true(bitset_empty(p[2].node_set));
    assert_true(p[2].max_time_sec == CONF_UNLIMITED);
    assert_int_equal(p[2].state, CONF_PART_DRAIN);
    assert_int_equal(p[2].share_max, 4);
    assert_int_equal(conf_find_part(c, "q"), 1);
    assert_int_equal(conf_find_part(c, "Q"), -1);
    conf_free(c);
}

/* Like AllocNodes. */
static void nodes_to_submit_from_have_an_older_name(void **state)
{
    struct conf *c =
        test_load(HEAD "NodeName=n[1-2]\nPartitionName=p Nodes=ALL AllowAllocNodes=n1\n", NULL);
    assert_string_equal(c->parts.data[0].allow_alloc_nodes, "n1");
    conf_free(c);
}

static void last_default_partition_counts(void **state)
{
    struct conf *c = test_load(NODES "PartitionName=a Default=YES\nPartitionName=b Default=YES\n"
                                     "PartitionName=c Default=YES\nPartitionName=d\n",
                               NULL);

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(c->parts.data[i].is_default, i == 2);
    conf_free(c);
}

static void node_sets_expand_to_their_nodes(void **state)
{
    struct conf *c = test_load(NODES "PartitionName=p Nodes=s,n1\nPartitionName=q Nodes=t\n"
                                     "NodeSet=s Feature=y\nNodeSet=t Feature=y Nodes=n[2-3]\n",
                               NULL);

    (void)state;
    assert_int_equal(bitset_count(c->parts.data[0].node_set), 3);
    assert_int_equal(bitset_count(c->parts.data[1].node_set), 4);
    conf_free(c);
}

static void exclusive_and_oversubscribe_are_combined(void **state)
{
    static const struct {
        const char *keys;
        enum conf_oversubscribe share;
        bool user;
    } cases[] = {
        {"Exclusive=NO", CONF_SHARE_NO, false},
        {"Exclusive=no OverSubscribe=YES", CONF_SHARE_YES, false},
        {"Exclusive=node OverSubscribe=YES", CONF_SHARE_EXCLUSIVE, false},
        {"Exclusive=USER", CONF_SHARE_NO, true},
        {"Exclusive=TOPO", CONF_SHARE_NO, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_free_ char *text = mem_printf("%sPartitionName=p %s\n", NODES, cases[i].keys);
        struct conf *c = test_load(text, NULL);
        assert_int_equal(c->parts.data[0].share, cases[i].share);
        assert_int_equal(c->parts.data[0].exclusive_user, cases[i].user);
        conf_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_partition_lines_are_refused),
        cmocka_unit_test(doubtful_partition_lines_are_warned_about),
        cmocka_unit_test(memory_is_counted_as_the_partition_says),
        cmocka_unit_test(partition_has_defaults),
        cmocka_unit_test(partition_values_are_read),
        cmocka_unit_test(nodes_to_submit_from_have_an_older_name),
        cmocka_unit_test(last_default_partition_counts),
        cmocka_unit_test(node_sets_expand_to_their_nodes),
        cmocka_unit_test(exclusive_and_oversubscribe_are_combined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
