/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers of a job request for callers that do not know NO_VAL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "slurmctld/submit/job_desc.h"

static void test_invalid_numbers_are_refused(void **state)
{
    static const struct {
        const char *name;
        int64_t number;
        int code;
    } rows[] = {
        {"nothing", 1, -ERR_NOT_SUPPORTED},
        {"name", 1, -ERR_RANGE},
        {"user_name", 1, -ERR_ACCESS},
        {"min_nodes", -1, -ERR_RANGE},
        {"min_nodes", JOB_DESC_NO_VAL, -ERR_RANGE},
        {"min_nodes", INT64_MAX, -ERR_RANGE},
        {"cpus_per_task", JOB_DESC_NO_VAL16, -ERR_RANGE},
        {"contiguous", 2, -ERR_RANGE},
        {"contiguous", JOB_DESC_NO_VAL16, -ERR_RANGE},
        {"time_limit", 0, -ERR_RANGE},
        {"time_limit", JOB_DESC_INFINITE, -ERR_RANGE},
        {"time_limit", JOB_DESC_NO_VAL, -ERR_RANGE},
        {"nice", INT64_MAX, -ERR_RANGE},
        {"min_mem_per_node", INT64_MAX, -ERR_RANGE},
        {"min_mem_per_node", -5, -ERR_RANGE},
    };
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    int64_t n = 7;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct err err = {0};
        int rc = job_desc_set_number(&s, rows[i].name, rows[i].number, &err);
        if (rc != rows[i].code || err.code != rc)
            fail_msg("%s: %d, %s", rows[i].name, rc, err.text);
    }
    assert_int_equal(protobuf_c_message_get_packed_size(&s.base), 0);
    assert_int_equal(job_desc_number(&s, "nothing", &n), -ERR_NOT_SUPPORTED);
    assert_int_equal(job_desc_number(&s, "name", &n), -ERR_RANGE);
    assert_int_equal(job_desc_clear(&s, "nothing", NULL), -ERR_NOT_SUPPORTED);
    assert_int_equal(job_desc_clear(&s, "user_name", NULL), -ERR_ACCESS);
    assert_int_equal(n, 7);
}

static void test_set_fields_can_be_read(void **state)
{
    static const struct {
        const char *name;
        int64_t number;
    } rows[] = {{"min_nodes", 3},
                {"nice", -5},
                {"nice", 0},
                {"time_limit", 61},
                {"contiguous", 1},
                {"time_limit", INT64_MAX},
                {"shared", 0},
                {"site_factor", -3},
                {"begin_time", 4000},
                {"min_mem_per_cpu", 70},
                {"min_mem_per_node", 80},
                {"priority", 4000000000}};

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        Pb__JobSpec s = PB__JOB_SPEC__INIT;
        int64_t n = 7;
        assert_int_equal(job_desc_number(&s, rows[i].name, &n), 1);
        assert_int_equal(job_desc_set_number(&s, rows[i].name, rows[i].number, NULL), 0);
        assert_int_equal(job_desc_number(&s, rows[i].name, &n), 0);
        assert_int_equal(n, rows[i].number);
        assert_int_equal(job_desc_clear(&s, rows[i].name, NULL), 0);
        assert_int_equal(job_desc_number(&s, rows[i].name, &n), 1);
    }
    Pb__JobSpec s = PB__JOB_SPEC__INIT;
    int64_t n = 7;
    assert_int_equal(job_desc_set_number(&s, "min_mem_per_cpu", 70, NULL), 0);
    assert_int_equal(job_desc_number(&s, "pn_min_memory", &n), 1); /* not with a bit that says so */
    assert_int_equal(n, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_numbers_are_refused),
        cmocka_unit_test(test_set_fields_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
