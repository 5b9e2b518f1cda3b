/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/mem.h"
#include "cli/opt.h"
#include "cmd/sbatch/script.h"

static void test_invalid_scripts_are_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len; /* 0: strlen */
        const char *says;
    } v[] = {
        {"", 0, "Batch script is empty!"},
        {" \n\t\n", 0, "Batch script is empty!"},
        {"hostname\n", 0, "This does not look like a batch script.  The first\n"},
        {"\n#!/bin/sh\n", 0, "This does not look like a batch script.  The first\n"},
        {"#", 0, "This does not look like a batch script.  The first\n"},
        {"#!/bin/sh\n\0x\n", 13, "contain a NULL character"},
        {"\0", 1, "This does not look like a batch script."},
        {"#!/bin/sh\r\ntrue\r\n", 0, "DOS line breaks"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str text = STR_INIT;
        struct err err = {0};
        str_append(&text, v[i].text, v[i].len ? v[i].len : strlen(v[i].text));
        assert_true(script_check(&text, &err) < 0);
        assert_non_null(strstr(err.text, v[i].says));
    }
}

static void test_size_of_a_script_is_limited(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct err err = {0};
    str_puts(&text, "#!/bin/sh\n");
    while (text.len < OPT_SCRIPT_MAX)
        str_putc(&text, ':');
    assert_int_equal(script_check(&text, &err), 0);
    str_putc(&text, ':');
    assert_true(script_check(&text, &err) < 0);
    assert_non_null(strstr(err.text, "exceeds the limit of 4194304 bytes"));
}

static void test_wrap_is_a_script(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;
    script_wrap("echo '$x'", &text);
    assert_int_equal(script_check(&text, NULL), 0);
    assert_non_null(strstr(str_cstr(&text), "\necho '$x'\n"));
}

static void test_missing_file_is_named(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;
    char *path = NULL;
    struct err err = {0};
    assert_true(script_read("/nonexistent/job.sh", NULL, &text, &path, &err) < 0);
    assert_non_null(strstr(err.text, "Unable to open file /nonexistent/job.sh"));
    assert_null(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_scripts_are_refused),
        cmocka_unit_test(test_size_of_a_script_is_limited),
        cmocka_unit_test(test_wrap_is_a_script),
        cmocka_unit_test(test_missing_file_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
