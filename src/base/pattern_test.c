/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/pattern.h"
#include "base/step_id.h"

static const struct pattern_values batch = {.job_id = 42,
                                            .array_id = 42,
                                            .array_task = PATTERN_NO_ARRAY,
                                            .has_restarts = true,
                                            .restarts = 3,
                                            .step_id = STEP_ID_BATCH,
                                            .node_index = 0,
                                            .task_id = 0,
                                            .node = "n1.example.org",
                                            .user = "alice",
                                            .job_name = "my job"};
static const struct pattern_values task = {.job_id = 7,
                                           .array_id = 7,
                                           .array_task = PATTERN_NO_ARRAY,
                                           .step_id = 3,
                                           .node_index = 2,
                                           .task_id = 11,
                                           .node = "n3",
                                           .user = "bob",
                                           .job_name = "x"};

static const struct pattern_values pending = {
    .job_id = 9, .array_id = 8, .is_open = true, .step_id = STEP_ID_BATCH, .user = "eve"};

static void test_patterns_are_expanded(void **state)
{
    static const struct {
        const char *pattern;
        const struct pattern_values *values;
        const char *name;
    } vectors[] = {
        {"", &batch, ""},
        {"%", &batch, "%"},
        {"%5", &batch, "%5"},
        {"a%qb", &batch, "a%qb"},
        {"%99999999999999999999j", &batch, "0000000042"},
        {"slurm-%j.out", &batch, "slurm-42.out"},
        {"%A_%a", &batch, "42_4294967294"},
        {"%5j", &batch, "00042"},
        {"%0j", &batch, "42"},
        {"%J-%5J", &batch, "42-00042"},
        {"%s", &batch, "batch"},
        {"%r-%2r", &batch, "3-03"},
        {"%r", &task, "%r"},
        {"%x.%j.%N.%n.%t.%u.out", &batch, "my job.42.n1.0.0.alice.out"},
        {"%A-%%.err", &batch, "42-%.err"},
        {"%%j", &batch, "%j"},
        {"\\%j", &batch, "%j"},
        {"a\\b%t", &batch, "ab%t"},
        {"%J", &task, "7.3"},
        {"%4s-%3t-%2n", &task, "0003-011-02"},
        {"t%t-%N.txt", &task, "t11-n3.txt"},
        {"%b", &task, "4"},
        {"%A_%3a.%b-%N-%u%x", &pending, "8_%3a.%b-%N-eve"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;

        assert_int_equal(pattern_expand(vectors[i].pattern, vectors[i].values, &out, NULL), 0);
        assert_string_equal(str_cstr(&out), vectors[i].name);
    }
}

static void test_too_long_expansion_is_refused(void **state)
{
    _cleanup_str_ struct str pattern = STR_INIT, out = STR_INIT;
    struct err err = {0};

    for (int i = 0; i < 4095 / 10; i++)
        str_puts(&pattern, "%10j");
    for (int i = 0; i < 5; i++)
        str_putc(&pattern, 'x');
    assert_int_equal(pattern_expand(str_cstr(&pattern), &batch, &out, &err), 0);
    assert_int_equal(out.len, 4095);
    str_putc(&pattern, 'x');
    str_clear(&out);
    assert_int_equal(pattern_expand(str_cstr(&pattern), &batch, &out, &err), -ERR_LIMIT);
}

static void test_scope_of_a_pattern_is_found(void **state)
{
    static const struct {
        const char *pattern;
        enum pattern_scope scope;
    } vectors[] = {
        {"", PATTERN_SAME},        {"%", PATTERN_SAME},        {"%%t", PATTERN_SAME},
        {"\\%t", PATTERN_SAME},    {"x%j", PATTERN_SAME},      {"%n", PATTERN_PER_NODE},
        {"%3N", PATTERN_PER_NODE}, {"%N%t", PATTERN_PER_TASK}, {"%02t", PATTERN_PER_TASK},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        assert_int_equal(pattern_scope(vectors[i].pattern), vectors[i].scope);
}

/* The controller expands patterns, too: half a gigabyte would be made of these two texts. */
static void expansion_of_a_long_name_is_bounded(void **state)
{
    enum { LENGTH = 32000 };
    char pattern[LENGTH + 1] = "", name[LENGTH + 1] = "";
    struct pattern_values v = batch;
    struct str out = STR_INIT;

    memset(name, 'n', LENGTH);
    for (size_t i = 0; i < LENGTH; i += 2)
        memcpy(pattern + i, "%x", 2);
    v.job_name = name;
    assert_int_equal(pattern_expand(pattern, &v, &out, NULL), -ERR_LIMIT);
    assert_true(out.len <= LENGTH + 4096);
    str_done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expansion_of_a_long_name_is_bounded),
        cmocka_unit_test(test_patterns_are_expanded),
        cmocka_unit_test(test_too_long_expansion_is_refused),
        cmocka_unit_test(test_scope_of_a_pattern_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
