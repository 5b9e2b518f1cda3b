/* SPDX-License-Identifier: GPL-3.0-or-later */
/* On a tree of plain files instead of the kernel's. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "cpufreq/cpufreq.h"
#include "cpufreq/ledger.h"

#define CPUS 4
#define SPEEDS "3000000 2400000 1800000 800000 "

struct fixture {
    char dir[64];
    char *root, *spool;
    struct cpufreq_place place;
};

static char *make_file_path(const struct fixture *f, unsigned cpu, const char *name)
{
    return mem_printf("%s/cpu%u/cpufreq/%s", f->root, cpu, name);
}

static void put_kernel_file(const struct fixture *f, unsigned cpu, const char *name,
                            const char *text)
{
    _cleanup_free_ char *path = make_file_path(f, cpu, name), *line = mem_printf("%s\n", text);

    assert_int_equal(path_write_file(path, line, strlen(line), 0644, NULL), 0);
}

static void expect_kernel_file(const struct fixture *f, unsigned cpu, const char *name,
                               const char *text)
{
    _cleanup_free_ char *path = make_file_path(f, cpu, name);
    _cleanup_str_ struct str now = STR_INIT;

    assert_int_equal(path_read_file(path, 4096, &now, NULL), 0);
    _cleanup_free_ char *got = mem_strdup(str_cstr(&now));
    assert_string_equal(str_trim(got), text);
}

static void expect_all(const struct fixture *f, unsigned cpu, const char *min, const char *max,
                       const char *governor)
{
    expect_kernel_file(f, cpu, "scaling_min_freq", min);
    expect_kernel_file(f, cpu, "scaling_max_freq", max);
    expect_kernel_file(f, cpu, "scaling_governor", governor);
}

static void make_cpu(const struct fixture *f, unsigned cpu)
{
    static const struct {
        const char *name, *text;
    } files[] = {{"cpuinfo_min_freq", "800000"},
                 {"cpuinfo_max_freq", "3000000"},
                 {"scaling_min_freq", "800000"},
                 {"scaling_max_freq", "3000000"},
                 {"scaling_cur_freq", "1800000"},
                 {"scaling_setspeed", "<unsupported>"},
                 {"scaling_governor", "schedutil"},
                 {"scaling_available_frequencies", SPEEDS},
                 {"scaling_available_governors", "ondemand performance userspace schedutil"}};
    _cleanup_free_ char *dir = mem_printf("%s/cpu%u/cpufreq", f->root, cpu);

    assert_int_equal(path_mkdirs(dir, 0755, NULL), 0);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        put_kernel_file(f, cpu, files[i].name, files[i].text);
}

static int setup(void **state)
{
    struct fixture *f = mem_new(struct fixture);

    snprintf(f->dir, sizeof(f->dir), "/tmp/cpufreq-test-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    f->root = mem_printf("%s/cpu", f->dir);
    f->spool = mem_printf("%s/spool", f->dir);
    assert_int_equal(mkdir(f->spool, 0755), 0);
    for (unsigned i = 0; i < CPUS; i++)
        make_cpu(f, i);
    f->place = (struct cpufreq_place){f->root, f->spool};
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *command = mem_printf("rm -r %s", f->dir);

    assert_int_equal((system)(command), 0);
    free(f->root);
    free(f->spool);
    free(f);
    return 0;
}

static int set_step_frequency(const struct fixture *f, uint32_t step, const char *cpus,
                              const char *freq, struct err *err)
{
    const struct cpufreq_step who = {42, 0, step};
    _cleanup_bitset_ struct bitset *set = bitset_new(64);
    struct idset ids = {0};
    struct conf_freq want;

    assert_int_equal(idset_parse(cpus, 64, &ids, NULL), 0);
    idset_foreach(&ids, i) bitset_set(set, (size_t)i);
    idset_done(&ids);
    assert_int_equal(conf_freq_parse(freq, &want, NULL), 0);
    return cpufreq_begin(&f->place, &who, set, &want, err);
}

static void reset_step_frequency(const struct fixture *f, uint32_t step)
{
    const struct cpufreq_step who = {42, 0, step};
    struct err err = {0};

    assert_int_equal(cpufreq_end(&f->place, &who, &err), 0);
}

static bool is_noted(const struct fixture *f)
{
    _cleanup_free_ char *path = mem_printf("%s/cpufreq", f->spool);

    return access(path, F_OK) == 0;
}

static void test_requests_set_frequency_and_governor(void **state)
{
    static const struct {
        const char *text, *min, *max, *governor, *speed; /* speed NULL: not set */
    } cases[] = {{"low", "800000", "3000000", "userspace", "800000"},
                 {"medium", "800000", "3000000", "userspace", "1800000"},
                 {"highm1", "800000", "3000000", "userspace", "2400000"},
                 {"high", "800000", "3000000", "userspace", "3000000"},
                 {"2000000", "800000", "3000000", "userspace", "2000000"},
                 {"performance", "800000", "3000000", "performance", NULL},
                 {"medium-highm1", "1800000", "2400000", "schedutil", NULL},
                 {"low-1000000:ondemand", "800000", "1000000", "ondemand", NULL},
                 {"1800000:userspace", "1800000", "1800000", "userspace", "1800000"}};
    struct fixture *f = *state;
    struct err err = {0};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put_kernel_file(f, 1, "scaling_setspeed", "<unsupported>");
        assert_int_equal(set_step_frequency(f, 0, "1", cases[i].text, &err), 0);
        expect_all(f, 1, cases[i].min, cases[i].max, cases[i].governor);
        expect_kernel_file(f, 1, "scaling_setspeed",
                           cases[i].speed ? cases[i].speed : "<unsupported>");
        expect_all(f, 0, "800000", "3000000", "schedutil");
        assert_true(is_noted(f));
        reset_step_frequency(f, 0);
        expect_all(f, 1, "800000", "3000000", "schedutil");
        assert_false(is_noted(f));
    }
}

/* The original state is restored completely: the frequency of userspace, and limits that exclude
   the others. */
static void test_former_speed_is_restored(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    put_kernel_file(f, 2, "scaling_governor", "userspace");
    put_kernel_file(f, 2, "scaling_setspeed", "900000");
    put_kernel_file(f, 2, "scaling_max_freq", "1000000");
    assert_int_equal(set_step_frequency(f, 0, "2", "2000000-3000000:performance", &err), 0);
    expect_all(f, 2, "2000000", "3000000", "performance");
    reset_step_frequency(f, 0);
    expect_all(f, 2, "800000", "1000000", "userspace");
    expect_kernel_file(f, 2, "scaling_setspeed", "900000");
    assert_int_equal(set_step_frequency(f, 0, "2", "high", &err), 0);
    expect_all(f, 2, "800000", "3000000", "userspace");
    reset_step_frequency(f, 0);
    expect_all(f, 2, "800000", "1000000", "userspace");
}

static void test_impossible_frequencies_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"100000", "CPU 0 runs at 800000 to 3000000 kHz: 100000 is out of bounds"},
        {"9000000", "CPU 0 runs at 800000 to 3000000 kHz: 9000000 is out of bounds"},
        {"2000000-medium", "the minimum, 2000000 kHz, is above the maximum, 1800000 kHz"},
        {"powersave", "CPU 0 has no governor powersave; it has: ondemand performance userspace"}};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct err err = {0};

        assert_int_not_equal(set_step_frequency(f, 0, "0-1", cases[i].text, &err), 0);
        assert_non_null(strstr(err.text, cases[i].why));
        expect_all(f, 0, "800000", "3000000", "schedutil");
        reset_step_frequency(f, 0);
        assert_false(is_noted(f));
    }
}

static void test_cpu_without_cpufreq_is_reported(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    assert_true(cpufreq_has(f->root, 3));
    assert_false(cpufreq_has(f->root, 40));
    assert_int_equal(set_step_frequency(f, 0, "40", "high", &err), -ENOENT);
    assert_string_equal(err.text, "the kernel has no cpufreq for its CPUs");
    assert_false(is_noted(f));
}

/* A kernel that does not list frequencies: the words refer to its range, except one. */
static void test_range_is_used_if_no_frequencies_are_listed(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *list = make_file_path(f, 0, "scaling_available_frequencies");
    struct err err = {0};

    unlink(list);
    assert_int_equal(set_step_frequency(f, 0, "0", "medium-high", &err), 0);
    expect_all(f, 0, "1900000", "3000000", "schedutil");
    assert_int_equal(set_step_frequency(f, 1, "0", "highm1", &err), -ERR_RANGE);
    assert_string_equal(err.text, "CPU 0 does not name its frequencies: HighM1 is none");
    reset_step_frequency(f, 1);
    expect_all(f, 0, "1900000", "3000000", "schedutil");
    reset_step_frequency(f, 0);
    expect_all(f, 0, "800000", "3000000", "schedutil");
}

/* The last step decides, whichever ends first. */
static void test_last_step_on_a_cpu_decides(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    for (int round = 0; round < 2; round++) {
        assert_int_equal(set_step_frequency(f, 0, "0-1", "performance", &err), 0);
        assert_int_equal(set_step_frequency(f, 1, "1-2", "ondemand", &err), 0);
        expect_kernel_file(f, 0, "scaling_governor", "performance");
        expect_kernel_file(f, 1, "scaling_governor", "ondemand");
        expect_kernel_file(f, 2, "scaling_governor", "ondemand");
        reset_step_frequency(f, round ? 1 : 0);
        expect_kernel_file(f, 0, "scaling_governor", round ? "performance" : "schedutil");
        expect_kernel_file(f, 1, "scaling_governor", round ? "performance" : "ondemand");
        reset_step_frequency(f, round ? 0 : 1);
        for (unsigned i = 0; i < CPUS; i++)
            expect_all(f, i, "800000", "3000000", "schedutil");
    }
}

/* Two CPUs that the kernel has as one. */
static void test_cpus_of_one_policy_change_together(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};

    for (unsigned i = 2; i < 4; i++)
        put_kernel_file(f, i, "related_cpus", "2 3");
    assert_int_equal(set_step_frequency(f, 0, "2", "performance", &err), 0);
    assert_int_equal(set_step_frequency(f, 1, "3", "ondemand", &err), 0);
    expect_kernel_file(f, 2, "scaling_governor", "ondemand");
    reset_step_frequency(f, 0);
    expect_kernel_file(f, 2, "scaling_governor", "ondemand");
    reset_step_frequency(f, 1);
    expect_kernel_file(f, 2, "scaling_governor", "schedutil");
}

static bool is_living(void *ctx, const struct cpufreq_step *who)
{
    return who->step_id == *(uint32_t *)ctx;
}

static void test_sweep_restores_cpus_of_ended_steps(void **state)
{
    struct fixture *f = *state;
    struct err err = {0};
    uint32_t living = 1;

    assert_int_equal(set_step_frequency(f, 0, "0", "performance", &err), 0);
    assert_int_equal(set_step_frequency(f, 1, "1", "performance", &err), 0);
    assert_int_equal(cpufreq_sweep(&f->place, is_living, &living, &err), 0);
    expect_kernel_file(f, 0, "scaling_governor", "schedutil");
    expect_kernel_file(f, 1, "scaling_governor", "performance");
    living = 7;
    assert_int_equal(cpufreq_sweep(&f->place, is_living, &living, &err), 0);
    expect_kernel_file(f, 1, "scaling_governor", "schedutil");
    assert_false(is_noted(f));
}

static void write_note(const struct fixture *f, const char *text)
{
    _cleanup_free_ char *path = mem_printf("%s/cpufreq", f->spool);

    assert_int_equal(path_write_file(path, text, strlen(text), 0600, NULL), 0);
}

/* After a reboot the kernel's state is new; a damaged note is not trusted at all. */
static void test_stale_and_damaged_notes_are_discarded(void **state)
{
    struct fixture *f = *state;
    _cleanup_free_ char *aside = mem_printf("%s/cpufreq.damaged", f->spool);
    struct err err = {0};
    uint32_t none = 7;

    write_note(f, "sluice-cpufreq 1 another-boot\ncpu 0 1 2 0 performance\nstep 42 0 0 High 0\n");
    assert_int_equal(cpufreq_sweep(&f->place, is_living, &none, &err), 0);
    expect_all(f, 0, "800000", "3000000", "schedutil");
    assert_false(is_noted(f));
    write_note(f, "rubbish\n");
    assert_int_equal(cpufreq_sweep(&f->place, is_living, &none, &err), -ERR_PARSE);
    assert_non_null(strstr(err.text, "its first line is not of such a note"));
    assert_int_equal(access(aside, F_OK), 0);
    assert_int_equal(cpufreq_sweep(&f->place, is_living, &none, &err), 0);
}

static void test_note_text_is_parsed(void **state)
{
    static const char *const bad[] = {"cpu 1 2 3\n",
                                      "cpu 70000 1 2 0 x\n",
                                      "cpu 1 2 3 4 performance more\n",
                                      "step 1 0 0 fast 0-3\n",
                                      "step 1 0 0 High x\n",
                                      "step 1 0 High 0\n",
                                      "what\n"};
    static const char good[] = "sluice-cpufreq 1 b\ncpu 3 800000 3000000 0 schedutil\n"
                               "step 42 1 4294967291 Low-2000000:OnDemand 3,5-7\n";
    _cleanup_str_ struct str out = STR_INIT;
    struct ledger n = {0};
    struct err err = {0};

    assert_int_equal(ledger_parse(good, "b", &n, &err), 0);
    ledger_format(&n, "b", &out);
    assert_string_equal(str_cstr(&out), good);
    ledger_done(&n);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        _cleanup_free_ char *text = mem_printf("sluice-cpufreq 1 b\n%s", bad[i]);

        n = (struct ledger){0};
        assert_int_equal(ledger_parse(text, "b", &n, &err), -ERR_PARSE);
        assert_string_equal(err.text, "line 2 cannot be read");
        ledger_done(&n);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_requests_set_frequency_and_governor, setup, teardown),
        cmocka_unit_test_setup_teardown(test_former_speed_is_restored, setup, teardown),
        cmocka_unit_test_setup_teardown(test_impossible_frequencies_are_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cpu_without_cpufreq_is_reported, setup, teardown),
        cmocka_unit_test_setup_teardown(test_range_is_used_if_no_frequencies_are_listed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_last_step_on_a_cpu_decides, setup, teardown),
        cmocka_unit_test_setup_teardown(test_cpus_of_one_policy_change_together, setup, teardown),
        cmocka_unit_test_setup_teardown(test_sweep_restores_cpus_of_ended_steps, setup, teardown),
        cmocka_unit_test_setup_teardown(test_stale_and_damaged_notes_are_discarded, setup,
                                        teardown),
        cmocka_unit_test(test_note_text_is_parsed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
