/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cgroup/oom.h"

#define HEAD                                                                                       \
    "6,1,2,-;[  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes "  \
    "swapents oom_score_adj name\n"
#define VERDICT(memcg, task)                                                                       \
    "6,1,2,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"        \
    "oom_memcg=/slurm/uid_0/job_4,task_memcg=" memcg ",task=" task ",pid=7,uid=0\n"

static unsigned scale(void) /* pages of a mebibyte */
{
    return (unsigned)((1 << 20) / sysconf(_SC_PAGESIZE));
}

static void add_process_row(struct cgroup_oom *o, int pid, unsigned mib, const char *name)
{
    _cleanup_str_ struct str s = STR_INIT;

    str_printf(
        &s,
        "6,1,2,-;[%7d]     0 %5d    55342    %u    18016     1652         0   208896        0 "
        "            0 %s\n",
        pid, pid, mib * scale(), name);
    cgroup_oom_line(o, str_cstr(&s));
}

static void expect(const struct cgroup_oom *o, unsigned kills, const char *text)
{
    _cleanup_str_ struct str s = STR_INIT;

    cgroup_oom_format(o, &s);
    assert_int_equal(o->kills, kills);
    assert_string_equal(str_cstr(&s), text);
}

static void test_damaged_kernel_records_are_ignored(void **state)
{
    static const char *const records[] = {
        "",
        ";",
        "6,1,2,-",
        "6,1,2,-;",
        "6,1,2,-;[",
        "6,1,2,-;[  pid  ]",
        "6,1,2,-;[  pid  ] uid",
        "6,1,2,-;[ 1]",
        "6,1,2,-;[ 99999999999999999999] 1 2 3 4 x",
        "6,1,2,-;[ -1] 1 2 3 4 5 x",
        "6,1,2,-;[ 1] a b c",
        "6,1,2,-;oom-kill:",
        "6,1,2,-;oom-kill:x,task_memcg=",
        "6,1,2,-;oom-kill:x,task_memcg=,task=y",
        "6,1,2,-;oom-kill:x,task_memcg=/,task=y",
        "6,1,2,-;oom-kill:x,task_memcg=/a/slurm/uid_0/job_4/step_,task=y",
    };
    struct cgroup_oom o = {.path = "/slurm/uid_0/job_4/step_0"};

    for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
        cgroup_oom_line(&o, records[i]);
    expect(&o, 0, "");
}

/* The processes of the report, not of an earlier one, and of the right step; largest first. */
static void test_largest_processes_of_the_report_are_named(void **state)
{
    struct cgroup_oom o = {.path = "/sys/fs/cgroup/memory/slurm/uid_0/job_4/step_0"};

    cgroup_oom_line(&o, HEAD);
    add_process_row(&o, 1, 900, "elsewhere");
    cgroup_oom_line(&o, VERDICT("/slurm/uid_0/job_4/step_1", "elsewhere"));
    cgroup_oom_line(&o, HEAD);
    add_process_row(&o, 11, 3, "sh");
    add_process_row(&o, 12, 70, "a name");
    add_process_row(&o, 13, 1, "cat");
    add_process_row(&o, 14, 80, "py\xffthon3");
    expect(&o, 0, "");
    cgroup_oom_line(&o, VERDICT("/slurm/uid_0/job_4/step_0", "python3"));
    expect(&o, 1, "py?thon3[14] 80M, a?name[12] 70M, sh[11] 3M");
    cgroup_oom_line(&o,
                    VERDICT("/slurm/uid_0/job_4/step_0", "python3")); /* its table was left out */
    assert_int_equal(o.kills, 2);
}

/* A process name that looks like the words before it. */
static void test_process_name_cannot_forge_a_report(void **state)
{
    struct cgroup_oom o = {.path = "/slurm/uid_0/job_4/step_0"};

    cgroup_oom_line(
        &o, VERDICT("/slurm/uid_0/job_5/step_0", "x,task_memcg=/slurm/uid_0/job_4/step_0,task=y"));
    expect(&o, 0, "");
}

/* Fewer columns in earlier releases; a path that the kernel sees from further up. */
static void test_reports_of_older_kernels_are_read(void **state)
{
    struct cgroup_oom o = {.path = "slurm/uid_0/job_4/step_0"};
    _cleanup_str_ struct str s = STR_INIT;

    cgroup_oom_line(&o, "6,1,2,-;[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents "
                        "oom_score_adj name\n");
    str_printf(&s,
               "6,1,2,-;[   4711]  1000  4711    55342    %u   208896        0             0 a\n",
               5 * scale());
    cgroup_oom_line(&o, str_cstr(&s));
    cgroup_oom_line(&o, VERDICT("/docker/slurm/uid_0/job_4/step_0", "a"));
    expect(&o, 1, "a[4711] 5M");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_damaged_kernel_records_are_ignored),
        cmocka_unit_test(test_largest_processes_of_the_report_are_named),
        cmocka_unit_test(test_process_name_cannot_forge_a_report),
        cmocka_unit_test(test_reports_of_older_kernels_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
