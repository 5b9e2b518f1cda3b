/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/timefmt.h"
#include "show/job_columns.h"
#include "show/test_titles.h"

static Pb__JobSpec spec;
static Pb__JobLive live;
static Pb__JobRecord job;

static int setup(void **state)
{
    pb__job_spec__init(&spec);
    pb__job_live__init(&live);
    pb__job_record__init(&job);
    job.spec = &spec;
    job.live = &live;
    spec.name = "sleeper";
    spec.user_name = "ann";
    spec.work_dir = "/w";
    live.job_id = 7;
    live.partition = "main";
    live.num_nodes = 2;
    live.num_cpus = 2;
    live.has_time_limit_sec = 1;
    live.time_limit_sec = 600;
    live.reason = "Resources";
    return 0;
}

static void expect_job_line(const char *format, const char *line)
{
    _cleanup_str_ struct str rows = STR_INIT;
    struct job_columns_view view = {.job = &job, .now = 1000, .cluster = "c"};
    struct listing l;
    listing_init(&l, &job_columns);
    listing_set_letters(&l, format);
    listing_add(&l, &view);
    listing_print_rows(&l, &rows);
    assert_string_equal(str_cstr(&rows), line);
    listing_done(&l);
}

static void test_default_columns_are_printed_as_slurm_does(void **state)
{
    expect_job_line(
        "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R",
        "                 7      main  sleeper      ann PD       0:00      2 (Resources)\n");
    live.state = PB__JOB_STATE__RUNNING;
    live.start_at = 998;
    live.nodes = "n[1-2]";
    expect_job_line("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R",
                    "                 7      main  sleeper      ann  R       0:02      2 n[1-2]\n");
    expect_job_line("%i|%j|%u|%T|%t|%D|%N|%P|%C|%l|%L",
                    "7|sleeper|ann|RUNNING|R|2|n[1-2]|main|2|10:00|9:58\n");
}

static void test_reason_or_nodes(void **state)
{
    static const struct {
        Pb__JobState state;
        bool completing;
        const char *text;
    } v[] = {
        {PB__JOB_STATE__PENDING, false, "(NonZeroExitCode)\n"},
        {PB__JOB_STATE__FAILED, false, "(NonZeroExitCode)\n"},
        {PB__JOB_STATE__FAILED, true, "n1\n"},
        {PB__JOB_STATE__CANCELLED, false, "n1\n"},
        {PB__JOB_STATE__COMPLETED, false, "n1\n"},
    };
    live.reason = "NonZeroExitCode";
    live.nodes = "n1";
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        live.state = v[i].state;
        live.completing = v[i].completing;
        expect_job_line("%R", v[i].text);
    }
}

static void test_absent_values_have_placeholders(void **state)
{
    expect_job_line("%a|%B|%E|%f|%k|%m|%n|%N|%o|%q|%S|%v|%Y|%z",
                    "(null)|n/a|(null)|(null)|(null)|0|||(null)"
                    "|(null)|N/A|(null)|(null)|*:*:*\n");
    live.has_time_limit_sec = 0;
    expect_job_line("%l", "NOT_SET\n");
    live.has_time_limit_sec = 1;
    live.time_limit_sec = TIME_UNLIMITED;
    expect_job_line("%l|%L", "UNLIMITED|UNLIMITED\n");
}

/* The titles of Slurm 22.05. */
static const struct title letters[] = {
    {"a", "ACCOUNT"},
    {"A", "JOBID"},
    {"b", "TRES_PER_NODE"},
    {"B", "EXEC_HOST"},
    {"c", "MIN_CPUS"},
    {"C", "CPUS"},
    {"d", "MIN_TMP_DISK"},
    {"D", "NODES"},
    {"e", "END_TIME"},
    {"E", "DEPENDENCY"},
    {"f", "FEATURES"},
    {"F", "ARRAY_JOB_ID"},
    {"g", "GROUP"},
    {"G", "GROUP"},
    {"h", "OVER_SUBSCRIBE"},
    {"H", "SOCKETS_PER_NODE"},
    {"i", "JOBID"},
    {"I", "CORES_PER_SOCKET"},
    {"j", "NAME"},
    {"J", "THREADS_PER_CORE"},
    {"k", "COMMENT"},
    {"K", "ARRAY_TASK_ID"},
    {"l", "TIME_LIMIT"},
    {"L", "TIME_LEFT"},
    {"m", "MIN_MEMORY"},
    {"M", "TIME"},
    {"n", "REQ_NODES"},
    {"N", "NODELIST"},
    {"o", "COMMAND"},
    {"O", "CONTIGUOUS"},
    {"p", "PRIORITY"},
    {"P", "PARTITION"},
    {"q", "QOS"},
    {"Q", "PRIORITY"},
    {"r", "REASON"},
    {"R", "NODELIST(REASON)"},
    {"s", "SLUID"},
    {"S", "START_TIME"},
    {"t", "ST"},
    {"T", "STATE"},
    {"u", "USER"},
    {"U", "UID"},
    {"v", "RESERVATION"},
    {"V", "SUBMIT_TIME"},
    {"w", "WCKEY"},
    {"W", "LICENSES"},
    {"x", "EXC_NODES"},
    {"X", "CORE_SPEC"},
    {"y", "NICE"},
    {"Y", "SCHEDNODES"},
    {"z", "S:C:T"},
    {"Z", "WORK_DIR"},
};
static const struct title long_names[] = {
    {"Account", "ACCOUNT"},
    {"AccrueTime", "ACCRUE_TIME"},
    {"admin_comment", "ADMIN_COMMENT"},
    {"AllocNodes", "ALLOC_NODES"},
    {"AllocSID", "ALLOC_SID"},
    {"ArrayJobID", "ARRAY_JOB_ID"},
    {"ArrayTaskID", "ARRAY_TASK_ID"},
    {"AssocID", "ASSOC_ID"},
    {"BatchFlag", "BATCH_FLAG"},
    {"BatchHost", "EXEC_HOST"},
    {"BoardsPerNode", "BOARDS_PER_NODE"},
    {"BurstBuffer", "BURST_BUFFER"},
    {"BurstBufferState", "BURST_BUFFER_STATE"},
    {"Cluster", "CLUSTER"},
    {"ClusterFeature", "CLUSTER_FEATURES"},
    {"Command", "COMMAND"},
    {"Comment", "COMMENT"},
    {"Contiguous", "CONTIGUOUS"},
    {"Container", "CONTAINER"},
    {"CoreSpec", "CORE_SPEC"},
    {"cpus-per-task", "CPUS_PER_TASK"},
    {"cpus-per-tres", "CPUS_PER_TRES"},
    {"Deadline", "DEADLINE"},
    {"DelayBoot", "DELAY_BOOT"},
    {"Dependency", "DEPENDENCY"},
    {"DerivedEC", "DERIVED_EC"},
    {"EligibleTime", "ELIGIBLE_TIME"},
    {"EndTime", "END_TIME"},
    {"exit_code", "EXIT_CODE"},
    {"Feature", "FEATURES"},
    {"GroupID", "GROUP"},
    {"GroupName", "GROUP"},
    {"HetJobID", "HET_JOB_ID"},
    {"HetJobIDSet", "HET_JOB_ID_SET"},
    {"HetJobOffset", "HET_JOB_OFFSET"},
    {"JobArrayID", "JOBID"},
    {"LastSchedEval", "LAST_SCHED_EVAL"},
    {"Licenses", "LICENSES"},
    {"MaxCPUs", "MAX_CPUS"},
    {"MaxNodes", "MAX_NODES"},
    {"MCSLabel", "MCSLABEL"},
    {"mem-per-tres", "MEM_PER_TRES"},
    {"MinCpus", "MIN_CPUS"},
    {"MinMemory", "MIN_MEMORY"},
    {"MinTime", "TIME_MIN"},
    {"MinTmpDisk", "MIN_TMP_DISK"},
    {"Network", "NETWORK"},
    {"NodeList", "NODELIST"},
    {"NTPerBoard", "NTASKS_PER_BOARD"},
    {"NTPerCore", "NTASKS_PER_CORE"},
    {"NTPerNode", "NTASKS_PER_NODE"},
    {"NTPerSocket", "NTASKS_PER_SOCKET"},
    {"NumCPUs", "CPUS"},
    {"NumNodes", "NODES"},
    {"NumTasks", "TASKS"},
    {"OriginRaw", "ORIGIN_RAW"},
    {"OverSubscribe", "OVER_SUBSCRIBE"},
    {"Partition", "PARTITION"},
    {"PendingTime", "PENDING_TIME"},
    {"PreemptTime", "PREEMPT_TIME"},
    {"Priority", "PRIORITY"},
    {"PriorityLong", "PRIORITY"},
    {"Profile", "PROFILE"},
    {"ReasonList", "NODELIST(REASON)"},
    {"ReqNodes", "REQ_NODES"},
    {"ReqSwitch", "REQ_SWITCH"},
    {"Requeue", "REQUEUE"},
    {"Reservation", "RESERVATION"},
    {"ResizeTime", "RESIZE_TIME"},
    {"RestartCnt", "RESTART_COUNT"},
    {"SchedNodes", "SCHEDNODES"},
    {"SelectJobInfo", ""},
    {"SiblingsActive", "ACTIVE_SIBLINGS"},
    {"SiblingsActiveRaw", "ACTIVE_SIBLINGS_RAW"},
    {"SiblingsViable", "VIABLE_SIBLINGS"},
    {"SiblingsViableRaw", "VIALBLE_SIBLINGS_RAW"},
    {"Sockets", "SOCKETS_PER_NODE"},
    {"SPerBoard", "SOCKETS_PER_BOARD"},
    {"StartTime", "START_TIME"},
    {"StateCompact", "ST"},
    {"SubmitTime", "SUBMIT_TIME"},
    {"SystemComment", "SYSTEM_COMMENT"},
    {"system_comment", "SYSTEM_COMMENT"},
    {"Threads", "THREADS_PER_CORE"},
    {"TimeLeft", "TIME_LEFT"},
    {"TimeLimit", "TIME_LIMIT"},
    {"TimeUsed", "TIME"},
    {"tres-alloc", "TRES_ALLOC"},
    {"tres-bind", "TRES_BIND"},
    {"tres-freq", "TRES_FREQ"},
    {"tres-per-job", "TRES_PER_JOB"},
    {"tres-per-node", "TRES_PER_NODE"},
    {"tres-per-socket", "TRES_PER_SOCKET"},
    {"tres-per-task", "TRES_PER_TASK"},
    {"UserID", "UID"},
    {"UserName", "USER"},
    {"Wait4Switch", "WAIT4SWITCH"},
    {"WCKey", "WCKEY"},
    {"WorkDir", "WORK_DIR"},
    {"JobID", "JOBID"},
    {"Name", "NAME"},
    {"Nice", "NICE"},
    {"QOS", "QOS"},
    {"Reason", "REASON"},
    {"SCT", "S:C:T"},
    {"State", "STATE"},
    {"Cores", "CORES_PER_SOCKET"},
};
static const struct title step_letters[] = {
    {"A", "TASKS"},    {"i", "STEPID"},    {"j", "NAME"},       {"l", "TIME_LIMIT"}, {"M", "TIME"},
    {"N", "NODELIST"}, {"P", "PARTITION"}, {"S", "START_TIME"}, {"u", "USER"},       {"U", "UID"},
};

static void test_columns_have_the_titles_of_slurm(void **state)
{
    check_titles(&job_columns, letters, sizeof(letters) / sizeof(letters[0]), true);
    check_titles(&job_columns, long_names, sizeof(long_names) / sizeof(long_names[0]), false);
    check_titles(&step_columns, step_letters, sizeof(step_letters) / sizeof(step_letters[0]), true);
}

/* Right-justified host lists and durations are not cut; left-justified values are all cut, and
 * "(null)" becomes empty. */
static void test_widths_cut_columns_as_slurm_does(void **state)
{
    spec.req_nodes = "n[1-2]";
    spec.batch = 1;
    live.state = PB__JOB_STATE__RUNNING;
    live.start_at = 500;
    live.nodes = "n[1-2]";
    live.batch_host = "n1";
    live.time_limit_sec = 86400;
    expect_job_line("%.3l|%.3L|%.3M|%.3N|%.3n|%.3R|%.3Y|%.3B",
                    "1-00:00:00|23:51:40|8:20|n[1-2]|n[1-2]|n[1-2]|(null)| n1\n");
    expect_job_line("%3l|%3L|%3M|%3N|%3n|%3R|%3Y|%3a|%.3a|%6a",
                    "1-0|23:|8:2|n[1|n[1|n[1|   |   |(nu|(null)\n");
    live.time_limit_sec = 500;
    expect_job_line("%L", "0:00\n");
    live.time_limit_sec = 499;
    expect_job_line("%L|%l", "INVALID|8:19\n");
    live.time_limit_sec = TIME_UNLIMITED;
    expect_job_line("%.3l|%.3L|%e|%.3S|%3j", "UNL|UNL|NONE|197|sle\n");
    live.state = PB__JOB_STATE__PENDING;
    live.start_at = 0;
    live.nodes = NULL;
    expect_job_line("%.3R|%.3M|%.1N|%B", "(Re|0:00| |n1\n");
}

static void test_interactive_job_shows_its_host(void **state)
{
    spec.alloc_host = "login1";
    live.start_at = 500;
    live.state = PB__JOB_STATE__RUNNING;
    live.batch_host = "n1";
    expect_job_line("%B", "login1\n");
    live.script_host = "n2"; /* a component of a batch job */
    live.script_of_leader = 1;
    expect_job_line("%B", "n2\n");
    live.script_of_leader = 0;
    live.script_host = NULL;
    spec.batch = 1;
    expect_job_line("%B", "n1\n");
}

static void test_maximum_of_nodes_follows_from_the_request(void **state)
{
    static const struct {
        uint32_t min_nodes, max_nodes, tasks, known, shown;
    } v[] = {{0, 0, 0, 1, 1}, {0, 0, 8, 2, 2}, {1, 3, 2, 1, 2}, {3, 3, 3, 3, 3}, {2, 4, 0, 2, 4}};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str want = STR_INIT, out = STR_INIT;
        struct job_columns_view view = {.job = &job, .now = 1000};
        struct listing l;
        spec.min_nodes = v[i].min_nodes;
        spec.max_nodes = v[i].max_nodes;
        spec.num_tasks = v[i].tasks;
        live.num_nodes = v[i].known;
        listing_init(&l, &job_columns);
        listing_set_names(&l, "MaxNodes:1");
        listing_add(&l, &view);
        listing_print_rows(&l, &out);
        str_printf(&want, "%u\n", v[i].shown);
        assert_string_equal(str_cstr(&out), str_cstr(&want));
        listing_done(&l);
    }
}

static void test_sort_keys_order_jobs(void **state)
{
    static const struct {
        const char *keys, *order;
    } v[] = {
        {"t", "3 2 1 4 "},  {"-T", "1 4 2 3 "}, {"S", "2 3 1 4 "},
        {"-S", "1 3 2 4 "}, {"N", "3 1 2 4 "},  {"-N", "1 2 3 4 "},
    };
    /* Running on n10, failed on n10, completed on n9, and running without nodes and start. */
    static const Pb__JobState states[] = {PB__JOB_STATE__RUNNING, PB__JOB_STATE__FAILED,
                                          PB__JOB_STATE__COMPLETED, PB__JOB_STATE__RUNNING};
    static char *const nodes[] = {"n10", "n10", "n9", NULL};
    static const int64_t starts[] = {900, 700, 800, 0};
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        struct job_columns_view view = {.job = &job, .now = 1000};
        struct listing l;
        listing_init(&l, &job_columns);
        listing_set_letters(&l, "%i");
        listing_set_sort(&l, v[i].keys);
        for (uint32_t k = 0; k < 4; k++) {
            live.job_id = k + 1;
            live.state = states[k];
            live.nodes = nodes[k];
            live.start_at = starts[k];
            listing_add(&l, &view);
        }
        listing_print_rows(&l, &out);
        for (size_t k = 0; k < out.len; k++)
            out.data[k] = out.data[k] == '\n' ? ' ' : out.data[k];
        assert_string_equal(str_cstr(&out), v[i].order);
        listing_done(&l);
    }
}

static void test_column_tables_are_consistent(void **state)
{
    const struct listing_table *tables[] = {&job_columns, &step_columns};
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < tables[t]->count; i++) {
            const struct listing_field *f = &tables[t]->fields[i];
            assert_ptr_equal(listing_find_name(tables[t], f->name, strlen(f->name)), f);
            assert_true(!f->letter || listing_find_letter(tables[t], f->letter) == f);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_default_columns_are_printed_as_slurm_does, setup),
        cmocka_unit_test_setup(test_reason_or_nodes, setup),
        cmocka_unit_test_setup(test_absent_values_have_placeholders, setup),
        cmocka_unit_test(test_columns_have_the_titles_of_slurm),
        cmocka_unit_test_setup(test_widths_cut_columns_as_slurm_does, setup),
        cmocka_unit_test_setup(test_interactive_job_shows_its_host, setup),
        cmocka_unit_test_setup(test_maximum_of_nodes_follows_from_the_request, setup),
        cmocka_unit_test_setup(test_sort_keys_order_jobs, setup),
        cmocka_unit_test(test_column_tables_are_consistent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
