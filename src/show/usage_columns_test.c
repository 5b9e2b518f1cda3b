/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "show/usage_columns.h"

/* The output of sstat of Slurm 22.05.8 for a step of three tasks on two nodes; except the tasks
 * with the highest and lowest CPU time, for which Slurm prints a time, and the frequency, which
 * Slurm measures. */
static const char title[] =
    "JobID|MaxVMSize|MaxVMSizeNode|MaxVMSizeTask|AveVMSize|MaxRSS|MaxRSSNode|MaxRSSTask|AveRS"
    "S|MaxPages|MaxPagesNode|MaxPagesTask|AvePages|MinCPU|MinCPUNode|MinCPUTask|AveCPU|NTasks"
    "|AveCPUFreq|ReqCPUFreqMin|ReqCPUFreqMax|ReqCPUFreqGov|ConsumedEnergy|MaxDiskRead|MaxDisk"
    "ReadNode|MaxDiskReadTask|AveDiskRead|MaxDiskWrite|MaxDiskWriteNode|MaxDiskWriteTask|AveD"
    "iskWrite|TRESUsageInAve|TRESUsageInMax|TRESUsageInMaxNode|TRESUsageInMaxTask|TRESUsageIn"
    "Min|TRESUsageInMinNode|TRESUsageInMinTask|TRESUsageInTot|TRESUsageOutAve|TRESUsageOutMax"
    "|TRESUsageOutMaxNode|TRESUsageOutMaxTask|TRESUsageOutMin|TRESUsageOutMinNode|TRESUsageOu"
    "tMinTask|TRESUsageOutTot";
static const char line[] =
    "1.0|8112K|n1|0|5512K|4864K|n2|2|3208K|0|n1|0|0|00:00:02|n1|1|00:00:03|3|0|Unknown|Unknow"
    "n|Unknown|0|31540949|n1|0|31540949|31457375|n1|0|31457375|cpu=00:00:03,energy=0,fs/disk="
    "31540949,mem=3208K,pages=0,vmem=5512K|cpu=00:00:04,energy=0,fs/disk=31540949,mem=4864K,p"
    "ages=0,vmem=8112K|cpu=n2,energy=n1,fs/disk=n1,mem=n2,pages=n1,vmem=n1|cpu=2,fs/disk=0,me"
    "m=2,pages=0,vmem=0|cpu=00:00:02,energy=0,fs/disk=31540949,mem=4792K,pages=0,vmem=8112K|c"
    "pu=n1,energy=n1,fs/disk=n1,mem=n1,pages=n1,vmem=n1|cpu=1,fs/disk=0,mem=1,pages=0,vmem=0|"
    "cpu=00:00:09,energy=0,fs/disk=94622847,mem=9624K,pages=0,vmem=16536K|energy=0,fs/disk=31"
    "457375|energy=0,fs/disk=31457375|energy=n1,fs/disk=n1|fs/disk=0|energy=0,fs/disk=3145737"
    "5|energy=n1,fs/disk=n1|fs/disk=0|energy=0,fs/disk=94372125";

static Pb__UsageMark make_usage_mark(enum _Pb__UsageKind kind, uint64_t value, uint32_t task,
                                     char *node)
{
    Pb__UsageMark m = PB__USAGE_MARK__INIT;

    m.kind = kind;
    m.value = value;
    m.has_task = true;
    m.task = task;
    m.node = node;
    return m;
}

struct fixture {
    Pb__StepRecord step;
    Pb__Usage usage;
    Pb__UsageMark most[6], least[6];
    Pb__UsageMark *most_list[6], *least_list[6];
    struct usage_columns_view view;
};

static void make_usage_fixture(struct fixture *f)
{
    static char n1[] = "n1", n2[] = "n2";
    const Pb__UsageMark most[] = {
        make_usage_mark(0, 4000000, 2, n2),  make_usage_mark(1, 4864, 2, n2),
        make_usage_mark(2, 8112, 0, n1),     make_usage_mark(3, 0, 0, n1),
        make_usage_mark(4, 31540949, 0, n1), make_usage_mark(5, 31457375, 0, n1)};
    const Pb__UsageMark least[] = {
        make_usage_mark(0, 2000000, 1, n1),  make_usage_mark(1, 4792, 1, n1),
        make_usage_mark(2, 8112, 0, n1),     make_usage_mark(3, 0, 0, n1),
        make_usage_mark(4, 31540949, 0, n1), make_usage_mark(5, 31457375, 0, n1)};

    pb__step_record__init(&f->step);
    f->step.job_id = 1;
    f->step.has_num_tasks = true;
    f->step.num_tasks = 3;
    pb__usage__init(&f->usage);
    f->usage.user_usec = 8000000;
    f->usage.sys_usec = 1900000;
    f->usage.rss_kib = 9624;
    f->usage.vsize_kib = 16536;
    f->usage.read_bytes = 94622847;
    f->usage.write_bytes = 94372125;
    f->usage.tasks = 3;
    memcpy(f->most, most, sizeof(most));
    memcpy(f->least, least, sizeof(least));
    for (int i = 0; i < 6; i++) {
        f->most_list[i] = &f->most[i];
        f->least_list[i] = &f->least[i];
    }
    f->usage.most = f->most_list;
    f->usage.least = f->least_list;
    f->usage.n_most = f->usage.n_least = 6;
    f->view = (struct usage_columns_view){.step = &f->step,
                                          .usage = &f->usage,
                                          .nodes = "n[1-2]",
                                          .pids = "30310,30309,30063",
                                          .first_node = "n1"};
}

static void expect_usage_line(const char *format, bool divided, bool closed, const char *head,
                              const char *want, bool no_convert)
{
    struct usage_columns f = {.divided = divided, .closed = closed};
    _cleanup_str_ struct str out = STR_INIT;
    struct fixture x;

    make_usage_fixture(&x);
    x.view.no_convert = no_convert;
    assert_int_equal(usage_columns_add(&f, format, NULL), 0);
    if (head) {
        usage_columns_print_header(&f, &out);
        assert_string_equal(str_cstr(&out), head);
        str_clear(&out);
    }
    usage_columns_print(&f, &x.view, &out);
    assert_string_equal(str_cstr(&out), want);
    usage_columns_done(&f);
}

static void test_unknown_fields_are_refused(void **state)
{
    static const struct {
        const char *list, *text;
    } bad[] = {
        {"bogus", "Invalid field requested: \"bogus\""},
        {"JobID,x%5", "Invalid field requested: \"x\""},
        {"%5", "Invalid field requested: \"\""},
        {"JobIDs", "Invalid field requested: \"JobIDs\""},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct usage_columns f = {0};
        struct err err = {0};

        assert_int_equal(usage_columns_add(&f, bad[i].list, &err), -ERR_PARSE);
        assert_string_equal(err.text, bad[i].text);
        usage_columns_done(&f);
    }
}

static void test_every_column_is_printed(void **state)
{
    _cleanup_free_ char *want = mem_printf("%s\n", line), *head = mem_printf("%s\n", title);
    _cleanup_free_ char *closed = mem_printf("%s|\n", line), *both = mem_printf("%s|\n", title);

    expect_usage_line(USAGE_COLUMNS_DEFAULT, true, false, head, want, false);
    expect_usage_line(USAGE_COLUMNS_DEFAULT, true, true, both, closed, false);
}

static void test_chosen_columns_have_their_widths(void **state)
{
    expect_usage_line("jobid%30,ntasks%-9,maxrss%3", false, false,
                      "                         JobID NTasks    Max \n"
                      "------------------------------ --------- --- \n",
                      "                           1.0 3         48+ \n", false);
    expect_usage_line("jobi,ntask", false, false,
                      "JobID          NTasks \n------------ -------- \n",
                      "1.0                 3 \n", false);
    expect_usage_line("jobid%,,ntasks%0", false, false, NULL, "1.0                 3 \n", false);
    expect_usage_line("jobid%abc,ntasks%99999", false, false, NULL, "1.0                 3 \n",
                      false);
    expect_usage_line(USAGE_COLUMNS_PIDS, false, false,
                      "JobID                    Nodelist                 Pids \n"
                      "------------ -------------------- -------------------- \n",
                      "1.0                        n[1-2]    30310,30309,30063 \n", false);
    expect_usage_line("AveRSS,MaxRSS,MaxVMSize,AvePages,MaxDiskWrite", true, false, NULL,
                      "3284992|4980736|8306688|0|31457375\n", true);
}

static void test_sizes_have_units(void **state)
{
    static const struct {
        uint64_t kib;
        const char *text;
    } cases[] = {{0, "0\n"},          {1, "1K\n"},
                 {1025, "1025K\n"},   {2048, "2M\n"},
                 {80364, "80364K\n"}, {3u << 20, "3G\n"},
                 {1u << 30, "1T\n"},  {UINT64_MAX, "18446744073709551615\n"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct usage_columns f = {.divided = true};
        _cleanup_str_ struct str out = STR_INIT;
        struct fixture x;

        make_usage_fixture(&x);
        x.usage.tasks = 1;
        x.usage.rss_kib = cases[i].kib;
        assert_int_equal(usage_columns_add(&f, "AveRSS", NULL), 0);
        usage_columns_print(&f, &x.view, &out);
        assert_string_equal(str_cstr(&out), cases[i].text);
        usage_columns_done(&f);
    }
}

/* A node that has not sampled yet reports no task. */
static void test_unknown_usage_is_empty(void **state)
{
    struct usage_columns f = {.divided = true};
    _cleanup_str_ struct str out = STR_INIT;
    struct fixture x;

    make_usage_fixture(&x);
    pb__usage__init(&x.usage);
    x.step.step_id = 0xfffffffb;
    x.step.num_tasks = 0;
    assert_int_equal(
        usage_columns_add(&f, "JobID,AveCPU,MaxRSS,MaxRSSNode,MinCPUTask,NTasks,ReqCPUFreq", NULL),
        0);
    usage_columns_print(&f, &x.view, &out);
    assert_string_equal(str_cstr(&out), "1.batch|00:00:00|0|n1|0|1|0\n");
    usage_columns_done(&f);
}

static void test_columns_beyond_the_default(void **state)
{
    expect_usage_line(
        "AveDiskWrite,ConsumedEnergyRaw,MaxDiskReadNode,TRESUsageInMin", true, false,
        "AveDiskWrite|ConsumedEnergyRaw|MaxDiskReadNode|TRESUsageInMin\n",
        "31457375|0|n1|cpu=00:00:02,energy=0,fs/disk=31540949,mem=4792K,pages=0,vmem=8112K\n",
        false);
}

static void test_column_names_are_listed(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;

    usage_columns_print_names(&out);
    assert_true(str_starts(str_cstr(&out),
                           "AllocTRES           AveCPU              AveCPUFreq          "
                           "AveDiskRead        \nAveDiskWrite        "));
    assert_string_equal(strstr(str_cstr(&out), "TRESUsageOutMinNode"),
                        "TRESUsageOutMinNode TRESUsageOutMinTask\nTRESUsageOutTot    \n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_fields_are_refused),
        cmocka_unit_test(test_every_column_is_printed),
        cmocka_unit_test(test_chosen_columns_have_their_widths),
        cmocka_unit_test(test_sizes_have_units),
        cmocka_unit_test(test_unknown_usage_is_empty),
        cmocka_unit_test(test_columns_beyond_the_default),
        cmocka_unit_test(test_column_names_are_listed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
