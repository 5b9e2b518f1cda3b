/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "show/config_file.h"

#define RECORDS "NodeName=n1\nPartitionName=p Nodes=n1\n"

/* Reads a configuration from a text; returns the number of warnings. */
static size_t load_conf_text(const char *text, struct conf **out)
{
    char path[] = "/tmp/sluice-config-test.XXXXXX";
    struct conf_report report = {0};
    struct err err = {0};
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(path_write_all(fd, text, strlen(text)), 0);
    close(fd);
    if (conf_load(path, CONF_FULL, NULL, out, &report, &err) != 0)
        fail_msg("%s\n%s", err.text, text);
    unlink(path);
    size_t warnings = report.warnings.len;
    conf_report_done(&report);
    return warnings;
}

static void test_keys_mean_the_same_when_read(void **state)
{
    static const char *const keys[] = {
        "",
        "SelectType=select/linear\n",
        "SelectType=select/cons_tres\nSelectTypeParameters=CR_SOCKET_MEMORY\n",
        "SlurmctldHost=b(10.0.0.1)\nSlurmctldHost=c\nSlurmctldPort=17-19\n",
        "SlurmUser=bin\nSlurmdUser=daemon\nKillWait=7\nInactiveLimit=3\nSuspendTime=77\n",
        "OverTimeLimit=5\nPriorityMaxAge=1-02:03:04\nPriorityDecayHalfLife=10\nResvOverRun=2\n",
        "DefMemPerNode=3G\nMaxMemPerCPU=70\nPreemptExemptTime=1:00\nMaxNodeCount=12\n",
        "InteractiveStepOptions=\"--pty bash # -l\"\nPrologFlags=Alloc,Contain\nTreeWidth=9\n",
        "EpilogMsgTime=5\nVSizeFactor=110\nResumeRate=1\nUsePAM=yes\nDisableRootJobs=YES\n",
        "SlurmctldDebug=debug2\nEpilog=/bin/true\nAuthInfo=socketdir=/tmp/x,ttl=9\n",
        "EnforcePartLimits=ANY\nReturnToService=2\nMinJobAge=9\nJobRequeue=0\nWaitTime=4\n",
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        _cleanup_str_ struct str given = STR_INIT, shown = STR_INIT, text = STR_INIT;
        _cleanup_str_ struct str difference = STR_INIT;
        struct conf *before = NULL, *after = NULL;
        str_printf(&given, "SlurmctldHost=a\nClusterName=c\n%s" RECORDS, keys[i]);
        size_t warnings = load_conf_text(str_cstr(&given), &before);
        assert_int_equal(conf_format(before, NULL, &shown, NULL), 0);
        config_file_put_keys(str_cstr(&shown), 1, &text);
        str_puts(&text, RECORDS);
        assert_int_equal(load_conf_text(str_cstr(&text), &after), warnings);
        conf_diff(before, after, &difference);
        assert_string_equal(str_cstr(&difference), "");
        conf_free(before);
        conf_free(after);
    }
}

static Pb__NodeRecord make_node_record(const char *name, uint32_t port)
{
    Pb__NodeRecord n = PB__NODE_RECORD__INIT;
    n.name = (char *)name;
    n.port = port;
    n.cpus = 8;
    n.boards = 1;
    n.sockets = 2;
    n.cores = 4;
    n.threads = 1;
    n.real_memory_mib = 500;
    return n;
}

#define SHAPE " CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=500"

static void test_equal_nodes_share_a_line(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    struct config_nodes lines = {0};
    Pb__NodeRecord n[] = {
        make_node_record("a1", 7),   make_node_record("a2", 7),   make_node_record("a3", 8),
        make_node_record("b1", 20),  make_node_record("b2", 21),  make_node_record("b3", 22),
        make_node_record("b4", 24),  make_node_record("c", 24),   make_node_record("d1", 100),
        make_node_record("d2", 100), make_node_record("d3", 101), make_node_record("e", 101)};
    config_file_end_nodes(&lines, &out);
    assert_int_equal(out.len, 0);
    n[7].features = "fast,big";
    n[7].has_weight = 1;
    n[7].weight = 3;
    n[8].hostname = n[9].hostname = "h";
    n[8].addr = n[9].addr = "10.0.0.1";
    n[9].tmp_disk_mib = 5;
    n[10].boards = 2;
    n[10].comment = "two boards";
    n[11].state = PB__NODE_BASE__NODE_FUTURE;
    n[11].hostname = n[11].addr = "e";
    for (size_t i = 0; i < sizeof(n) / sizeof(n[0]); i++)
        config_file_add_node(&lines, &n[i], &out);
    config_file_end_nodes(&lines, &out);
    assert_string_equal(str_cstr(&out),
                        "NodeName=a[1-2] Port=7" SHAPE "\nNodeName=a3 Port=8" SHAPE
                        "\nNodeName=b[1-3] Port=[20-22]" SHAPE "\nNodeName=b4 Port=24" SHAPE
                        "\nNodeName=c Port=24" SHAPE " Weight=3 Features=fast,big"
                        "\nNodeName=d1 Port=100 NodeHostname=h NodeAddr=10.0.0.1" SHAPE
                        "\nNodeName=d2 Port=100 NodeHostname=h NodeAddr=10.0.0.1" SHAPE " TmpDisk=5"
                        "\nNodeName=d3 Port=101 CPUs=8 Boards=2 SocketsPerBoard=1 CoresPerSocket=4 "
                        "ThreadsPerCore=1 RealMemory=500 Comment=\"two boards\""
                        "\nNodeName=e Port=101" SHAPE " State=FUTURE\n");
}

static void test_partition_is_written_as_a_line(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    Pb__PartRecord p = PB__PART_RECORD__INIT;
    p.name = "a";
    config_file_put_part(&p, false, &out);
    assert_string_equal(str_cstr(&out), "PartitionName=a\n");
    str_clear(&out);
    p.nodes = "n[1-3]";
    p.is_default = p.key = p.root_only = p.hidden = true;
    p.state = "DRAIN";
    p.share = "FORCE:4";
    p.alloc_nodes = "login";
    p.has_max_time_sec = p.has_max_nodes = p.has_priority_tier = p.has_over_time_limit_sec = 1;
    p.max_time_sec = 90061;
    p.default_time_sec = 60;
    p.max_nodes = 2;
    p.priority_tier = 9;
    p.max_mem_per_cpu_mib = 7;
    config_file_put_part(&p, true, &out);
    assert_string_equal(str_cstr(&out),
                        "PartitionName=a Nodes=n[1-3] Default=YES State=DRAIN AllocNodes=login "
                        "DisableRootJobs=NO Hidden=YES Key=YES DefaultTime=00:01:00 "
                        "MaxTime=1-01:01:01 OverTimeLimit=00:00:00 MaxNodes=2 MaxMemPerCPU=7 "
                        "OverSubscribe=FORCE:4 PriorityTier=9\n");
    str_clear(&out);
    p = (Pb__PartRecord)PB__PART_RECORD__INIT;
    p.name = "b";
    p.has_max_time_sec = p.has_max_nodes = p.root_only = 1;
    p.max_time_sec = TIME_UNLIMITED;
    p.max_nodes = UINT32_MAX;
    config_file_put_part(&p, false, &out);
    assert_string_equal(str_cstr(&out), "PartitionName=b RootOnly=YES MaxTime=UNLIMITED\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_mean_the_same_when_read),
        cmocka_unit_test(test_equal_nodes_share_a_line),
        cmocka_unit_test(test_partition_is_written_as_a_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
