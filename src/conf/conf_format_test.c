/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <strings.h>

#include "conf/conf_test_util.h"

/* The line of a key, alone. */
static void assert_key_shown(const char *text, const char *key, const char *expect)
{
    struct conf *c = test_load(text, NULL);
    _cleanup_str_ struct str out = STR_INIT;
    struct err err = {0};

    if (conf_format(c, key, &out, &err) != 0)
        fail_msg("%s: %s", key, err.text);
    assert_string_equal(str_cstr(&out), expect);
    conf_free(c);
}

static void unknown_key_is_refused(void **state)
{
    struct conf *c = test_load(HEAD, NULL);
    _cleanup_str_ struct str out = STR_INIT;
    struct err err = {0};

    (void)state;
    assert_int_equal(conf_format(c, "KillWiat", &out, &err), -ERR_CONFIG);
    assert_non_null(strstr(err.text, "did you mean KillWait?"));
    assert_int_equal(conf_format(c, "Qqqqqqq", &out, &err), -ERR_CONFIG);
    assert_int_equal(out.len, 0);
    conf_free(c);
}

static void single_key_is_shown(void **state)
{
    (void)state;
    assert_key_shown(HEAD, "killwait", "KillWait                = 30 sec\n");
    assert_key_shown(HEAD "KillWait=5\n", "KillWait", "KillWait                = 5 sec\n");
    assert_key_shown(HEAD, "SLURM_VERSION", "SLURM_VERSION           = " SLURM_VERSION "\n");
    assert_key_shown(HEAD, "slurm_conf", "SLURM_CONF              = t.conf\n");
    assert_key_shown("SlurmctldHost=a(1.2.3.4)\nSlurmctldHost=b\n", "SlurmctldHost",
                     "SlurmctldHost[0]        = a(1.2.3.4)\nSlurmctldHost[1]        = b\n");
    assert_key_shown(HEAD, "SlurmUser", "SlurmUser               = root(0)\n");
    assert_key_shown(HEAD "SlurmUser=0\n", "SlurmUser", "SlurmUser               = root(0)\n");
    assert_key_shown(HEAD "SlurmdUser=54321\n", "SlurmdUser",
                     "SlurmdUser              = 54321(54321)\n");
    assert_key_shown(HEAD "SlurmctldPort=1-3\n", "SlurmctldPort",
                     "SlurmctldPort           = 1-3\n");
    assert_key_shown(HEAD, "SelectTypeParameters", "SelectTypeParameters    = CR_CORE_MEMORY\n");
    assert_key_shown(HEAD "SelectTypeParameters=CR_Core_Memory\n", "SelectTypeParameters",
                     "SelectTypeParameters    = CR_CORE_MEMORY\n");
    assert_key_shown(HEAD, "MaxNodeCount", "MaxNodeCount            = 0\n");
    assert_key_shown(HEAD "NodeName=n[1-4]\nNodeName=m\n", "MaxNodeCount",
                     "MaxNodeCount            = 5\n");
    assert_key_shown(HEAD "NodeName=n[1-4]\nMaxNodeCount=9\n", "MaxNodeCount",
                     "MaxNodeCount            = 9\n");
    assert_key_shown(HEAD, "Epilog", "Epilog                  = (null)\n");
    assert_key_shown(HEAD, "EioTimeout", "EioTimeout              = 60\n");
    assert_key_shown(HEAD, "SuspendTime", "SuspendTime             = INFINITE\n");
    assert_key_shown(HEAD, "OverTimeLimit", "OverTimeLimit           = 0 min\n");
    assert_key_shown(HEAD, "PriorityMaxAge", "PriorityMaxAge          = 7-00:00:00\n");
    assert_key_shown(HEAD, "PreemptExemptTime", "PreemptExemptTime       = 00:00:00\n");
    assert_key_shown(HEAD, "ResumeRate", "ResumeRate              = 300 nodes/min\n");
    assert_key_shown(HEAD, "EpilogMsgTime", "EpilogMsgTime           = 2000 usec\n");
    assert_key_shown(HEAD, "SlurmctldDebug", "SlurmctldDebug          = info\n");
    assert_key_shown(HEAD, "DisableRootJobs", "DisableRootJobs         = No\n");
    assert_key_shown(HEAD "JobCompPass=secret\n", "JobCompPass",
                     "JobCompPass             = (hidden)\n");
    assert_key_shown(HEAD, "StateSaveStore", "StateSaveStore          = (null)\n");
    assert_key_shown(HEAD "StateSaveStore=postgresql://u:secret@h/d?a=b\n", "StateSaveStore",
                     "StateSaveStore          = postgresql://u:****@h/d?a=b\n");
    assert_key_shown(HEAD, "AccountingStorageBackupHost", "AccountingStorageBackupHost = (null)\n");
    assert_key_shown(HEAD "FastSchedule=0\n", "FastSchedule", "FastSchedule            = 0\n");
    assert_key_shown(HEAD, "DefMemPerNode", "DefMemPerNode           = UNLIMITED\n");
    assert_key_shown(HEAD "DefMemPerNode=1G\n", "DefMemPerNode",
                     "DefMemPerNode           = 1024\n");
}

/* Keys used by daemons and commands, which no other test sets. */
static void keys_are_shown_as_given(void **state)
{
    static const struct {
        const char *line, *key, *value;
    } rows[] = {
        {"BatchStartTimeout=7", "BatchStartTimeout", "7 sec"},
        {"CredType=cred/slurm", "CredType", "cred/slurm"},
        {"EpilogTimeout=9", "EpilogTimeout", "9"},
        {"HealthCheckTimeout=11", "HealthCheckTimeout", "11 sec"},
        {"MaxTasksPerNode=12", "MaxTasksPerNode", "12"},
        {"SlurmdSyslogDebug=debug2", "SlurmdSyslogDebug", "debug2"},
        {"SrunPortRange=60001-60100", "SrunPortRange", "60001-60100"},
        {"PreemptMode=Suspend,gang", "PreemptMode", "GANG,SUSPEND"},
        {"PreemptMode=gang", "PreemptMode", "GANG"},
        {"PreemptMode=priority,requeue", "PreemptMode", "REQUEUE,PRIORITY"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "%s\n", rows[i].line);
        _cleanup_free_ char *line = mem_printf("%-23s = %s\n", rows[i].key, rows[i].value);
        assert_key_shown(text, rows[i].key, line);
    }
}

/* Names of earlier releases set the key of today, with a warning. */
static void old_names_set_the_key_of_today(void **state)
{
    static const struct {
        const char *line, *key, *value;
    } rows[] = {
        {"AcctGatherInfinibandType=none", "AcctGatherInterconnectType",
         "acct_gather_interconnect/none"},
        {"CryptoType=cred/slurm", "CredType", "cred/slurm"},
        {"DefaultStorageHost=db", "AccountingStorageHost", "db"},
        {"DefaultStorageType=none", "AccountingStorageType", "accounting_storage/none"},
        {"SlurmctldSyslogLevel=debug", "SlurmctldSyslogDebug", "debug"},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "%s\n", rows[i].line);
        _cleanup_free_ char *line = mem_printf("%-23s = %s\n", rows[i].key, rows[i].value);
        struct conf_report report = {0};
        conf_free(test_load(text, &report));
        assert_true(report.warnings.len > 0);
        conf_report_done(&report);
        assert_key_shown(text, rows[i].key, line);
    }
}

static void all_keys_are_shown_in_order(void **state)
{
    struct conf *c = test_load(HEAD "DefMemPerCPU=100\n", NULL);
    _cleanup_str_ struct str out = STR_INIT;
    const char *last = "";
    size_t lines = 0;

    (void)state;
    assert_int_equal(conf_format(c, NULL, &out, NULL), 0);
    assert_true(str_starts(out.data, "Configuration data as of 2"));
    assert_non_null(strstr(out.data, "\nBOOT_TIME               = 2"));
    assert_non_null(strstr(out.data, "\nDefMemPerCPU            = 100\n"));
    assert_null(strstr(out.data, "\nDefMemPerNode "));
    assert_non_null(strstr(out.data, "\nSlurmctldHost[0]        = ctl\n"));
    for (char *line = strchr(out.data, '\n') + 1; *line; lines++) {
        char *end = strchr(line, '\n');
        assert_non_null(end);
        *end = '\0';
        assert_non_null(strstr(line, " = "));
        if (strcasecmp(last, line) >= 0)
            fail_msg("not in order: '%s' '%s'", last, line);
        last = line;
        line = end + 1;
    }
    assert_int_equal(lines, CONF_KEYS - 3 + 4); /* two pairs show one each */
    assert_null(strstr(out.data, "FastSchedule"));
    conf_free(c);
}

static void differing_values_are_listed(void **state)
{
    (void)state;
    test_differs(HEAD, "# other words\n" HEAD "KillWait=30\n", "");
    test_differs(HEAD, HEAD "MaxJobCount=20\nEpilog=/e\n",
                 "Epilog: (null) -> /e\nMaxJobCount: 10000 -> 20\n");
    test_differs(HEAD "StateSaveStore=postgresql://u:old@h/d\n",
                 HEAD "StateSaveStore=postgresql://u:new@h/d\n",
                 "StateSaveStore: postgresql://u:****@h/d -> postgresql://u:****@h/d\n");
    test_differs(HEAD, HEAD "FastSchedule=0\n", "FastSchedule: 1 -> 0\n");
    test_differs(HEAD, "SlurmctldHost=x\n", "SlurmctldHost: ctl(ctl) -> x(x)\n");
    test_differs(HEAD "NodeName=n[1-4]\n", HEAD "NodeName=n5,n[2-3]\n",
                 "node n[1,4]: removed\nnode n5: added\n");
    test_differs(HEAD "NodeName=n[1-9] CPUs=4\n",
                 HEAD "NodeName=n[1-4],n6 CPUs=4\nNodeName=n5,n[7-9] CPUs=8 State=DOWN\n",
                 "node n[5,7-9]: CPUs: 4 -> 8\nnode n[5,7-9]: Sockets: 4 -> 8\n"
                 "node n[5,7-9]: State: UNKNOWN -> DOWN\n");
    test_differs(HEAD "NodeName=n1\n", HEAD "NodeName=n1 Port=9 NodeAddr=x\n",
                 "node n1: NodeAddr: n1 -> x\nnode n1: Port: 6818 -> 9\n");
    test_differs(HEAD "PartitionName=a\nPartitionName=b MaxTime=5\n",
                 HEAD "PartitionName=b MaxTime=UNLIMITED State=DOWN OverSubscribe=YES\n"
                      "PartitionName=c\n",
                 "partition a: removed\npartition b: MaxTime: 00:05:00 -> UNLIMITED\n"
                 "partition b: State: UP -> DOWN\npartition b: OverSubscribe: NO -> YES:4\n"
                 "partition c: added\n");
    test_differs(HEAD "NodeName=n[1-2]\nPartitionName=a Nodes=n1\n",
                 HEAD "NodeName=n[1-2]\nPartitionName=a Nodes=ALL\n",
                 "partition a: Nodes: n1 -> ALL\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_key_is_refused),
        cmocka_unit_test(single_key_is_shown),
        cmocka_unit_test(keys_are_shown_as_given),
        cmocka_unit_test(old_names_set_the_key_of_today),
        cmocka_unit_test(all_keys_are_shown_in_order),
        cmocka_unit_test(differing_values_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
