/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/multi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void test_invalid_configurations_are_refused(void **state)
{
    static const struct {
        const char *text, *says;
    } vectors[] = {
        {"", "for task 0"},
        {"0 a\n", "for task 1"},
        {"0-2\n", "line 1: no program"},
        {"# fine\nx a\n* b\n", "line 2: \"x\""},
        {"0, a\n0 b", "line 2: task 0 has a program already"},
        {"2-1 a\n", "line 1: \"2-1\""},
        {"0-99999999999999999999 a\n", "line 1:"},
        {"0-1-2 a\n", "line 1:"},
        {"0-1 \\\n\na\n", "line 1: no program"},
        {"1 a\n0-2 b\n", "line 2: task 1 has a program already"},
        {"2-9 a\n1-2 b\n", "line 2: task 2 has a program already"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        struct err err = {0};

        assert_int_equal(multi_format(vectors[i].text, 3, &out, &err), -ERR_PARSE);
        if (strstr(err.text, vectors[i].says) == NULL)
            fail_msg("%s: %s", vectors[i].text, err.text);
    }
}

static void test_configuration_is_formatted(void **state)
{
    static const struct {
        uint32_t tasks;
        const char *text, *expect;
    } vectors[] = {
        {1, "0 a", "0) start 'a' \"$@\";;\n"},
        {2, "# c\n\n1 b %t %o 'x %t'y\n* a \\\n  z",
         "1) start 'b' '1' '0' 'x %ty' \"$@\";;\n"
         "0) start 'a' 'z' \"$@\";;\n"},
        {4, "0,2-3 o%o\n1\tt%t\n5-9 beyond",
         "0) start 'o0' \"$@\";;\n1) start 't1' \"$@\";;\nesac\n"
         "[ $SLURM_PROCID -ge 2 ] && [ $SLURM_PROCID -le 3 ] && "
         "start 'o'$(($SLURM_PROCID-1))'' \"$@\"\n"},
        {100000, "9-200000 a%o_%t\n5-7 b%o%t\n* c %o",
         "8) start 'c' '8' \"$@\";;\nesac\n"
         "[ $SLURM_PROCID -ge 9 ] && [ $SLURM_PROCID -le 99999 ] && "
         "start 'a'$(($SLURM_PROCID-9))'_'$SLURM_PROCID'' \"$@\"\n"
         "[ $SLURM_PROCID -ge 5 ] && [ $SLURM_PROCID -le 7 ] && "
         "start 'b'$(($SLURM_PROCID-5))''$SLURM_PROCID'' \"$@\"\n"
         "[ $SLURM_PROCID -ge 0 ] && [ $SLURM_PROCID -le 4 ] && "
         "start 'c' ''$SLURM_PROCID'' \"$@\"\n"},
        {4, "3,0-1 a%o\n2 b",
         "3) start 'a0' \"$@\";;\n2) start 'b' \"$@\";;\nesac\n"
         "[ $SLURM_PROCID -ge 0 ] && [ $SLURM_PROCID -le 1 ] && "
         "start 'a'$(($SLURM_PROCID+1))'' \"$@\"\n"},
        {1, "0 a\\'b 'c", "0) start 'a'\\''b' 'c' \"$@\";;\n"},
        {1, "0 a \\\"b\\\" \"c d\"",
         /* \" is a quote; it does not group words. */
         "0) start 'a' '\"b\"' '\"c' 'd\"' \"$@\";;\n"},
        {1, "0 a 'b \\\"c' \\\\d", "0) start 'a' 'b \\\"c' '\\d' \"$@\";;\n"},
        {1, "0 a $(b) `c` \"d", "0) start 'a' '$(b)' '`c`' '\"d' \"$@\";;\n"}, /* nothing expands */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT, expect = STR_INIT;
        struct err err = {0};

        str_printf(&expect, "case $SLURM_PROCID in\n%s%s", vectors[i].expect,
                   strstr(vectors[i].expect, "esac") ? "" : "esac\n");
        assert_int_equal(multi_format(vectors[i].text, vectors[i].tasks, &out, &err), 0);
        const char *arms = strstr(str_cstr(&out), "case $SLURM_PROCID");
        assert_non_null(arms);
        assert_string_equal(arms, str_cstr(&expect));
    }
}

/* Lines of 'bytes' bytes, one per task. */
static void put_lines(struct str *text, unsigned tasks, size_t bytes)
{
    for (unsigned t = 0; t < tasks; t++) {
        str_printf(text, "%u a ", t);
        for (size_t i = 0; i < bytes; i++)
            str_putc(text, 'x');
        str_putc(text, '\n');
    }
}

/* Long text is split into words that the kernel accepts, and joins to the same text; too long a
 * text is an error that states the limit. */
static void test_long_configuration_is_split_and_limited(void **state)
{
    _cleanup_str_ struct str text = STR_INIT, out = STR_INIT, again = STR_INIT;
    _cleanup_arena_ struct arena arena;
    char *argv[MULTI_ARGV_MAX];
    struct err err = {0};

    (void)state;
    arena_init(&arena, 0);
    put_lines(&text, 3, 10);
    assert_int_equal(multi_format(str_cstr(&text), 3, &out, &err), 0);
    assert_int_equal(multi_argv(&out, &arena, argv), MULTI_ARGV_HEAD);
    assert_string_equal(argv[2], str_cstr(&out));
    str_clear(&text);
    str_clear(&out);
    put_lines(&text, 3, MULTI_SCRIPT_MAX / 3 - 1000);
    assert_int_equal(multi_format(str_cstr(&text), 3, &out, &err), 0);
    size_t count = multi_argv(&out, &arena, argv);
    assert_true(count > MULTI_ARGV_HEAD && count <= MULTI_ARGV_MAX);
    for (size_t i = MULTI_ARGV_HEAD; i < count; i++) {
        assert_true(strlen(argv[i]) < 131072);
        str_puts(&again, argv[i]);
    }
    assert_string_equal(str_cstr(&again), str_cstr(&out));
    str_clear(&out);
    put_lines(&text, 1, 3000);
    str_puts(&text, "* b\n");
    memcpy(strstr(str_cstr(&text) + text.len - 3010, "0 a"), "3 a", 3);
    assert_int_equal(multi_format(str_cstr(&text), 4, &out, &err), -ERR_LIMIT);
    assert_non_null(strstr(err.text, "and 1572864 are the most"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_configurations_are_refused),
        cmocka_unit_test(test_configuration_is_formatted),
        cmocka_unit_test(test_long_configuration_is_split_and_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
