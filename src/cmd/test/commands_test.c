/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whole commands against a test controller. Arguments: the directory in which the commands were
 * built, each in a folder of its own name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "cmd/test/test_cluster.h"
#include "cmd/test/test_controller.h"

static const char *build_dir;

struct vector {
    const char *tool, *line;
    int status;
    const char *out, *err; /* NULL: empty; "~x": contains x; otherwise an exact match */
};

static void check_vector(const char *what, const struct vector *v, const char *wanted,
                         const struct str *got)
{
    bool has = !wanted          ? got->len == 0
               : *wanted == '~' ? strstr(str_cstr(got), wanted + 1) != NULL
                                : str_eq(wanted, str_cstr(got));
    if (!has)
        fail_msg("%s %s: %s is\n%s\nand not\n%s", v->tool, v->line, what, str_cstr(got),
                 wanted ? wanted : "");
}

static void run_vector(const struct vector *v, const char *input)
{
    struct test_play p;
    _cleanup_free_ char *program = mem_printf("%s/%s/%s", build_dir, v->tool, v->tool);
    test_play_start(&p, program, v->line);
    if (input)
        assert_int_equal(write(p.in, input, strlen(input)), strlen(input));
    test_play_finish(&p);
    check_vector("standard output", v, v->out, &p.out_text);
    check_vector("standard error", v, v->err, &p.err_text);
    if (p.status != v->status)
        fail_msg("%s %s: status %d", v->tool, v->line, p.status);
    test_play_done(&p);
}

static void run_all(const struct vector *v, size_t count)
{
    for (size_t i = 0; i < count; i++)
        run_vector(&v[i], NULL);
}
#define RUN_ALL(vectors) run_all(vectors, sizeof(vectors) / sizeof(vectors[0]))

#define HEADER                                                                                     \
    "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)\n"
#define EVIL "                 2      main evil\\033      ann PD       0:00      1 (JobHeldUser)\n"
#define SLEEPER "                 1      main  sleeper      ann  R       0:15      2 n[1-2]\n"

static void test_squeue_prints_jobs(void **state)
{
    static const struct vector v[] = {
        {"squeue", "", 0, HEADER EVIL SLEEPER, NULL},
        {"squeue", "-h -o %i|%j|%T", 0, "2|evil\\033[31mname|PENDING\n1|sleeper|RUNNING\n", NULL},
        {"squeue", "-h -o %i -S -i", 0, "2\n1\n", NULL},
        {"squeue", "-h -o %i -S i -t all", 0, "1\n2\n3\n", NULL},
        {"squeue", "-h -o %i -S i,zz", 1, NULL, "squeue: error: Invalid sort specification: zz\n"},
        {"squeue", "-h -o %i -t RUN", 0, "1\n", NULL},
        {"squeue", "-h -o %i -t F,CD", 0, "3\n", NULL},
        {"squeue", "-h -o %i -t CG", 0, NULL, NULL},
        {"squeue", "-h -o %i -t CF", 0, NULL, NULL},
        {"squeue", "-h -o %i -n sleeper", 0, "1\n", NULL},
        {"squeue", "-h -o %i -A phys", 0, "1\n", NULL},
        {"squeue", "-h -o %i -u 4242", 0, "2\n", NULL},
        {"squeue", "-h -o %i -j 1,2 -t PD", 0, "2\n", NULL},
        {"squeue", "-h -j 3", 0, NULL, NULL},
        {"squeue", "-j 99", 1, NULL, "slurm_load_jobs error: Invalid job id specified\n"},
        {"squeue", "-h -j 1,99 -o %i", 0, "1\n", NULL},
        {"squeue", "-j x", 1, NULL, "squeue: error: Invalid job id: x\n"},
        {"squeue", "-t FOO", 1, NULL, "~squeue: error: Invalid job state specified: FOO\n"},
        {"squeue", "-h -p nosuch,main -o %i", 0, "~1\n", NULL},
        {"squeue", "-w nosuch", 1, NULL, "squeue: error: Invalid node name nosuch\n"},
        {"squeue", "-s -w n1,n[7-8]", 1, NULL, "squeue: error: Invalid node name n7\n"},
        {"squeue", "-w n[1-", 1, NULL, "squeue: error: Invalid node name n[1-\n"},
        {"squeue", "-h -w n[1-2],n1 -o %i", 0, "~1\n", NULL},
        {"squeue", "-h -u no_such_user_here", 0, NULL,
         "squeue: error: Invalid user: no_such_user_here\n"},
        {"squeue", "-s", 0,
         "         STEPID     NAME PARTITION     USER      TIME NODELIST\n"
         "            1.0    sleep      main     root      0:15 n[1-2]\n"
         "        1.batch    batch      main     root      0:15 n1\n",
         NULL},
        {"squeue", "-h -t all -o %i,%r,%R -S i", 0,
         "1,None,n[1-2]\n2,JobHeldUser,(JobHeldUser)\n3,NonZeroExitCode,(NonZeroExitCode)\n", NULL},
        {"squeue", "-j 1 -O JobID:10,Name:8,StateCompact", 0,
         "JOBID     NAME    ST                  \n1         sleeper R                   \n", NULL},
        {"squeue", "--json", 0, "~\"job_state\": [\n        \"RUNNING\"\n      ]", NULL},
        {"squeue", "-s --json", 0,
         "~{\n  \"steps\": [\n    {\n      \"time\": {\n        \"elapsed\": 15,\n", NULL},
        {"squeue", "-s --json", 0,
         "~          \"step_id\": \"0\"\n        },\n        \"name\": \"sleep\"\n      },\n",
         NULL},
        {"squeue", "--yaml", 0, "~\n  job_state:\n  - RUNNING\n", NULL},
        {"squeue", "-M t -j 1", 0, "CLUSTER: t\n" HEADER SLEEPER, NULL},
        {"squeue", "-M t -h -j 1 -o %i", 0, "1\n", NULL},
        {"squeue", "-M other", 1, NULL, "~squeue: error: No cluster 'other' known"},
        {"squeue", "--foo", 1, NULL,
         "squeue: unrecognized option '--foo'\nTry \"squeue --help\" for more information\n"},
        {"squeue", "-V", 0, "slurm 26.05.0\n", NULL},
        {"squeue", "--help", 0, "~  -j, --jobs[=list] ", NULL},
        {"squeue", "--usage", 0, "~Usage: squeue [--account=list]", NULL},
    };
    RUN_ALL(v);
}

static void test_sinfo_prints_nodes(void **state)
{
    static const struct vector v[] = {
        {"sinfo", "", 0,
         "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
         "main*        up   infinite      1  drain n4\n"
         "main*        up   infinite      2    mix n[1-2]\n"
         "main*        up   infinite      1   idle n3\n"
         "off        down   infinite      1  drain n4\n",
         NULL},
        {"sinfo", "-s -h", 0,
         "main*        up   infinite          2/1/1/4 n[1-4]\n"
         "off        down   infinite          0/0/1/1 n4\n",
         NULL},
        {"sinfo", "-h -N -p main -o %N -e -t idle", 0, "n3\nn4\n", NULL},
        {"sinfo", "-h -N -p main -o %N -e -t idle&drain", 0, "n4\n", NULL},
        {"sinfo", "-h -o %D", 0, "4\n", NULL},
        {"sinfo", "-M t -o %D", 0, "CLUSTER: t\nNODES\n4\n", NULL},
        {"sinfo", "-h -t idle -o %P|%D|%t|%N", 0,
         "main*|1|drain|n4\nmain*|1|idle|n3\noff|1|drain|n4\n", NULL},
        {"sinfo", "-h -t mix -o %P|%D|%t|%N", 0, "main*|2|mix|n[1-2]\noff|0|n/a|\n", NULL},
        {"sinfo", "-h -R -o %E|%N", 0, "loose cable|n4\n", NULL},
        {"sinfo", "-h -N -o %N|%t", 0, "n1|mix\nn2|mix\nn3|idle\nn4|drain\nn4|drain\n", NULL},
        {"sinfo", "-h -p nosuch", 0, NULL, NULL},
        {"sinfo", "-T", 0, "No reservations in the system\n", NULL},
        {"sinfo", "-T --json", 0, "~{\n  \"reservations\": [],\n", NULL},
        {"sinfo", "-h -S -P -p main,off -o %R", 0, "off\nmain\n", NULL},
        {"sinfo", "-h -p off -O Partition:6,StateLong:.8", 0, "off    drained\n", NULL},
        {"sinfo", "-t foo", 1, NULL, "~sinfo: error: Bad state string: \"foo\"\n"},
        {"sinfo", "--json -p off", 0,
         "~{\n  \"sinfo\": [\n    {\n      \"port\": 0,\n      \"node\": {\n        \"state\": [\n"
         "          \"IDLE\",\n          \"DRAIN\"\n        ]\n      },\n      \"nodes\": {\n"
         "        \"allocated\": 0,\n        \"idle\": 0,\n        \"other\": 1,\n",
         NULL},
        {"sinfo", "--json -p off -t mix", 0, "~\n  \"nodes\": [],\n", NULL},
        {"sinfo", "--json", 0,
         "~\"name\": \"n4\",\n      \"state\": [\n        \"IDLE\",\n"
         "        \"DRAIN\"\n      ]",
         NULL},
        {"sinfo", "--foo", 1, NULL, "~sinfo: unrecognized option '--foo'\n"},
        {"sinfo", "-V", 0, "slurm 26.05.0\n", NULL},
    };
    RUN_ALL(v);
}

static void expect_asked(const char *wanted)
{
    _cleanup_free_ char *asked = test_controller_asked();
    assert_string_equal(asked, wanted);
}

static void test_scancel_sends_requests(void **state)
{
    static const struct vector refused[] = {
        {"scancel", "", 1, NULL, "scancel: error: No job identification provided\n"},
        {"scancel", "x", 1, NULL, "scancel: error: Invalid job id x\n"},
        {"scancel", "-s FOO 1", 1, NULL, "Unknown job signal: FOO\n"},
        {"scancel", "-t foo", 1, NULL,
         "Invalid job state specified: foo\nValid job states are PENDING, RUNNING, and "
         "SUSPENDED\n"},
        {"scancel", "99", 0, NULL,
         "scancel: error: Kill job error on job id 99: Invalid job id specified\n"},
        {"scancel", "3", 0, NULL, NULL},
        {"scancel", "-v 3", 0, NULL,
         "scancel: Terminating job 3\n"
         "scancel: error: Kill job error on job id 3: Job/step already completing or completed\n"},
        {"scancel", "-s 10 3", 1, NULL,
         "scancel: error: Kill job error on job id 3: Job/step already completing or completed\n"},
        {"scancel", "1 99.0", 1, NULL,
         "scancel: error: Kill job error on job step id 99.0: Invalid job id specified\n"},
        {"scancel", "-Q 99 3", 0, NULL, NULL},
        {"scancel", "-A nosuch", 0, NULL, NULL},
        {"scancel", "-v -A nosuch", 0, NULL, "scancel: No active jobs match all filters\n"},
    };
    static const struct {
        struct vector v;
        const char *asked;
    } done[] = {
        {{"scancel", "1", 0, NULL, NULL},
         "targets=1 signal=-1 batch=0 full=0 filter=0 uids=0 names=0 states=0"},
        {{"scancel", "-v -s sigusr1 -b 1.0 1", 0, NULL,
          "scancel: Signal 10 to step 1.0\nscancel: Signal 10 to batch job 1\n"},
         "targets=2 signal=10 batch=1 full=0 filter=0 uids=0 names=0 states=0"},
        {{"scancel", "-u root -t PD,R", 0, NULL, NULL},
         "targets=0 signal=-1 batch=0 full=0 filter=1 uids=1 names=0 states=2"},
        {{"scancel", "-A phys", 0, NULL, NULL},
         "targets=1 signal=-1 batch=0 full=0 filter=0 uids=0 names=0 states=0"},
        {{"scancel", "-f -s 9 -n sleeper", 0, NULL, NULL},
         "targets=0 signal=9 batch=0 full=1 filter=1 uids=0 names=1 states=0"},
    };
    RUN_ALL(refused);
    for (size_t i = 0; i < sizeof(done) / sizeof(done[0]); i++) {
        run_vector(&done[i].v, NULL);
        expect_asked(done[i].asked);
    }
}

static void test_scancel_asks_for_confirmation(void **state)
{
    static const struct vector v = {"scancel", "-i -u root", 0,
                                    "Cancel job_id=1 name=sleeper partition=main [y/n]? ", NULL};
    run_vector(&v, "y\n");
    expect_asked("targets=1 signal=-1 batch=0 full=0 filter=0 uids=0 names=0 states=0");
    run_vector(&v, "n\n");
    run_vector(&v, ""); /* the end of input counts as no */
}

static void test_scontrol_shows_records(void **state)
{
    static const struct vector v[] = {
        {"scontrol", "show job 1", 0, "~JobId=1 JobName=sleeper\n   UserId=ann(0) ", NULL},
        {"scontrol", "-o show job 2", 0, "~JobId=2 JobName=evil\\033[31mname UserId=", NULL},
        {"scontrol", "show job 99", 1, NULL, "slurm_load_jobs error: Invalid job id specified\n"},
        {"scontrol", "show job 3 --json", 0,
         "~\"return_code\": {\n          \"set\": true,\n"
         "          \"infinite\": false,\n"
         "          \"number\": 3\n",
         NULL},
        {"scontrol", "show step 1.0", 0, "~StepId=1.0 UserId=0 ", NULL},
        {"scontrol", "show step 1.7", 1, "Job step 1.7 not found\n", NULL},
        {"scontrol", "show node n4", 0, "~   State=IDLE+DRAIN ThreadsPerCore=1 ", NULL},
        {"scontrol", "show node n[1-2] -o", 0, "~NodeName=n2 ", NULL},
        {"scontrol", "show node nosuch", 1, "Node nosuch not found\n", NULL},
        {"scontrol", "show nodes --yaml", 0, "~\n  state:\n  - MIXED\n", NULL},
        {"scontrol", "show partition off", 0, "~PartitionName=off\n   AllowGroups=ALL ", NULL},
        {"scontrol", "show partition nosuch", 1, "Partition nosuch not found\n", NULL},
        {"scontrol", "show config KillWait", 0,
         "Epilog                  = (null)\nKillWait                = 1 sec\n", NULL},
        {"scontrol", "show config --json", 0,
         "~\n  \"config\": {\n    \"Epilog\": null,\n    \"KillWait\": \"1 sec\"\n  },\n", NULL},
        {"scontrol", "show reservation", 0, "No reservations in the system\n", NULL},
        {"scontrol", "-Q show reservation", 0, NULL, NULL},
        {"scontrol", "show reservation nosuch", 1, "Reservation nosuch not found\n", NULL},
        {"scontrol", "show res --json", 0, "~{\n  \"reservations\": [],\n", NULL},
        {"scontrol", "show licenses", 0, "No licenses configured in Slurm.\n", NULL},
        {"scontrol", "show lic --yaml", 0, "~licenses: []\n", NULL},
        {"scontrol", "show config", 0,
         "Epilog                  = (null)\nKillWait                = 1 sec\n\nSlurmctld(primary) "
         "at localhost is UP\n",
         NULL},
        {"scontrol", "wait_job 1", 0, NULL, "scontrol: Nodes are ready for job 1\n"},
        {"scontrol", "completing", 0, NULL, NULL},
        {"scontrol", "help", 0, "~not available in this version:\n  fsdampeningfactor ", NULL},
        {"scontrol", "show hostnames n[01-03],x", 0, "n01\nn02\nn03\nx\n", NULL},
        {"scontrol", "show hostnames [6820]", 0, "6820\n", NULL},
        {"scontrol", "show hostlist 1,2,3", 0, "[1-3]\n", NULL},
        {"scontrol", "show hostlistsorted n3,n1,n2", 0, "n[1-3]\n", NULL},
        {"scontrol", "show foo", 1, NULL, "invalid entity:foo for keyword:show\n"},
        {"scontrol", "show", 1, NULL, "too few arguments for keyword:show\n"},
        {"scontrol", "show job 1 2", 1, NULL, "too many arguments for keyword:show\n"},
    };
    RUN_ALL(v);
}

static void test_scontrol_refuses_invalid_commands(void **state)
{
    static const struct vector v[] = {
        {"scontrol", "foo", 1, NULL, "invalid keyword: foo\n"},
        {"scontrol", "power up n1", 1, NULL,
         "scontrol: error: power is not available in this version\n"},
        {"scontrol", "token 1", 1, NULL,
         "invalid token argument '1': use lifespan=SECONDS, lifespan=infinite or username=USER\n"},
        {"scontrol", "token a b c", 1, NULL, "too many arguments for keyword:token\n"},
        {"scontrol", "fsdampeningfactor 3", 1, NULL,
         "scontrol: error: fsdampeningfactor is not available in this version; see "
         "FairShareDampeningFactor in slurm.conf, and 'scontrol reconfigure'\n"},
        {"scontrol", "setdebugflags backfill", 1, NULL, "invalid debug flag: backfill\n"},
        {"scontrol", "setdebugflags +backfill -magic", 1, NULL, "invalid debug flag: -magic\n"},
        {"scontrol", "update StepId=1.0 TimeLimit=5", 0, NULL, NULL},
        {"scontrol", "update StepId=1.x TimeLimit=5", 1, NULL,
         "Invalid job step id specified for step 1.x\n"},
        {"scontrol", "update StepId=1.0", 1, NULL, "No changes specified\n"},
        {"scontrol", "update StepId=1.0 Name=x", 1, NULL,
         "Update of this parameter is not supported: Name=x\nRequest aborted\n"},
        {"scontrol", "show slurmd", 1, NULL,
         "slurm_load_slurmd_status error: no node daemon runs on this host\n"},
        {"scontrol", "show resources", 0, "---\n", NULL},
        {"scontrol", "show resources=power", 1, NULL,
         "scontrol: error: no hierarchical resource 'power'\n"},
        {"scontrol", "--uid=1 hold 1", 1, NULL,
         "scontrol: error: --uid=1 is not supported: run scontrol as that user\n"},
        {"scontrol", "--uid=nobody_at_all hold 1", 1, NULL,
         "scontrol: error: invalid --uid 'nobody_at_all': there is no such user\n"},
        {"scontrol", "show assoc_mgr", 0, "~No associations currently cached in Slurm.\n", NULL},
        {"scontrol", "show federation", 0, NULL, NULL},
        {"scontrol", "setdebug", 1, NULL, "too few arguments for keyword:setdebug\n"},
        {"scontrol", "setdebug loud", 1, NULL, "invalid debug level: loud\n"},
        {"scontrol", "setdebug 10", 1, NULL, "invalid debug level: 10\n"},
        {"scontrol", "update SlurmctldDebug=loud", 1, NULL, "invalid debug level: loud\n"},
        {"scontrol", "errnumstr", 1, NULL, "too few arguments for keyword:errnumstr\n"},
        {"scontrol", "errnumstr x", 1, NULL, "numeric arguments required for keyword:errnumstr\n"},
        {"scontrol", "errnumstr 99999999999", 1, NULL,
         "numeric arguments required for keyword:errnumstr\n"},
        {"scontrol", "requeuehold 99", 1, NULL, "Invalid job id specified for job 99\n"},
        {"scontrol", "requeuehold State=Other 1", 1, NULL,
         "State=Other: only requeuehold takes a state, and that is SpecialExit\n"},
        {"scontrol", "requeue State=SpecialExit 1", 1, NULL,
         "State=SpecialExit: only requeuehold takes a state, and that is SpecialExit\n"},
        {"scontrol", "requeue Incomplete", 1, NULL, "too few arguments for keyword:requeue\n"},
        {"scontrol", "hold 99", 1, NULL, "Invalid job id specified for job 99\n"},
        {"scontrol", "hold", 1, NULL, "too few arguments for keyword:hold\n"},
        {"scontrol", "update JobId=1", 1, NULL, "No changes specified\n"},
        {"scontrol", "update JobId=1 BatchHost=n1", 1, NULL,
         "Update of this parameter is not supported: BatchHost=n1\nRequest aborted\n"},
        {"scontrol", "update JobId=99 Nice=1", 1, NULL, "Invalid job id specified for job 99\n"},
        {"scontrol", "update JobId=1 TimeLimit=soon", 1, NULL,
         "Invalid value: TimeLimit=soon\nRequest aborted\n"},
        {"scontrol", "update NodeName=n1 RealMemory=5", 1, NULL,
         "Update of this parameter is not supported: RealMemory=5\nRequest aborted\n"},
        {"scontrol", "update NodeName=n1 State=DRAIN", 1, NULL,
         "You must specify a reason when DOWNING or DRAINING a node. Request denied\n"},
        {"scontrol", "update NodeName=n1 State=POWER_UP", 1, NULL,
         "~Invalid input: State=POWER_UP\n"},
        {"scontrol", "update NodeName=nosuch State=RESUME", 1, NULL,
         "slurm_update error: Invalid node name specified\n"},
        {"scontrol", "update node=nosuch State=RESUME", 1, NULL,
         "slurm_update error: Invalid node name specified\n"},
        {"scontrol", "update no=n1 State=RESUME", 1, NULL, "~No valid entity in update command\n"},
        {"scontrol", "update Foo=1", 1, NULL, "~No valid entity in update command\n"},
        {"scontrol", "write batch_script 2 -", 1, NULL,
         "job script retrieval failed: Access/permission denied\n"},
        {"scontrol", "write config a b", 1, NULL, "too many arguments for keyword:write\n"},
        {"scontrol", "write batch_script", 1, NULL, "too few arguments for keyword:write\n"},
        {"scontrol", "write foo", 1, NULL, "invalid write argument:foo\n"},
        {"scontrol", "write config /nonexistent/x", 1, NULL,
         "~scontrol: error: cannot open directory /nonexistent: "},
        {"scontrol", "wait_job", 1, NULL, "too few arguments for keyword:wait_job\n"},
        {"scontrol", "wait_job a", 1, NULL, "Invalid job_id a\n"},
        {"scontrol", "wait_job 3", 1, NULL, "scontrol: Job 3 no longer running\n"},
        {"scontrol", "wait_job 99", 1, NULL, "scontrol: Problem running job 99\n"},
        {"scontrol", "completing 1", 1, NULL, "too many arguments for keyword:completing\n"},
        {"scontrol", "shutdown foo", 1, NULL, "invalid shutdown argument:foo\n"},
        {"scontrol", "ping extra", 1, NULL, "too many arguments for keyword:ping\n"},
    };
    RUN_ALL(v);
}

static void test_scontrol_sends_changes(void **state)
{
    static const struct {
        struct vector v;
        const char *asked;
    } done[] = {
        {{"scontrol", "hold 1", 0, NULL, NULL},
         "job=1 hold=1/1 user_hold=0 requeue=0 priority=0/0 name=- limit=0 nice=0"},
        {{"scontrol", "release 1,2", 0, NULL, NULL},
         "job=2 hold=1/0 user_hold=0 requeue=0 priority=0/0 name=- limit=0 nice=0"},
        {{"scontrol", "uhold JobName=sleeper", 0, NULL, NULL},
         "job=1 hold=0/0 user_hold=1 requeue=0 priority=0/0 name=- limit=0 nice=0"},
        {{"scontrol", "requeue 1", 0, NULL, NULL},
         "job=1 hold=0/0 user_hold=0 requeue=1 priority=0/0 name=- limit=0 nice=0"},
        {{"scontrol", "requeuehold 1", 0, NULL, NULL},
         "job=1 hold=1/1 user_hold=0 requeue=1 priority=0/0 name=- limit=0 nice=0"},
        {{"scontrol", "requeuehold incomplete 3,1,2", 0, NULL, NULL},
         "job=1 hold=1/1 user_hold=0 requeue=1 priority=0/0 name=- limit=0 nice=0"},
        {{"scontrol", "update node=n1 state=resume", 0, NULL, NULL},
         "nodes=n1 state=RESUME reason=-"},
        {{"scontrol", "update state=idle nod=n2", 0, NULL, NULL}, "nodes=n2 state=IDLE reason=-"},
        {{"scontrol", "update part=main state=up", 0, NULL, NULL}, "part=main state=UP max=0"},
        {{"scontrol", "setdebug Debug2", 0, NULL, NULL}, "level=6"},
        {{"scontrol", "setdebug 9", 0, NULL, NULL}, "level=7"},
        {{"scontrol", "setdebugflags +backfill -Gang", 0, NULL, NULL}, "flags=+backfill,-Gang"},
        {{"scontrol", "schedloglevel enable", 0, NULL, NULL}, "sched_log=1"},
        {{"scontrol", "schedloglevel 0", 0, NULL, NULL}, "sched_log=0"},
        {{"scontrol", "update slurmctlddebug=error", 0, NULL, NULL}, "level=2"},
        {{"scontrol", "update jobid=1 JobName=after TimeLimit=5 Nice=10", 0, NULL, NULL},
         "job=1 hold=0/0 user_hold=0 requeue=0 priority=0/0 name=after limit=300 nice=10"},
        {{"scontrol", "update job=1 TimeLimit=+5 Priority=7", 0, NULL, NULL},
         "job=1 hold=0/0 user_hold=0 requeue=0 priority=1/7 name=- limit=900 nice=0"},
        {{"scontrol", "update NodeName=n[1-2] State=drai Reason=x", 0, NULL, NULL},
         "nodes=n[1-2] state=DRAIN reason=x"},
        {{"scontrol", "update PartitionName=main State=down MaxTime=30", 0, NULL, NULL},
         "part=main state=DOWN max=1800"},
        {{"scontrol", "shutdown slurmctld", 0, NULL, NULL}, "controller_only=1"},
        {{"scontrol", "shutdown", 0, NULL, NULL}, "controller_only=0"},
    };
    static const struct vector told[] = {
        {"scontrol", "reconfigure", 0, "MaxJobCount: 10 -> 77\n", NULL},
        {"scontrol", "ping", 0, "Slurmctld(primary) at localhost is UP\n", NULL},
        {"scontrol", "ping --json", 0,
         "~{\n  \"pings\": [\n    {\n      \"hostname\": \"localhost\",\n      "
         "\"pinged\": \"UP\",\n      \"responding\": true,",
         NULL},
        {"scontrol", "ping --yaml", 0, "~pinged: UP", NULL},
        {"scontrol", "version --json", 0, "slurm 26.05.0\n",
         "scontrol: error: --json has no effect on 'version'\n"},
        {"scontrol", "show hostnames a --yaml", 0, "a\n",
         "scontrol: error: --yaml has no effect on 'show hostnames'\n"},
        {"scontrol", "show aliases", 1, NULL,
         "scontrol: error: no node has the name of this host as its NodeHostname\n"},
        {"scontrol", "schedloglevel 2", 1, NULL, "~invalid schedlog level: 2"},
        {"scontrol", "power up n1", 1, NULL, "~power is not available in this version"},
        {"scontrol", "update PartitionName=main AllowQos=x", 1, NULL, "~accounting"},
        {"scontrol", "write batch_script 1 -", 0, "#!/bin/sh\necho kept\n", NULL},
        {"scontrol", "version", 0, "slurm 26.05.0\n", NULL},
        {"scontrol", "errnumstr 2017", 0, "Invalid job id specified\n", NULL},
        {"scontrol", "errnumstr 2", 0, "No such file or directory\n", NULL},
        {"scontrol", "errnumstr 999999", 0, "Unknown error 999999\n", NULL},
    };
    for (size_t i = 0; i < sizeof(done) / sizeof(done[0]); i++) {
        run_vector(&done[i].v, NULL);
        expect_asked(done[i].asked);
    }
    RUN_ALL(told);
}

static void test_scontrol_reads_commands_from_a_dialogue(void **state)
{
    static const struct vector v = {"scontrol", "-Q", 1, "slurm 26.05.0\na[1-2]\n",
                                    "invalid keyword: frob\n"};
    run_vector(&v, "version\nfrob\nshow hostlist a1,a2\nexit\nversion\n");
    run_vector(&(struct vector){"scontrol", "-Q", 0, NULL, NULL},
               "update NodeName=n1 State=DRAIN Reason=\"loose cable\"\n");
    expect_asked("nodes=n1 state=DRAIN reason=loose cable");
}

static void test_sbatch_submits_a_script(void **state)
{
    static const char script[] = "#!/bin/sh\n#SBATCH -n 3 -J named\nhostname\n";
    char file[128];
    snprintf(file, sizeof(file), "%s/job.sh", test_controller_dir);
    assert_int_equal(path_write_file(file, script, strlen(script), 0644, NULL), 0);
    _cleanup_free_ char *with_arguments = mem_printf("-p main %s -n 9 --foo", file);
    _cleanup_free_ char *asked =
        mem_printf("name=named partition=main tasks=3 args=3 umask=022 rlimits=1 env=1 "
                   "command=%s -n 9 --foo script=%s",
                   file, script);
    umask(022);
    run_vector(&(struct vector){"sbatch", with_arguments, 0, "Submitted batch job 42\n", NULL},
               NULL);
    expect_asked(asked);
    run_vector(&(struct vector){"sbatch", "--parsable", 0, "42\n", NULL}, "#!/bin/sh\n:\n");
    expect_asked("name=sbatch partition=- tasks=0 args=0 umask=022 rlimits=1 env=1 command=- "
                 "script=#!/bin/sh\n:\n");
    static const struct vector v[] = {
        {"sbatch", "--parsable -M t --wrap=true", 0, "42;t\n", NULL},
        {"sbatch", "-M t --wrap=true", 0, "Submitted batch job 42 on cluster t\n", NULL},
        {"sbatch", "-Q --wrap=true", 0, NULL, NULL},
        {"sbatch", "--wait --wrap=true", 7, "Submitted batch job 42\n", NULL},
        {"sbatch", "--test-only --wrap=true", 0, NULL,
         "sbatch: Job 42 to start at 2001-09-09T01:46:40 using 1 processors on nodes n3 in "
         "partition main\n"},
        {"sbatch", "--test-only --requeue --wrap=true", 0, NULL,
         "sbatch: Job 42 to start at 2001-09-09T01:46:40 using 1 processors on nodes n3 in "
         "partition main\nsbatch: Job 42: or sooner\n"},
        {"sbatch", "--test-only --hold --wrap=true", 0, NULL,
         "sbatch: Job 42: no start can be foreseen: it would be held\n"},
        {"sbatch", "-p nosuch --wrap=true", 1, NULL,
         "sbatch: error: Batch job submission failed: Invalid partition name specified: "
         "nosuch\n"},
        {"sbatch", "-p nosuch --test-only --wrap=true", 1, NULL,
         "allocation failure: Invalid partition name specified: nosuch\n"},
        {"sbatch", "--wrap=true extra", 1, NULL,
         "sbatch: error: Script arguments not permitted with --wrap option\n"},
        {"sbatch", "--delay-boot=5 --delay-boot=5 --wrap=true", 0, "Submitted batch job 42\n",
         "sbatch: warning: option --delay-boot is accepted and has no effect\n"},
        {"sbatch", "--hint=help", 0, "~Application hint options:", NULL},
        {"sbatch", "--hint=x --wrap=true", 1, NULL,
         "sbatch: error: unrecognized --hint argument \"x\", see --hint=help\n"},
        {"sbatch", "--export-file=/nonexistent --wrap=true", 1, NULL,
         "sbatch: error: --export-file: cannot open /nonexistent: No such file or directory\n"},
        {"sbatch", "-N x --wrap=true", 255, NULL,
         "sbatch: error: \"x\" is not a valid node count\n"},
        {"sbatch", "/nonexistent", 1, NULL, "~sbatch: error: Unable to open file /nonexistent: "},
        {"sbatch", "--export=NONE --wrap=true", 0, "Submitted batch job 42\n", NULL},
    };
    RUN_ALL(v);
    run_vector(
        &(struct vector){"sbatch", "", 1, NULL,
                         "sbatch: error: This does not look like a batch script.  The first\n"
                         "sbatch: error: line must start with #! followed by the path to an "
                         "interpreter.\n"
                         "sbatch: error: For instance: #!/bin/sh\n"},
        "hostname\n");
}

static void test_commands_report_an_unreachable_controller(void **state)
{
    static const struct vector v[] = {
        {"squeue", "", 1, NULL, "~Unable to contact slurm controller (connect failure)"},
        {"sinfo", "", 1, NULL, "~slurm_load_partitions: Unable to contact slurm controller"},
        {"scancel", "1", 1, NULL,
         "~scancel: error: Kill job error on job id 1: Unable to contact slurm controller"},
        {"sbatch", "--wrap=true", 1, NULL,
         "~sbatch: error: Batch job submission failed: Unable to contact slurm controller"},
        {"scontrol", "show job", 1, NULL,
         "~slurm_load_jobs error: Unable to contact slurm controller"},
        {"scontrol", "ping", 1, "Slurmctld(primary) at localhost is DOWN\n", NULL},
        {"scontrol", "ping --json", 1, "~\"pinged\": \"DOWN\"", NULL},
    };
    char conf[256], path[128];
    snprintf(path, sizeof(path), "%s/hosts", test_controller_dir);
    snprintf(conf, sizeof(conf),
             "ClusterName=t\nSlurmctldHost=localhost(127.0.0.1)\nAuthInfo=socketdir=%s/none\n"
             "SlurmctldPort=1\nNodeName=n1\nPartitionName=p Nodes=ALL\n",
             test_controller_dir);
    assert_int_equal(path_write_file(path, conf, strlen(conf), 0644, NULL), 0);
    _cleanup_free_ char *before = mem_strdup(getenv("SLURM_CONF"));
    setenv("SLURM_CONF", path, 1);
    RUN_ALL(v);
    setenv("SLURM_CONF", "/nonexistent/slurm.conf", 1);
    run_vector(&(struct vector){"squeue", "", 1, NULL, "~/nonexistent/slurm.conf"}, NULL);
    setenv("SLURM_CONF", before, 1);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_squeue_prints_jobs),
        cmocka_unit_test(test_sinfo_prints_nodes),
        cmocka_unit_test(test_scancel_sends_requests),
        cmocka_unit_test(test_scancel_asks_for_confirmation),
        cmocka_unit_test(test_scontrol_shows_records),
        cmocka_unit_test(test_scontrol_refuses_invalid_commands),
        cmocka_unit_test(test_scontrol_sends_changes),
        cmocka_unit_test(test_scontrol_reads_commands_from_a_dialogue),
        cmocka_unit_test(test_sbatch_submits_a_script),
        cmocka_unit_test(test_commands_report_an_unreachable_controller),
    };
    build_dir = argc > 1 ? argv[1] : ".";
    return cmocka_run_group_tests(tests, test_controller_start, test_controller_stop);
}
