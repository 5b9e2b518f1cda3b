/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <stdlib.h>
#include <time.h>

#include "base/timefmt.h"
#include "show/show.h"

static const struct show_style lines = {0}, one = {.oneliner = true}, details = {.details = true};

static void fill_job(Pb__JobRecord *job, Pb__JobSpec *spec, Pb__JobLive *live)
{
    pb__job_record__init(job);
    pb__job_spec__init(spec);
    pb__job_live__init(live);
    job->spec = spec;
    job->live = live;
    spec->name = "sleeper";
    spec->user_name = spec->group_name = "ann";
    spec->uid = spec->gid = 1000;
    spec->has_batch = spec->batch = 1;
    spec->work_dir = "/w";
    spec->command = "/w/sl.sh";
    spec->comment = "hi";
    spec->alloc_host = "login";
    spec->alloc_sid = 4805;
    spec->has_num_tasks = 1;
    spec->num_tasks = 2;
    live->job_id = 1;
    live->state = PB__JOB_STATE__RUNNING;
    live->priority = 99;
    live->partition = "debug";
    live->submit_at = live->eligible_at = live->start_at = live->last_sched_at = 1000000000;
    live->has_time_limit_sec = 1;
    live->time_limit_sec = 600;
    live->nodes = "n[1-2]";
    live->batch_host = "n1";
    live->num_nodes = live->num_cpus = live->num_tasks = 2;
    live->has_mem_mib = 1;
    live->mem_mib = 8000;
}

static void test_running_job_is_shown(void **state)
{
    Pb__JobRecord job;
    Pb__JobSpec spec;
    Pb__JobLive live;
    _cleanup_str_ struct str out = STR_INIT;
    fill_job(&job, &spec, &live);
    show_job_text(&job, 1000000015, lines, &out);
    assert_string_equal(
        str_cstr(&out),
        "JobId=1 JobName=sleeper\n"
        "   UserId=ann(1000) GroupId=ann(1000) MCS_label=N/A\n"
        "   Priority=99 Nice=0 Account=(null) QOS=(null)\n"
        "   JobState=RUNNING Reason=None Dependency=(null)\n"
        "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=0:0\n"
        "   RunTime=00:00:15 TimeLimit=00:10:00 TimeMin=N/A\n"
        "   SubmitTime=2001-09-09T01:46:40 EligibleTime=2001-09-09T01:46:40\n"
        "   AccrueTime=2001-09-09T01:46:40\n"
        "   StartTime=2001-09-09T01:46:40 EndTime=2001-09-09T01:56:40 Deadline=N/A\n"
        "   SuspendTime=None SecsPreSuspend=0 LastSchedEval=2001-09-09T01:46:40 Scheduler=Main\n"
        "   Partition=debug AllocNode:Sid=login:4805\n"
        "   ReqNodeList=(null) ExcNodeList=(null)\n"
        "   NodeList=n[1-2]\n"
        "   BatchHost=n1\n"
        "   NumNodes=2 NumCPUs=2 NumTasks=2 CPUs/Task=1 ReqB:S:C:T=0:0:*:*\n"
        "   ReqTRES=cpu=2,node=2,billing=2\n"
        "   AllocTRES=cpu=2,mem=8000M,node=2,billing=2\n"
        "   Socks/Node=* NtasksPerN:B:S:C=0:0:*:* CoreSpec=*\n"
        "   MinCPUsNode=1 MinMemoryNode=0 MinTmpDiskNode=0\n"
        "   Features=(null) DelayBoot=00:00:00\n"
        "   OverSubscribe=OK Exclusive=NO Contiguous=0 Licenses=(null) "
        "Network=(null)\n"
        "   Command=/w/sl.sh\n"
        "   WorkDir=/w\n"
        "   Comment=hi\n"
        "   StdErr=/w/slurm-1.out\n"
        "   StdIn=/dev/null\n"
        "   StdOut=/w/slurm-1.out\n"
        "\n");
}

/* Optional lines, in their positions. */
static void test_job_with_many_options_is_shown(void **state)
{
    Pb__JobRecord job;
    Pb__JobSpec spec;
    Pb__JobLive live;
    _cleanup_str_ struct str out = STR_INIT;
    fill_job(&job, &spec, &live);
    spec.prefer = "fast&new";
    spec.has_req_switches = spec.has_wait_switch_sec = true;
    spec.req_switches = 1;
    spec.spread = true;
    spec.wait_switch_sec = 300;
    spec.mail_user = "ann";
    show_job_text(&job, 1000000015, lines, &out);
    assert_non_null(strstr(str_cstr(&out), "   Features=(null) DelayBoot=00:00:00\n"
                                           "   Prefer=fast&new\n"
                                           "   OverSubscribe=OK "));
    assert_non_null(strstr(str_cstr(&out), "   StdOut=/w/slurm-1.out\n"
                                           "   SpreadJob=Yes\n"
                                           "   Switches=1@00:05:00\n"
                                           "   MailUser=ann\n"));
}

static void test_pending_job_is_shown_on_one_line(void **state)
{
    Pb__JobRecord job;
    Pb__JobSpec spec;
    Pb__JobLive live;
    _cleanup_str_ struct str out = STR_INIT;
    fill_job(&job, &spec, &live);
    live.state = PB__JOB_STATE__PENDING;
    live.reason = "ReqNodeNotAvail, UnavailableNodes:n1";
    live.nodes = live.batch_host = NULL;
    live.start_at = 0;
    spec.name = "evil\033\nname";
    show_job_text(&job, 1000000015, one, &out);
    const char *text = str_cstr(&out);
    assert_ptr_equal(strchr(text, '\n'), text + out.len - 1);
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "  "));
    assert_non_null(strstr(text, " JobState=PENDING Reason=ReqNodeNotAvail,_UnavailableNodes:n1 "
                                 "Dependency=(null) "));
    assert_non_null(strstr(text, " StartTime=Unknown EndTime=Unknown "));
    assert_non_null(strstr(text, " NodeList= NumNodes="));
    assert_non_null(strstr(text, " AllocTRES=(null) "));
}

static void test_resources_on_each_node_are_shown(void **state)
{
    Pb__JobRecord job;
    Pb__JobSpec spec;
    Pb__JobLive live;
    Pb__NodeAlloc a = PB__NODE_ALLOC__INIT, b = a, c = a, d = a, *all[] = {&a, &b, &c, &d};
    uint8_t cores[] = {0x0b};
    _cleanup_str_ struct str out = STR_INIT;
    fill_job(&job, &spec, &live);
    a.node = "n1";
    b.node = "n2";
    c.node = "n3";
    a.cpus = b.cpus = 2;
    a.has_mem_mib = b.has_mem_mib = 1;
    a.mem_mib = b.mem_mib = 10;
    c.has_cores = 1;
    c.cores.data = cores;
    c.cores.len = 1;
    c.cpus = 3;
    d = c; /* the same bits, for cores with two CPUs each */
    d.node = "n4";
    d.has_cpus_per_core = 1;
    d.cpus_per_core = 2;
    d.cpus = 6;
    live.alloc = all;
    live.n_alloc = 4;
    show_job_text(&job, 0, details, &out);
    assert_non_null(strstr(str_cstr(&out), "\n     Nodes=n[1-2] CPU_IDs=0-1 Mem=10 GRES="
                                           "\n     Nodes=n3 CPU_IDs=0-1,3 Mem=0 GRES="
                                           "\n     Nodes=n4 CPU_IDs=0-3,6-7 Mem=0 GRES=\n"));
}

static void test_node_is_shown(void **state)
{
    Pb__NodeRecord n = PB__NODE_RECORD__INIT;
    _cleanup_str_ struct str out = STR_INIT, flat = STR_INIT;
    n.name = "n4";
    n.arch = "x86_64";
    n.cores = n.threads = n.boards = n.weight = 1;
    n.sockets = n.cpus = 4;
    n.has_cpu_load_centi = 1;
    n.cpu_load_centi = 102;
    n.features = "a,b";
    n.addr = n.hostname = "localhost";
    n.port = 27834;
    n.version = "26.05.0";
    n.real_memory_mib = 4000;
    n.has_free_mem_mib = 1;
    n.free_mem_mib = 23649;
    n.state = PB__NODE_BASE__NODE_IDLE;
    n.drain = 1;
    n.partitions = "debug,long";
    n.boot_at = n.daemon_start_at = n.last_busy_at = n.reason_at = 1000000000;
    n.reason = "my test reason";
    n.has_reason_uid = 1;
    show_node_text(&n, lines, &out);
    assert_string_equal(str_cstr(&out),
                        "NodeName=n4 Arch=x86_64 CoresPerSocket=1\n"
                        "   CPUAlloc=0 CPUEfctv=4 CPUTot=4 CPULoad=1.02\n"
                        "   AvailableFeatures=a,b\n"
                        "   ActiveFeatures=a,b\n"
                        "   Gres=(null)\n"
                        "   NodeAddr=localhost NodeHostName=localhost Port=27834 Version=26.05.0\n"
                        "   RealMemory=4000 AllocMem=0 FreeMem=23649 Sockets=4 Boards=1\n"
                        "   State=IDLE+DRAIN ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A "
                        "MCS_label=N/A\n"
                        "   Partitions=debug,long\n"
                        "   BootTime=2001-09-09T01:46:40 SlurmdStartTime=2001-09-09T01:46:40\n"
                        "   LastBusyTime=2001-09-09T01:46:40 ResumeAfterTime=None\n"
                        "   CfgTRES=cpu=4,mem=4000M,billing=4\n"
                        "   AllocTRES=\n"
                        "   CurrentWatts=0 AveWatts=0\n"
                        "   Reason=my test reason [root@2001-09-09T01:46:40]\n"
                        "\n");
    show_node_text(&n, one, &flat);
    n.bcast_addr = "ib4";
    str_clear(&out);
    show_node_text(&n, lines, &out);
    assert_non_null(strstr(str_cstr(&out), " Version=26.05.0\n   BcastAddr=ib4\n   RealMemory="));
    n.partitions = ""; /* a node in state FUTURE */
    n.gres_used = "gpu:1(IDX:0)";
    str_clear(&out);
    show_node_text(&n, details, &out);
    assert_non_null(
        strstr(str_cstr(&out),
               "   Gres=(null)\n   GresDrain=N/A\n   GresUsed=gpu:1(IDX:0)\n   NodeAddr="));
    assert_null(strstr(str_cstr(&out), "Partitions="));
    assert_ptr_equal(strchr(str_cstr(&flat), '\n'), str_cstr(&flat) + flat.len - 1);
}

static void test_partition_is_shown(void **state)
{
    Pb__PartRecord p = PB__PART_RECORD__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    p.name = "debug";
    p.nodes = "n[1-4]";
    p.node_sets = "ALL";
    p.is_default = 1;
    p.has_max_time_sec = 1;
    p.max_time_sec = 3600;
    p.priority_tier = p.priority_job_factor = 1;
    p.total_cpus = 16;
    p.total_nodes = 4;
    p.total_mem_mib = 16000;
    show_part_text(&p, lines, &out);
    assert_string_equal(
        str_cstr(&out),
        "PartitionName=debug\n"
        "   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL\n"
        "   AllocNodes=ALL Default=YES QoS=N/A\n"
        "   DefaultTime=NONE DisableRootJobs=NO Exclusive=NO GraceTime=0 Hidden=NO\n"
        "   MaxNodes=UNLIMITED MaxTime=01:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED "
        "MaxCPUsPerSocket=UNLIMITED\n"
        "   NodeSets=ALL\n"
        "   Nodes=n[1-4]\n"
        "   PriorityJobFactor=1 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=NO\n"
        "   OverTimeLimit=NONE PreemptMode=OFF\n"
        "   State=UP TotalCPUs=16 TotalNodes=4 SelectTypeParameters=NONE\n"
        "   JobDefaults=(null)\n"
        "   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED\n"
        "   TRES=cpu=16,mem=16000M,node=4,billing=16\n"
        "\n");
    p.nodes = "";
    p.total_nodes = p.total_cpus = 0;
    p.total_mem_mib = 0;
    str_clear(&out);
    show_part_text(&p, lines, &out);
    assert_non_null(strstr(str_cstr(&out), "\n   Nodes=(null)\n   PriorityJobFactor="));
    assert_non_null(strstr(str_cstr(&out), "\n   TRES=(null)\n"));
}

/* Members that are not in the text, or that differ from the text. */
static void test_json_members_differ_from_the_text(void **state)
{
    Pb__NodeRecord node = PB__NODE_RECORD__INIT;
    Pb__PartRecord part = PB__PART_RECORD__INIT;
    node.name = "n1";
    node.cpus = 8;
    node.alloc_cpus = 3;
    node.version = "26.05";
    part.name = "p";
    part.req_resv = true;
    json_t *n = show_node_json(&node, "c"), *p = show_part_json(&part, "c");
    assert_int_equal(json_integer_value(json_object_get(n, "idle_cpus")), 5);
    assert_string_equal(json_string_value(json_object_get(n, "slurmd_version")), "26.05");
    assert_true(json_is_true(json_object_get(p, "req_resv")));
    json_decref(n);
    json_decref(p);
}

static void test_step_is_shown(void **state)
{
    Pb__StepRecord s = PB__STEP_RECORD__INIT;
    _cleanup_str_ struct str out = STR_INIT;
    s.job_id = 6;
    s.state = PB__STEP_STATE__STEP_RUNNING;
    s.start_at = 1000000000;
    s.partition = "debug";
    s.nodes = "n[1-2]";
    s.name = "sleep";
    s.num_nodes = s.num_cpus = s.num_tasks = 2;
    s.host = "vm";
    s.srun_pid = 5184;
    s.distribution = "cyclic";
    static const char *const names[] = {"6.0", "5+1.0", "3_7.0", "3_7+1.0"};
    for (int i = 0; i < 4; i++) { /* of a job, a component, an element, a component of an element */
        _cleanup_str_ struct str name = STR_INIT;
        Pb__StepRecord other = s;
        other.has_array_job_id = i >= 2;
        other.array_job_id = 3;
        other.array_task_id = 7;
        other.has_set_id = i % 2;
        other.set_id = 5;
        other.set_offset = 1;
        show_put_step_id(&other, &name);
        assert_string_equal(str_cstr(&name), names[i]);
    }
    show_step_text(&s, lines, &out);
    assert_string_equal(str_cstr(&out),
                        "StepId=6.0 UserId=0 StartTime=2001-09-09T01:46:40 TimeLimit=UNLIMITED\n"
                        "   State=RUNNING Partition=debug NodeList=n[1-2]\n"
                        "   Nodes=2 CPUs=2 Tasks=2 Name=sleep Network=(null)\n"
                        "   TRES=cpu=2,node=2\n"
                        "   ResvPorts=(null)\n"
                        "   CPUFreqReq=Default Dist=Cyclic\n"
                        "   SrunHost:Pid=vm:5184\n"
                        "\n");
    /* Without --distribution the value depends on the number of tasks. */
    static const struct {
        uint32_t tasks;
        const char *shown;
    } usual[] = {{1, "Dist=Cyclic\n"}, {2, "Dist=Cyclic\n"}, {3, "Dist=Block\n"}};
    s.distribution = NULL;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
        s.num_tasks = usual[i].tasks;
        str_clear(&out);
        show_step_text(&s, lines, &out);
        assert_non_null(strstr(str_cstr(&out), usual[i].shown));
    }
}

/* As in Slurm the line is hidden before the start, and while PreemptMode is OFF. */
static void test_preemption_line_is_shown_as_in_slurm(void **state)
{
    static const struct {
        Pb__JobState is;
        bool preempts;
        int64_t exempt_sec, start_at, preempted_at;
        const char *shown;
    } v[] = {
        {PB__JOB_STATE__RUNNING, true, -1, 1000000000, 0,
         "\n   PreemptEligibleTime=2001-09-09T01:46:40 PreemptTime=None\n"},
        {PB__JOB_STATE__COMPLETED, true, 60, 1000000000, 1000000060,
         "\n   PreemptEligibleTime=2001-09-09T01:47:40 PreemptTime=2001-09-09T01:47:40\n"},
        {PB__JOB_STATE__RUNNING, false, 60, 1000000000, 0, NULL},
        {PB__JOB_STATE__PENDING, true, 60, 1000000000, 0, NULL},
        {PB__JOB_STATE__CANCELLED, true, 60, 0, 0, NULL},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        Pb__JobRecord job = PB__JOB_RECORD__INIT;
        Pb__JobSpec spec = PB__JOB_SPEC__INIT;
        Pb__JobLive live = PB__JOB_LIVE__INIT;
        struct show_style style = {.preempts = v[i].preempts,
                                   .preempt_exempt_sec = v[i].exempt_sec};
        _cleanup_str_ struct str out = STR_INIT;
        job.spec = &spec;
        job.live = &live;
        live.state = v[i].is;
        live.start_at = v[i].start_at;
        live.preempted_at = v[i].preempted_at;
        show_job_text(&job, 1000000100, style, &out);
        if (v[i].shown)
            assert_non_null(strstr(str_cstr(&out), v[i].shown));
        else
            assert_null(strstr(str_cstr(&out), "Preempt"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_job_is_shown),
        cmocka_unit_test(test_job_with_many_options_is_shown),
        cmocka_unit_test(test_pending_job_is_shown_on_one_line),
        cmocka_unit_test(test_resources_on_each_node_are_shown),
        cmocka_unit_test(test_node_is_shown),
        cmocka_unit_test(test_partition_is_shown),
        cmocka_unit_test(test_json_members_differ_from_the_text),
        cmocka_unit_test(test_step_is_shown),
        cmocka_unit_test(test_preemption_line_is_shown_as_in_slurm),
    };
    setenv("TZ", "UTC", 1);
    tzset();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
