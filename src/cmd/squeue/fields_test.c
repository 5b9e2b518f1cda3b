/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/timefmt.h"
#include "cmd/common/cmd.h"
#include "cmd/squeue/fields.h"

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

static void expect(const char *format, const char *line)
{
    _cleanup_str_ struct str rows = STR_INIT;
    struct fields_view view = {.job = &job, .now = 1000, .cluster = "c"};
    struct listing l;
    listing_init(&l, &fields_jobs);
    listing_set_letters(&l, format);
    listing_add(&l, &view);
    listing_print_rows(&l, &rows);
    assert_string_equal(str_cstr(&rows), line);
    listing_done(&l);
}

static void test_default_columns(void **state)
{
    expect("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R",
           "                 7      main  sleeper      ann PD       0:00      2 (Resources)\n");
    live.state = PB__JOB_STATE__RUNNING;
    live.start_at = 998;
    live.nodes = "n[1-2]";
    expect("%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R",
           "                 7      main  sleeper      ann  R       0:02      2 n[1-2]\n");
    expect("%i|%j|%u|%T|%t|%D|%N|%P|%C|%l|%L",
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
        expect("%R", v[i].text);
    }
}

static void test_absent_values(void **state)
{
    expect("%a|%B|%E|%f|%k|%m|%n|%N|%o|%q|%S|%v|%Y|%z", "(null)|n/a|(null)|(null)|(null)|0|||(null)"
                                                        "|(null)|N/A|(null)|(null)|*:*:*\n");
    live.has_time_limit_sec = 0;
    expect("%l", "NOT_SET\n");
    live.has_time_limit_sec = 1;
    live.time_limit_sec = TIME_UNLIMITED;
    expect("%l|%L", "UNLIMITED|UNLIMITED\n");
}

static void test_tables(void **state)
{
    const struct listing_table *tables[] = {&fields_jobs, &fields_steps};
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
        cmocka_unit_test_setup(test_default_columns, setup),
        cmocka_unit_test_setup(test_reason_or_nodes, setup),
        cmocka_unit_test_setup(test_absent_values, setup),
        cmocka_unit_test(test_tables),
    };
    cmd_start("squeue");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
