/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing of cgroup.conf, and of the keys of slurm.conf about cgroups. */
#include <strings.h>

#include "conf/conf_test_util.h"

#define TASK HEAD "TaskPlugin=task/cgroup\n"
#define LINE "CgroupConf=1 "

static void invalid_lines_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {TASK LINE "ConstrainCores=maybe\n", "t.conf:3: ", "expected YES or NO"},
        {TASK LINE "AllowedRAMSpace=much\n", "t.conf:3: ", "expected a percentage"},
        {TASK LINE "AllowedRAMSpace=-1\n", "t.conf:3: ", "expected a percentage"},
        {TASK LINE "AllowedRAMSpace=100.5x\n", "t.conf:3: ", "expected a percentage"},
        {TASK LINE "AllowedRAMSpace=99999999999999999999\n", "t.conf:3: ", "expected a percentage"},
        {TASK LINE "AllowedRAMSpace=.5\n", "t.conf:3: ", "expected a percentage"},
        {TASK LINE "MemorySwappiness=101\n", "t.conf:3: ", "0 to 100"},
        {TASK LINE "MinRAMSpace=x\n", "t.conf:3: ", "a size in MiB"},
        {TASK LINE "CgroupPlugin=cgroup/v3\n", "t.conf:3: ", "expected cgroup/v1, cgroup/v2"},
        {TASK LINE "CgroupMountpoint=sys/fs\n", "t.conf:3: ", "expected an absolute path"},
        {TASK LINE "CgroupSlice=system\n", "t.conf:3: ", "CgroupSlice=system: expected a name"},
        {TASK LINE "CgroupSlice=../x.slice\n", "t.conf:3: ", "expected a name"},
        {TASK LINE "CgroupSlice=a/x.slice\n", "t.conf:3: ", "expected a name"},
        {TASK LINE "CgroupSlice=-.slice\n", "t.conf:3: ", "expected a name"},
        {TASK LINE "CgroupSlice=a--b.slice\n", "t.conf:3: ", "expected a name"},
        {TASK LINE "CgroupSlice=a.slice.slice\n", "t.conf:3: ", "expected a name"},
    };

    test_refused(cases, COUNT(cases));
}

static void doubtful_lines_are_warned_about(void **state)
{
    static const struct test_refusal cases[] = {
        {TASK LINE "ConstrainCore=yes\n", "t.conf:3: ", "did you mean ConstrainCores?"},
        {TASK LINE "Zzzzzzzzzzzz=1\n", "t.conf:3: ", "unknown key Zzzzzzzzzzzz"},
        {TASK LINE "CgroupAutomount=yes\n", "t.conf:3: ", "no effect"},
        {TASK LINE "MinRAMSpace=1\n" LINE "MinRAMSpace=2\n", "t.conf:4: ", "first on line 3"},
        {HEAD LINE "ConstrainCores=yes\n",
         "t.conf:2: ", "no effect without TaskPlugin=task/cgroup"},
        {TASK LINE "EnableExtraControllers=io,nfs,PIDS\n",
         "t.conf:3: ", "'nfs' is not all, io, pids, rdma, hugetlb or misc"},
        {TASK LINE "CgroupPlugin=disabled\n",
         "t.conf:3: ", "what slurm.conf asks of cgroups is not done"},
    };

    test_warned(cases, COUNT(cases));
}

static void values_are_read(void **state)
{
    struct conf *c = test_load(HEAD "TaskPlugin=cgroup\nProctrackType=proctrack/cgroup\n"
                                    "JobAcctGatherType=jobacct_gather/cgroup\n" LINE
                                    "ConstrainCores = yes\n" LINE "ConstrainDevices=no\n" LINE
                                    "AllowedRAMSpace=101.5%\n" LINE "AllowedSwapSpace=0.25\n" LINE
                                    "MinRAMSpace=64\n" LINE "CgroupPlugin=Cgroup/V2\n" LINE
                                    "MemorySwappiness=0\n" LINE "ConstrainSwapSpace=yes\n" LINE
                                    "EnableControllers=yes\n" LINE "IgnoreSystemd=yes\n" LINE
                                    "MaxRAMPercent=80\n" LINE "MaxSwapPercent=70.5\n",
                               NULL);
    const struct conf_cgroup *g = &c->cgroup;

    assert_true(g->given && g->track && g->limit && g->gather && g->constrain_cores);
    assert_false(g->constrain_devices || g->disabled);
    assert_int_equal(g->version, 2);
    assert_int_equal(g->allowed_ram_space_bp, 10150);
    assert_int_equal(g->allowed_swap_space_bp, 25);
    assert_int_equal(g->min_ram_space_mib, 64);
    assert_int_equal(g->memory_swappiness, 0);
    assert_int_equal(g->max_ram_percent_bp, 8000);
    assert_int_equal(g->max_swap_percent_bp, 7050);
    assert_true(g->constrain_swap_space && g->enable_controllers && g->ignore_systemd);
    assert_string_equal(g->cgroup_mountpoint, "/sys/fs/cgroup");
    conf_free(c);
    c = test_load(HEAD, NULL);
    assert_false(c->cgroup.given || c->cgroup.track || c->cgroup.limit || c->cgroup.gather);
    assert_int_equal(c->cgroup.memory_swappiness, UINT32_MAX);
    assert_int_equal(c->cgroup.max_ram_percent_bp, 10000);
    assert_int_equal(c->cgroup.max_swap_percent_bp, 10000);
    conf_free(c);
}

static void values_are_shown(void **state)
{
    static const char *const lines[] = {
        "\nCgroup Support Configuration:\n",  "AllowedRAMSpace         = 101.5%\n",
        "ConstrainCores          = yes\n",    "MinRAMSpace             = 30MB\n",
        "MemorySwappiness        = (null)\n", "MaxRAMPercent           = 100.0%\n",
    };
    struct conf *c =
        test_load(TASK LINE "AllowedRAMSpace=101.5\n" LINE "ConstrainCores=yes\n", NULL);
    struct conf *plain = test_load(HEAD, NULL);
    struct str text = STR_INIT;

    assert_int_equal(conf_format(c, NULL, &text, NULL), 0);
    for (size_t i = 0; i < COUNT(lines); i++)
        if (!strstr(str_cstr(&text), lines[i]))
            fail_msg("'%s' is not in:\n%s", lines[i], str_cstr(&text));
    str_clear(&text);
    assert_int_equal(conf_format(plain, NULL, &text, NULL), 0);
    assert_null(strstr(str_cstr(&text), "Cgroup Support"));
    str_clear(&text);
    conf_diff(plain, c, &text);
    assert_non_null(strstr(str_cstr(&text), "ConstrainCores: No -> Yes"));
    str_done(&text);
    conf_free(plain);
    conf_free(c);
}

/* Sorted, with defaults that can be parsed, and a word on each. */
static void key_table_is_sorted_and_valid(void **state)
{
    for (size_t i = 1; i < CONF_CGROUP_KEYS; i++) {
        const struct conf_key *k = &conf_cgroup_keys[i];

        if (i > 1 && strcasecmp(conf_cgroup_keys[i - 1].name, k->name) >= 0)
            fail_msg("%s is out of order", k->name);
        assert_true(strlen(k->help) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_lines_are_refused),
        cmocka_unit_test(doubtful_lines_are_warned_about),
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(values_are_shown),
        cmocka_unit_test(key_table_is_sorted_and_valid),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
