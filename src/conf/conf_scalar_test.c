/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <strings.h>

#include "conf/conf_test_util.h"

#define CORES "SelectTypeParameters=CR_Core_Memory\n"

static void invalid_values_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {HEAD "MaxJobCount=many\n", "t.conf:2: ", "MaxJobCount=many: expected a whole number"},
        {HEAD "MaxJobCount=\n", "t.conf:2: ", "expected a whole number"},
        {HEAD "MaxJobCount=12x\n", "t.conf:2: ", "whole number"},
        {HEAD "MaxJobCount=99999999999999999999999\n", "t.conf:2: ", "MaxJobCount"},
        {HEAD "MaxJobCount=0\n", "t.conf:2: ", "expected 1 to 100000000"},
        {HEAD "MaxJobCount=-5\n", "t.conf:2: ", "out of range"},
        {HEAD "SlurmdTimeout=65534\n", "t.conf:2: ", "expected 0 to 65533"},
        {HEAD "KillWait=UNLIMITED\n", "t.conf:2: ", "KillWait=UNLIMITED"},
        {HEAD "\n\nReturnToService=3\n", "t.conf:4: ", "ReturnToService=3"},
        {HEAD "FastSchedule=3\n", "t.conf:2: ", "expected 0 to 2"},
        {HEAD "Licenses=a:0\n", "t.conf:2: ", "Invalid license specification: \"a:0\""},
        {HEAD "PropagateResourceLimits=NOFILES\n", "t.conf:2: ", "'NOFILES' is not one of"},
        {HEAD "PropagateResourceLimits=CORE\nPropagateResourceLimitsExcept=AS\n",
         "t.conf:3: ", "exclude each other"},
        {HEAD "SrunProlog=before\n", "t.conf:2: ", "absolute path"},
        {HEAD "RequeueExit=x\n", "t.conf:2: ", "RequeueExit=x: expected exit codes"},
        {HEAD "RequeueExit=1-\n", "t.conf:2: ", "expected exit codes"},
        {HEAD "RequeueExit=5-3\n", "t.conf:2: ", "expected exit codes"},
        {HEAD "RequeueExit=1,\n", "t.conf:2: ", "expected exit codes"},
        {HEAD "RequeueExitHold=256\n", "t.conf:2: ", "RequeueExitHold=256: expected exit codes"},
        {HEAD "RequeueExitHold=1 -3\n", "t.conf:2: ", ""},
        {HEAD "JobRequeue=2\n", "t.conf:2: ", "expected YES or NO"},
        {HEAD "DisableRootJobs=perhaps\n", "t.conf:2: ", "expected YES or NO"},
        {HEAD "SlurmctldDebug=loud\n", "t.conf:2: ", "SlurmctldDebug=loud: expected quiet"},
        {HEAD "DefMemPerCPU=2X\n", "t.conf:2: ", "a size in MiB"},
        {HEAD "OverTimeLimit=soon\n", "t.conf:2: ", "UNLIMITED"},
        {HEAD "SlurmctldPort=70000\n", "t.conf:2: ", "SlurmctldPort=70000"},
        {HEAD "SlurmctldPort=0\n", "t.conf:2: ", "expected 1 to 65535"},
        {HEAD "SlurmctldPort=6818-6817\n", "t.conf:2: ", "FIRST-LAST"},
        {HEAD "SlurmctldPort=6817-\n", "t.conf:2: ", "FIRST-LAST"},
        {HEAD "SlurmctldPort=-6817\n", "t.conf:2: ", "SlurmctldPort=-6817"},
        {HEAD "SlurmdPort=6818-6819\n", "t.conf:2: ", "expected one port"},
        {HEAD "SrunPortRange=60001\n", "t.conf:2: ", "SrunPortRange=60001: expected FIRST-LAST"},
        {HEAD "SrunPortRange=60002-60001\n", "t.conf:2: ", "expected FIRST-LAST"},
        {HEAD "SrunPortRange=60001-70000\n", "t.conf:2: ", "up to 65535, or 0-0"},
        {HEAD "SlurmUser=no_such_user_here\n", "t.conf:2: ", "no such user"},
        {HEAD "SlurmdUser=-1\n", "t.conf:2: ", "no such user"},
        {HEAD "SlurmUser=4294967295\n", "t.conf:2: ", "no such user"},
        {HEAD "StateSaveLocation=state\n", "t.conf:2: ", "absolute path"},
        {HEAD "StateSaveStore=mysql://h/d\n", "t.conf:2: ", "begin with postgresql://"},
        {HEAD "StateSaveStore=/var/spool/state\n", "t.conf:2: ", "begin with postgresql://"},
        {HEAD "StateSaveStore=postgresql://u:p@w@h/d\n", "t.conf:2: ", "%40 for @"},
        {HEAD "StateSaveStore=\"postgresql://u:p w@h/d\"\n", "t.conf:2: ", "no blanks"},
        {HEAD "AuthInfo=socketdir=run\n", "t.conf:2: ", "absolute path"},
        {HEAD "ClusterName=a/../b\n", "t.conf:2: ", "ClusterName=a/../b"},
        {HEAD "ClusterName=\n", "t.conf:2: ", "ClusterName is empty"},
        {HEAD "ClusterName=aaaaaaaaaabbbbbbbbbbccccccccccddddddddddx\n", "t.conf:2: ", "40 bytes"},
        {HEAD "EnforcePartLimits=SOME\n", "t.conf:2: ", "ALL ANY NO"},
        {HEAD "PreemptMode=SUSPEND,GNAG\n", "t.conf:2: ", "'GNAG'"},
        {HEAD "PreemptMode=GANG,off\n", "t.conf:2: ", "OFF with another word"},
        {HEAD "PrologFlags=Alloc,Contian\n", "t.conf:2: ", "'Contian'"},
        {HEAD "SelectTypeParameters=CR_Core,CR_Cpu_Memory\n", "t.conf:2: ", "only"},
        {HEAD "SelectTypeParameters=CR_Node\n", "t.conf:2: ", "'CR_Node' is unknown"},
        {HEAD "JobAcctGatherParams=OverMemoryKil\n", "t.conf:2: ", "'OverMemoryKil' is not one of"},
        {HEAD "CpuFreqGovernors=OnDemand,Fast\n", "t.conf:2: ", "'Fast' is not one of"},
        {HEAD "CpuFreqDef=high-low\n", "t.conf:2: ", "CpuFreqDef='high-low': it is P1"},
        {HEAD "SlurmdParameters=cpufreq_path=cpu\n", "t.conf:2: ", "it is an absolute path"},
        {HEAD "JobAcctGatherFrequency=often\n", "t.conf:2: ", "'often' is not a number"},
        {HEAD "JobAcctGatherFrequency=task=\n", "t.conf:2: ", "'task=' is not"},
        {HEAD "JobAcctGatherFrequency=30,tasks=5\n", "t.conf:2: ", "'tasks=5'"},
        {HEAD "JobAcctGatherFrequency=-1\n", "t.conf:2: ", "'-1'"},
        {HEAD "JobAcctGatherFrequency=task=86401\n", "t.conf:2: ", "'task=86401'"},
        {HEAD "FirstJobId=10\nMaxJobId=9\n", "t.conf:2: ", "exceeds MaxJobId=9"},
        {HEAD "SlurmctldParameters=rl_enable,rl_bucket_size=0\n", "t.conf:2: ", "rl_bucket_size=0"},
        {HEAD "CommunicationParameters=keepalivetime=0\n", "t.conf:2: ",
         "CommunicationParameters: keepalivetime=0: a number from 1 to 32767 is expected"},
        {HEAD "CommunicationParameters=keepalivetime=9,keepaliveprobes=128\n",
         "t.conf:2: ", "keepaliveprobes=128"},
        {HEAD "SlurmctldParameters=rl_refill_rate=many\n", "t.conf:2: ", "1 to 1000000"},
        {HEAD "SlurmctldParameters=rl_refill_period=-1\n", "t.conf:2: ", "1 to 86400"},
        {HEAD "AuthAltTypes=auth/munge\n", "t.conf:2: ", "'auth/munge' is not supported"},
        {HEAD "AuthAltParameters=jwks=/etc/slurm/jwks.json\n",
         "t.conf:2: ", "jwks= is not supported"},
        {HEAD "AuthAltParameters=use_jwt_client_ids_only\n",
         "t.conf:2: ", "use_jwt_client_ids_only is not supported"},
        {HEAD "AuthAltParameters=jwt_key=key\n", "t.conf:2: ", "jwt_key=key is not an absolute"},
        {HEAD "AuthAltParameters=jwt_key\n", "t.conf:2: ", "unknown or incomplete 'jwt_key'"},
        {HEAD "AuthAltParameters=max_token_lifespan=0\n",
         "t.conf:2: ", "invalid max_token_lifespan '0'"},
        {HEAD "AuthAltParameters=userclaimfield=\n", "t.conf:2: ", "userclaimfield= needs"},
        {HEAD "AuthAltParameters=userclaimfield=n\xc3\xa4me\n",
         "t.conf:2: ", "use printable ASCII"},
        {HEAD "AuthAltParameters=max_token_lifespan=3153600001\n",
         "t.conf:2: ", "seconds from 1 to 3153600000"},
        {HEAD "AuthAltParameters=disable_token_creation,magic\n",
         "t.conf:2: ", "unknown or incomplete 'magic'"},
        {HEAD "X11Parameters=home\n", "t.conf:2: ", "'home' is not one of"},
        {HEAD "SlurmctldParameters=rl_table_size=1x\n", "t.conf:2: ", "rl_table_size=1x"},
    };

    (void)state;
    test_refused(cases, COUNT(cases));
}

/* A filter that decides about jobs stays in force if another one in its list is missing. */
static void missing_filter_leaves_the_others_in_force(void **state)
{
    static const struct {
        const char *list, *used;
    } cases[] = {{"lua", "job_submit/lua"},
                 {"lua,throttle", "job_submit/lua"},
                 {"throttle,lua,magic", "job_submit/lua,job_submit/magic"},
                 {"job_submit/site-2,LUA,,none", "job_submit/site-2,job_submit/lua"},
                 {"../../tmp/x,a/b,lua", "job_submit/lua"},
                 {"none", NULL},
                 {"throttle", NULL}};

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "JobSubmitPlugins=%s\n", cases[i].list);
        struct conf *c = test_load(text, NULL);
        assert_true(str_eq(c->job_submit_plugins, cases[i].used));
        conf_free(c);
    }
}

static void invalid_controller_lines_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {"", "t.conf:1: ", "no SlurmctldHost"},
        {"ClusterName=x\n", "t.conf:1: ", "no SlurmctldHost"},
        {"BackupController=b\n", "t.conf:1: ", "without ControlMachine"},
        {"SlurmctldHost=\n", "t.conf:1: ", "expected NAME"},
        {"SlurmctldHost=(10.0.0.1)\n", "t.conf:1: ", "expected NAME"},
        {"SlurmctldHost=a(\n", "t.conf:1: ", "NAME(ADDRESS)"},
        {"SlurmctldHost=a()\n", "t.conf:1: ", "NAME(ADDRESS)"},
        {"SlurmctldHost=a(b)c\n", "t.conf:1: ", "NAME(ADDRESS)"},
        {"SlurmctldHost=a,b\n", "t.conf:1: ", "one host"},
        {HEAD "JobDefaults=DefCpuPerGPU=0\n", "t.conf:2: ", "a number from 1 to 65535"},
        {HEAD "JobDefaults=DefCpuPerGPU=2,DefMem=1\n", "t.conf:2: ", "'DefMem=1' is unknown"},
        {HEAD "JobDefaults=DefMemPerGPU=many\n", "t.conf:2: ", "many"},
        {"SlurmctldHost=a\nSlurmctldHost=A\n", "t.conf:2: ", "named twice"},
    };

    (void)state;
    test_refused(cases, COUNT(cases));
}

static void doubtful_keys_are_warned_about(void **state)
{
    static const struct test_refusal cases[] = {
        {HEAD "MaxJobCuont=5\n", "t.conf:2: ", "did you mean MaxJobCount?"},
        {HEAD "SlurmctldHots=x\n", "t.conf:2: ", "did you mean SlurmctldHost?"},
        {HEAD "Zzzzzzzzzz=5\n", "t.conf:2: ", "unknown key Zzzzzzzzzz is ignored"},
        {HEAD "RealMemory=5\n", "t.conf:2: ", "belongs on a NodeName"},
        {HEAD "KillWait=5\nKillWait=6\n", "t.conf:3: ", "first at t.conf:2"},
        {HEAD "ReconfigFlags=KeepPartInfo,KeepPowerSaveSettings\n",
         "t.conf:2: ", "ReconfigFlags: 'KeepPowerSaveSettings' has no effect"},
        {HEAD "GroupUpdateForce=0\n", "t.conf:2: ", "accepted for compatibility, has no effect"},
        {HEAD "SelectTypeParameter=CR_Core\n", "t.conf:2: ", "now called SelectTypeParameters"},
        {HEAD "CacheGroups=1\n", "t.conf:2: ", "earlier release"},
        {HEAD "AuthAltParameters=disable_token_creation\n",
         "t.conf:2: ", "no effect without AuthAltTypes=auth/jwt"},
        {HEAD "AuthAltTypes=auth/jwt\nAuthAltParameters=use_jwt_client_ids\n",
         "t.conf:3: ", "'use_jwt_client_ids' has no effect"},
        {HEAD "FastSchedule=1\n", "t.conf:2: ", "FastSchedule=1"},
        {HEAD "FastSchedule=2\n", "t.conf:2: ", "config_overrides"},
        {HEAD "FastSchedule=0\nSlurmdParameters=config_overrides\n",
         "t.conf:2: ", "no effect with SlurmdParameters=config_overrides"},
        {HEAD "ProctrackType=proctrack/magic\n",
         "t.conf:2: ", "unknown plugin; using proctrack/linuxproc"},
        {HEAD "SelectType=select/best\n", "t.conf:2: ", "using select/cons_tres"},
        {HEAD "AuthType=auth/munge\n", "t.conf:2: ", "using auth/slurm"},
        {HEAD "TaskPlugin=affinity,magic\n", "t.conf:2: ", "using those that are"},
        {HEAD "JobSubmitPlugins=pbs\n", "t.conf:2: ", "using those that are"},
        {HEAD "StateSaveStore=postgresql://u:pw@h/d\n", "t.conf:2: ", "?passfile=FILE"},
        {HEAD "StateSaveStore=postgres://h/d?password=pw\n", "t.conf:2: ", "?passfile=FILE"},
        {HEAD "SchedulerParameters=nohold_on_prolog_fail,bf_resolution=30\n",
         "t.conf:2: ", "SchedulerParameters: 'bf_resolution' has no effect"},
        {HEAD "SlurmctldParameters=rl_enable,cloud_dns\n",
         "t.conf:2: ", "SlurmctldParameters: 'cloud_dns' has no effect"},
        {HEAD "SlurmdParameters=config_overrides,contain_spank\n",
         "t.conf:2: ", "SlurmdParameters: 'contain_spank' has no effect"},
        {HEAD "SlurmdParameters=numa_node_as_socket,l3cache_as_socket\n",
         "t.conf:2: ", "l3cache_as_socket is used"},
        {HEAD "AuthInfo=ttl=60,use_client_ids\n",
         "t.conf:2: ", "AuthInfo: 'use_client_ids' has no effect"},
        {HEAD "SelectTypeParameters=CR_Core,CR_NO_DIST_TOPO_BLOCK\n",
         "t.conf:2: ", "SelectTypeParameters: 'CR_NO_DIST_TOPO_BLOCK' has no effect"},
        {HEAD "PriorityFlags=NO_FAIR_TREE,MAX_TRES,ACCRUE_ALWAYS\n",
         "t.conf:2: ", "PriorityFlags: 'NO_FAIR_TREE' has no effect"},
        {HEAD "JobAcctGatherParams=no_file_cache\n",
         "t.conf:2: ", "JobAcctGatherParams: 'no_file_cache' has no effect"},
        {HEAD "BcastParameters=send_libs,DestDir=/tmp,fanout=3\n",
         "t.conf:2: ", "BcastParameters: 'fanout' has no effect"},
        {HEAD "PrologFlags=Alloc,RunInJob\n", "t.conf:2: ", "'RunInJob' has no effect"},
        {HEAD "PrologFlags=Contain,DeferBatch\n", "t.conf:2: ", "'DeferBatch' has no effect"},
        {HEAD "PrologFlags=X11\n", "t.conf:2: ", "'X11' is treated as 'Contain'"},
        {HEAD CORES "JobAcctGatherParams=overmemorykill,UsePss\n",
         "t.conf:3: ", "'UsePss' has no effect"},
        {HEAD "SelectTypeParameters=CR_Core\nJobAcctGatherParams=OverMemoryKill\n",
         "t.conf:3: ", "no job is given memory"},
        {HEAD "PrivateData=usage,users\n", "t.conf:2: ", "'users' has no effect"},
        {HEAD "PriorityWeightFairshare=1\n", "t.conf:2: ", "PriorityWeightFairshare has no effect"},
        {HEAD "PriorityWeightAssoc=1\n", "t.conf:2: ", "PriorityWeightAssoc has no effect"},
        {HEAD "PriorityWeightQOS=1\n", "t.conf:2: ", "PriorityWeightQOS has no effect"},
        {HEAD "ControlMachine=old\n", "t.conf:2: ", "SlurmctldHost is given"},
        {HEAD "SlurmdPort=6817\n", "t.conf:2: ", "SlurmctldPort"},
        {HEAD "DefMemPerCPU=1\nDefMemPerNode=2\n", "t.conf:3: ", "DefMemPerCPU holds"},
        {HEAD "FrontendName=a\nFrontendName=b\n", "t.conf:2: ", "front end"},
        {HEAD "MetricsAuthUsers=root,no_such_user_here,12345\n",
         "t.conf:2: ", "MetricsAuthUsers: 'no_such_user_here' is no user of this host"},
    };

    (void)state;
    test_warned(cases, COUNT(cases));
}

static void usual_values_give_no_warning(void **state)
{
    static const char *const texts[] = {
        HEAD,
        HEAD "ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nMpiDefault=none\n",
        HEAD
        "accountingstoragetype=ACCOUNTING_STORAGE/NONE\nJobAcctGatherType=jobacct_gather/none\n",
        HEAD "SwitchType=switch/none\nProctrackType=pgid\nTopologyPlugin=topology/none\n",
        HEAD "GroupUpdateTime=600\nTrackWCKey=False\nPreemptMode=off\nSuspendTime=-1\n",
        HEAD "PriorityMaxAge\t=\t7-00:00:00\n",
        HEAD "FastSchedule=0\n",
        HEAD "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/k,userclaimfield=u,"
             "max_token_lifespan=9,DISABLE_TOKEN_CREATION\nX11Parameters=home_xauthority\n",
        HEAD "AuthAltTypes=jwt\nTCPTimeout=5\n",
        HEAD "StateSaveStore=\nStateSaveLocation=/a\n",
        HEAD "StateSaveStore=postgresql://u@[::1]:5432,h/d?passfile=/etc/slurm/pgpass\n",
        HEAD "PrologFlags=Contain\n",
        HEAD "PrologFlags=alloc,NoHold\nPrivateData=Usage,jobs,nodes,partitions,reservations\n",
        HEAD "JobAcctGatherType=jobacct_gather/linux\nJobAcctGatherFrequency=10\n",
        HEAD "JobAcctGatherType=jobacct_gather/cgroup\n",
        HEAD "PropagateResourceLimitsExcept=MEMLOCK,rlimit_nofile\nSrunEpilog=/bin/true\n",
        HEAD CORES "JobAcctGatherParams=OverMemoryKill\n",
        HEAD "JobAcctGatherParams=NoOverMemoryKill,OverMemoryKill\n",
        HEAD "ResvOverRun=5\nPreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
             "PreemptExemptTime=5\nPreemptParameters=youngest_first\n"
             "PartitionName=p Nodes=ALL GraceTime=5 PreemptMode=CANCEL\n",
    };

    (void)state;
    test_silent(texts, COUNT(texts));
}

static void over_memory_kill_follows_from_parameters(void **state)
{
    static const struct {
        const char *text;
        bool kill;
    } cases[] = {
        {CORES, false},
        {CORES "JobAcctGatherParams=OverMemoryKill\n", true},
        {CORES "JobAcctGatherParams=NoShared,overmemorykill\n", true},
        {CORES "JobAcctGatherParams=OverMemoryKill,NoOverMemoryKill\n", false},
        {"JobAcctGatherParams=OverMemoryKill\n", true}, /* memory is given by default */
        {"SelectType=select/linear\nJobAcctGatherParams=OverMemoryKill\n", false},
        {"SelectType=select/linear\nSelectTypeParameters=CR_Memory\n"
         "JobAcctGatherParams=OverMemoryKill\n",
         true},
        {"SelectTypeParameters=CR_Core\nJobAcctGatherParams=OverMemoryKill\n", false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "%s", cases[i].text);
        struct conf *c = test_load(text, NULL);

        print_message("%s\n", text);
        assert_int_equal(c->over_memory_kill, cases[i].kill);
        conf_free(c);
    }
}

static void some_defaults_derive_from_other_keys(void **state)
{
    static const struct {
        const char *text;
        unsigned cr;
        int64_t unkillable_sec;
    } cases[] = {
        {"", CONF_CR_CORE | CONF_CR_MEMORY, 60},
        {"MessageTimeout=12\n", CONF_CR_CORE | CONF_CR_MEMORY, 60},
        {"MessageTimeout=30\n", CONF_CR_CORE | CONF_CR_MEMORY, 150},
        {"MessageTimeout=30\nUnkillableStepTimeout=9\n", CONF_CR_CORE | CONF_CR_MEMORY, 9},
        {"SelectTypeParameters=CR_LLN\n", CONF_CR_LLN | CONF_CR_CORE | CONF_CR_MEMORY, 60},
        {"SelectTypeParameters=CR_CPU\n", CONF_CR_CPU, 60},
        {"SelectTypeParameters=CR_CPU,ONE_TASK_PER_SHARING_GRES\n",
         CONF_CR_CPU | CONF_CR_ONE_PER_SHARED, 60},
        {"SelectTypeParameters=CR_Memory\n", CONF_CR_MEMORY, 60},
        {"SelectType=select/linear\n", 0, 60},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "%s", cases[i].text);
        struct conf *c = test_load(text, NULL);

        print_message("%s\n", text);
        assert_int_equal(c->cr, cases[i].cr);
        assert_int_equal(c->unkillable_step_timeout_sec, cases[i].unkillable_sec);
        conf_free(c);
    }
}

static void gather_interval_is_that_of_tasks(void **state)
{
    static const struct {
        const char *text;
        int64_t sec;
    } cases[] = {
        {"30", 30},       {"0", 0},         {"task=7", 7}, {"energy=5,Task=9,network=1", 9},
        {"energy=5", 30}, {"86400", 86400},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *text = mem_printf(HEAD "JobAcctGatherFrequency=%s\n", cases[i].text);
        struct conf *c = test_load(text, NULL);

        assert_int_equal(c->job_acct_gather_sec, cases[i].sec);
        conf_free(c);
    }
}

static void keys_have_their_defaults(void **state)
{
    struct conf *c = test_load(HEAD, NULL);

    (void)state;
    assert_string_equal(c->cluster_name, "cluster");
    assert_string_equal(c->auth_type, "auth/slurm");
    assert_null(c->epilog);
    assert_int_equal(c->kill_wait_sec, 30);
    assert_int_equal(c->job_acct_gather_sec, 30);
    assert_int_equal(c->health_check_timeout_sec, 60);
    assert_int_equal(c->slurmctld_port, 6817);
    assert_int_equal(c->slurmctld_port_last, 6817);
    assert_int_equal(c->slurmd_port, 6818);
    assert_int_equal(c->slurm_uid, 0);
    assert_int_equal(c->select, CONF_SELECT_CONS);
    assert_int_equal(c->cr, CONF_CR_CORE | CONF_CR_MEMORY);
    assert_true(c->suspend_time_sec == CONF_UNLIMITED);
    assert_int_equal(c->preempt_exempt_time_sec, -1);
    assert_int_equal(c->priority_calc_period_sec, 300);
    assert_string_equal(c->socket_dirs[0], "/run/sluice/cluster-6817");
    assert_false(c->config_overrides);
    assert_int_equal(c->controllers.len, 1);
    assert_int_equal(c->nodes.len, 0);
    conf_free(c);
}

static void fast_schedule_selects_the_resources_of_nodes(void **state)
{
    static const struct {
        const char *lines;
        bool overrides, actual;
    } cases[] = {
        {HEAD, false, false},
        {HEAD "FastSchedule=0\n", false, true},
        {HEAD "FastSchedule=1\n", false, false},
        {HEAD "FastSchedule=2\n", true, false},
        {HEAD "SlurmdParameters=config_overrides\n", true, false},
        {HEAD "SlurmdParameters=config_overrides\nFastSchedule=0\n", true, false},
        {HEAD "SlurmdParameters=config_overrides\nFastSchedule=1\n", true, false},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct conf *c = test_load(cases[i].lines, NULL);
        if (c->config_overrides != cases[i].overrides || c->schedule_actual != cases[i].actual)
            fail_msg("%s: %d %d", cases[i].lines, c->config_overrides, c->schedule_actual);
        conf_free(c);
    }
}

static void values_are_read(void **state)
{
    struct conf *c = test_load("slurmctldhost=a(10.0.0.1)\nSLURMCTLDHOST=b\nClusterName=Sun\n"
                               "SlurmctldPort=7000-7003\nSelectType=select/cons_res\n"
                               "SelectTypeParameters=cr_core_memory,CR_LLN\n"
                               "SlurmUser=12345\nSlurmctldDebug=debug2\nDefMemPerCPU=2G\n"
                               "OverTimeLimit=UNLIMITED\nPriorityMaxAge=1-0\nJobRequeue=no\n"
                               "AuthInfo=ttl=30,socketdir=/tmp/s\nEpilog=\"/a b/c\"\n"
                               "SlurmdParameters=config_overrides\nMailProg=(null)\n"
                               "EnforcePartLimits=yes\nProctrackType=cgroup\n",
                               NULL);

    (void)state;
    assert_int_equal(c->controllers.len, 2);
    assert_string_equal(c->controllers.data[0].name, "a");
    assert_string_equal(c->controllers.data[0].addr, "10.0.0.1");
    assert_string_equal(c->controllers.data[0].own_addr, "10.0.0.1");
    assert_true(c->controllers.data[0].in_brackets);
    assert_string_equal(c->controllers.data[1].addr, "b");
    assert_false(c->controllers.data[1].in_brackets);
    assert_string_equal(c->cluster_name, "Sun");
    assert_int_equal(c->slurmctld_port, 7000);
    assert_int_equal(c->slurmctld_port_last, 7003);
    assert_string_equal(c->select_type, "select/cons_tres");
    assert_int_equal(c->cr, CONF_CR_CORE | CONF_CR_MEMORY | CONF_CR_LLN);
    assert_int_equal(c->slurm_uid, 12345);
    assert_int_equal(c->slurmctld_debug, 6);
    assert_int_equal(c->def_mem_per_cpu_mib, 2048);
    assert_true(c->over_time_limit_sec == CONF_UNLIMITED);
    assert_int_equal(c->priority_max_age_sec, 86400);
    assert_int_equal(c->job_requeue, 0);
    assert_int_equal(c->socket_dir_count, 1);
    assert_string_equal(c->socket_dirs[0], "/tmp/s");
    assert_string_equal(c->epilog, "/a b/c");
    assert_true(c->config_overrides);
    assert_null(c->mail_prog);
    assert_string_equal(c->enforce_part_limits, "ALL");
    assert_string_equal(c->proctrack_type, "proctrack/cgroup");
    _cleanup_free_ char *first = conf_socket_controller(&c->controllers.data[0]);
    _cleanup_free_ char *second = conf_socket_controller(&c->controllers.data[1]);
    _cleanup_free_ char *node = conf_socket_node("n1");
    _cleanup_free_ char *path = conf_socket_path(c, 0, node);
    assert_string_equal(first, "slurmctld");
    assert_string_equal(second, "slurmctld-1");
    assert_string_equal(path, "/tmp/s/slurmd-n1");
    conf_free(c);
}

/* In order: all daemons and commands of the cluster try the same ones. */
static void parameters_of_tokens_are_read_or_refused(void **state)
{
    struct conf *c = test_load(HEAD "StateSaveLocation=/s\n", NULL);

    (void)state;
    assert_false(c->auth_alt.jwt);
    assert_string_equal(c->auth_alt.jwt_key_path, "/s/jwt_hs256.key");
    assert_null(c->auth_alt.user_claim);
    conf_free(c);
    c = test_load(HEAD "AuthAltTypes=auth/jwt\nAuthAltParameters=jwt_key=/k,userclaimfield=u,"
                       "max_token_lifespan=9,disable_token_creation\n",
                  NULL);
    assert_true(c->auth_alt.jwt && c->auth_alt.disable_token_creation);
    assert_string_equal(c->auth_alt.jwt_key_path, "/k");
    assert_string_equal(c->auth_alt.user_claim, "u");
    assert_int_equal(c->auth_alt.max_token_lifespan_sec, 9);
    conf_free(c);
}

static void socket_directories(void **state)
{
    static const struct {
        const char *lines;
        const char *dirs[CONF_SOCKET_DIRS + 1];
    } cases[] = {
        {"",
         {"/run/sluice/cluster-6817", "/var/run/sluice-cluster-6817",
          "/var/spool/sluice-cluster-6817", "/var/spool/slurmctld/sockets"}},
        {"ClusterName=c\nSlurmctldPort=7000\nSlurmctldPidFile=/a/b/c.pid\nStateSaveLocation=/s//\n"
         "SlurmdPidFile=/d/%n/x.pid\n",
         {"/run/sluice/c-7000", "/a/b/sluice-c-7000", "/sluice-c-7000", "/s///sockets"}},
        {"SlurmdPidFile=/d/x.pid\nSlurmctldPidFile=/d/y.pid\nStateSaveLocation=/d/s\n",
         {"/run/sluice/cluster-6817", "/d/sluice-cluster-6817", "/d/s/sockets"}},
        {"AuthInfo=socketdir=/x\nSlurmctldPidFile=/a/b/c.pid\n", {"/x"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        _cleanup_free_ char *text = mem_printf("%s%s", HEAD, cases[i].lines);
        struct conf *c = test_load(text, NULL);
        size_t n = 0;
        for (; cases[i].dirs[n]; n++)
            assert_string_equal(c->socket_dirs[n], cases[i].dirs[n]);
        assert_int_equal(c->socket_dir_count, n);
        conf_free(c);
    }
}

static void last_of_repeated_keys_counts(void **state)
{
    struct conf *c = test_load(HEAD "KillWait=5\nkillwait=6\n", NULL);

    (void)state;
    assert_int_equal(c->kill_wait_sec, 6);
    conf_free(c);
}

static void old_controller_keys_are_read(void **state)
{
    struct conf *c =
        test_load("ControlMachine=a\nControlAddr=10.0.0.1\nBackupController=b\n", NULL);

    (void)state;
    assert_int_equal(c->controllers.len, 2);
    assert_string_equal(c->controllers.data[0].name, "a");
    assert_string_equal(c->controllers.data[0].addr, "10.0.0.1");
    assert_string_equal(c->controllers.data[1].name, "b");
    conf_free(c);
    c = test_load("SlurmctldHost=a\nSlurmctldHost=b(x)\nSlurmctldAddr=vip\n", NULL);
    assert_string_equal(c->controllers.data[0].addr, "vip");
    assert_string_equal(c->controllers.data[1].addr, "vip");
    assert_string_equal(c->controllers.data[0].own_addr, "a");
    assert_string_equal(c->controllers.data[1].own_addr, "x");
    conf_free(c);
}

/* The lookup and the listing rely on the order of the rows; every default must be a valid value. */
static void key_table_is_sorted_and_valid(void **state)
{
    (void)state;
    for (size_t i = 0; i < CONF_KEYS; i++) {
        struct conf_value v = {.text = conf_keys[i].def, .at = {"conf.def", (int)i}};
        struct conf c = {0};
        struct err err = {0};
        if (i > 0 && strcasecmp(conf_keys[i - 1].name, conf_keys[i].name) >= 0)
            fail_msg("%s is out of order", conf_keys[i].name);
        assert_int_equal(conf_key_find(conf_keys, CONF_KEYS, conf_keys[i].name), i);
        if (*v.text && conf_value_parse(&conf_keys[i], &v, &c, &err) < 0)
            fail_msg("default of %s: %s", conf_keys[i].name, err.text);
        assert_true(strlen(conf_keys[i].help) > 0);
    }
}

static void words_of_parameter_lists_are_found(void **state)
{
    static const struct {
        const char *list, *word;
        bool has;
        const char *value;
    } cases[] = {
        {NULL, "a", false, NULL},          {"", "a", false, NULL},    {"ab", "a", false, NULL},
        {"b,ab=1", "a", false, NULL},      {"a", "a", true, NULL},    {"b,A=2,c", "a", true, "2"},
        {"b, a=x=y ,c", "a", true, "x=y"}, {",,a=,c", "a", true, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        _cleanup_free_ char *value = conf_list_value(cases[i].list, cases[i].word);
        assert_int_equal(conf_list_has(cases[i].list, cases[i].word), cases[i].has);
        if (!str_eq(value, cases[i].value))
            fail_msg("case %zu: got %s", i, value ? value : "NULL");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_values_are_refused),
        cmocka_unit_test(invalid_controller_lines_are_refused),
        cmocka_unit_test(doubtful_keys_are_warned_about),
        cmocka_unit_test(usual_values_give_no_warning),
        cmocka_unit_test(over_memory_kill_follows_from_parameters),
        cmocka_unit_test(some_defaults_derive_from_other_keys),
        cmocka_unit_test(gather_interval_is_that_of_tasks),
        cmocka_unit_test(keys_have_their_defaults),
        cmocka_unit_test(fast_schedule_selects_the_resources_of_nodes),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(parameters_of_tokens_are_read_or_refused),
        cmocka_unit_test(socket_directories),
        cmocka_unit_test(last_of_repeated_keys_counts),
        cmocka_unit_test(old_controller_keys_are_read),
        cmocka_unit_test(missing_filter_leaves_the_others_in_force),
        cmocka_unit_test(key_table_is_sorted_and_valid),
        cmocka_unit_test(words_of_parameter_lists_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
