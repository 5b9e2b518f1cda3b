/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "sim/study/trace.h"

#define GOOD "1 0 -1 10 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1\n"

static int parse_trace_text(const char *text, struct trace *t, struct err *err)
{
    _cleanup_free_ char *copy = mem_strdup(text);
    return trace_parse("t.swf", copy, t, err);
}

static void trace_without_runnable_jobs_is_refused(void **state)
{
    static const struct {
        const char *text, *said;
    } rows[] = {
        {"", "t.swf: no job in the file can run"},
        {"; only a comment\n\n", "t.swf: no job in the file can run"},
        {"1 2 3\n", "t.swf:1: 3 fields; a job has 18; no line of it is a job"},
        {"; c\nhello\n", "t.swf:2: field 1 (job number): 'hello' is not a number; no line"},
        {"1 0 -1 -1 4 -1 -1 4 60 -1 5 3 1 -1 -1 -1 -1 -1\n", "t.swf: no job in the file can run"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace t;
        struct err err = {0};
        assert_int_equal(parse_trace_text(rows[i].text, &t, &err), -ERR_PARSE);
        if (!str_starts(err.text, rows[i].said))
            fail_msg("'%s' is not '%s'", err.text, rows[i].said);
    }
}

static void invalid_lines_are_reported(void **state)
{
    static const struct {
        const char *line, *said;
    } rows[] = {
        {"2 0 -1 10 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1", "17 fields; a job has 18"},
        {"2 0 -1 10 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1 7", "19 fields; a job has 18"},
        {"2 0 -1 10 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 x",
         "field 18 (think time): 'x' is not a number"},
        {"2 0 -1 1e9 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1",
         "field 4 (run time): '1e9' is not a number"},
        {"2 0 -1 nan 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1",
         "field 4 (run time): 'nan' is not a number"},
        {"2 0 -1 0x9 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1",
         "field 4 (run time): '0x9' is not a number"},
        {"2 0 -1 1-2 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1",
         "field 4 (run time): '1-2' is not a number"},
        {"2 0 -1 10 4 -1 -1 4 60 -1 6 3 1 -1 -1 -1 -1 -1",
         "field 11 (status): 6 is not -1, nor between 0 and 5"},
        {"2 0 -1 10 -4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1",
         "field 5 (number of allocated processors): -4 is not -1, nor between 0 and 100000000"},
        {"2 -1 -1 10 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1", "it has no submit time"},
        {"-1 0 -1 10 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1", "it has no job number"},
        {"1 0 -1 10 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1", "job number 1 is on line 1, too"},
        {"; JobSpec: x min_nodes=2", "JobSpec is of no job number"},
        {"; JobSpec: 2 nodes=2", "'nodes' is not a field of a job's shape"},
        {"; UnixStartTime: soon", "UnixStartTime is not a number of seconds"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace t;
        struct err err = {0};
        _cleanup_free_ char *text = mem_printf("%s%s\n", GOOD, rows[i].line);
        assert_int_equal(parse_trace_text(text, &t, &err), 0);
        assert_int_equal(t.jobs.len, 1);
        assert_int_equal(t.bad, 1);
        assert_int_equal(t.faults.data[0].line, 2);
        assert_string_equal(t.faults.data[0].text, rows[i].said);
        trace_done(&t);
    }
}

/* Errors beyond the stored ones are counted. */
static void invalid_lines_beyond_the_limit_are_counted(void **state)
{
    struct str text = STR_INIT;
    struct trace t;
    struct err err = {0};
    (void)state;
    str_puts(&text, GOOD);
    for (int i = 0; i < 2 * TRACE_TOLD; i++)
        str_puts(&text, "bad\n");
    assert_int_equal(parse_trace_text(str_cstr(&text), &t, &err), 0);
    assert_int_equal(t.faults.len, TRACE_TOLD);
    assert_int_equal(t.bad, 2 * TRACE_TOLD);
    trace_done(&t);
    str_done(&text);
}

static void left_out_jobs_are_counted_by_cause(void **state)
{
    static const struct {
        const char *line;
        enum trace_left why;
    } rows[] = {
        {"2 0 -1 10 -1 -1 -1 -1 60 -1 1 3 1 -1 -1 -1 -1 -1", TRACE_NO_PROCS},
        {"2 0 -1 10 0 -1 -1 0 60 -1 1 3 1 -1 -1 -1 -1 -1", TRACE_NO_PROCS},
        {"2 0 -1 -1 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1", TRACE_NO_RUN},
        {"2 0 -1 0 4 -1 -1 4 60 -1 5 3 1 -1 -1 -1 -1 -1", TRACE_CANCELLED},
        {"2 0 -1 -1 -1 -1 -1 4 60 -1 5 3 1 -1 -1 -1 -1 -1", TRACE_CANCELLED},
        {"2 0 -1 10 4 -1 -1 4 60 -1 2 3 1 -1 -1 -1 -1 -1", TRACE_PARTIAL},
        {"2 0 -1 10 4 -1 -1 4 60 -1 4 3 1 -1 -1 -1 -1 -1", TRACE_PARTIAL},
        {"2 0 -1 0 4 -1 -1 4 60 -1 1 3 1 -1 -1 -1 -1 -1", TRACE_USED},
        {"2 0 -1 10 4 -1 -1 4 60 -1 5 3 1 -1 -1 -1 -1 -1", TRACE_USED}, /* while it ran */
        {"2 0 -1 10 4 -1 -1 4 60 -1 0 3 1 -1 -1 -1 -1 -1", TRACE_USED},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct trace t;
        struct err err = {0};
        _cleanup_free_ char *text = mem_printf("%s%s\n", GOOD, rows[i].line);
        assert_int_equal(parse_trace_text(text, &t, &err), 0);
        assert_int_equal(t.bad, 0);
        assert_int_equal(t.left[rows[i].why], rows[i].why == TRACE_USED ? 2 : 1);
        assert_int_equal(t.jobs.len, rows[i].why == TRACE_USED ? 2 : 1);
        trace_done(&t);
    }
}

static void every_field_of_a_job_is_read(void **state)
{
    struct trace t;
    struct err err = {0};
    (void)state;
    assert_int_equal(
        parse_trace_text("; UnixStartTime: 1000\r\n; Queue: 2 long\n;Partition: 7 gpu nodes\n"
                         "  9 50.9 3 10.2 4 1.5 200 8 60 2048 0 3 5 6 2 7 8 30 \r\n"
                         "8 20 -1 10 4 -1 300 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
                         &t, &err),
        0);
    assert_int_equal(t.begins_at, 1000);
    assert_string_equal(trace_name(&t, false, 2), "long");
    assert_string_equal(trace_name(&t, true, 7), "gpu");
    assert_null(trace_name(&t, true, 2));
    assert_int_equal(t.jobs.len, 2);
    const struct trace_job *first = &t.jobs.data[0], *j = &t.jobs.data[1];
    assert_int_equal(first->number, 8); /* ordered by submission time */
    assert_int_equal(first->procs, 4);
    assert_int_equal(first->limit_sec, 0);
    assert_int_equal(first->mem_kib, 300);
    assert_int_equal(first->queue, -1);
    assert_int_equal(first->after, 0);
    assert_int_equal(j->number, 9);
    assert_int_equal(j->submit_sec, 50);
    assert_int_equal(j->run_sec, 11);
    assert_int_equal(j->procs, 8);
    assert_int_equal(j->limit_sec, 60);
    assert_int_equal(j->mem_kib, 2048);
    assert_true(j->failed);
    assert_int_equal(j->user, 3);
    assert_int_equal(j->group, 5);
    assert_int_equal(j->exe, 6);
    assert_int_equal(j->queue, 2);
    assert_int_equal(j->part, 7);
    assert_int_equal(j->after, 8);
    assert_int_equal(j->think_sec, 30);
    assert_int_equal(j->line, 4);
    trace_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trace_without_runnable_jobs_is_refused),
        cmocka_unit_test(invalid_lines_are_reported),
        cmocka_unit_test(invalid_lines_beyond_the_limit_are_counted),
        cmocka_unit_test(left_out_jobs_are_counted_by_cause),
        cmocka_unit_test(every_field_of_a_job_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
