/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "slurmstepd/task/hook.h"

static void check_directives(const char *text, size_t len, const char *env_want,
                             const char *out_want, const char *complaints_want)
{
    char *vars[] = {"A=1", "B=two words", "PATH=/bin"};
    struct envlist env = {0};
    struct str out = STR_INIT, complaints = STR_INIT, got = STR_INIT;

    envlist_load(&env, vars, 3);
    hook_apply_directives(text, len, &env, &out, &complaints);
    for (char **p = envlist_argv(&env); *p; p++)
        str_printf(&got, "%s;", *p);
    assert_string_equal(str_cstr(&got), env_want);
    assert_string_equal(str_cstr(&out), out_want);
    assert_string_equal(str_cstr(&complaints), complaints_want);
    str_done(&got);
    str_done(&out);
    str_done(&complaints);
    envlist_done(&env);
}

#define SAME "A=1;B=two words;PATH=/bin;"

static void test_prolog_directives_are_applied(void **state)
{
    static const struct {
        const char *text, *env, *out, *complaints;
    } vectors[] = {
        /* no sense */
        {"export", SAME, "", "cannot use `export'\n"},
        {"export \n", SAME, "", "cannot use `export '\n"},
        {"export C\n", SAME, "", "cannot use `export C'\n"},
        {"export =x\n", SAME, "", "cannot use `export =x'\n"},
        {"export C D=1\n", SAME, "", "cannot use `export C D=1'\n"},
        {"export C =1\n", SAME, "", "cannot use `export C =1'\n"},
        {"unset\nunset  \nunset A=1\n", SAME, "",
         "cannot use `unset'\ncannot use `unset  '\ncannot use `unset A=1'\n"},
        /* not ours */
        {"", SAME, "", ""},
        {"\n\n\r\n", SAME, "", ""},
        {"exported C=1\nexport=1\nunsetenv A\nprinter\nPrint x\n export C=1\n# export C=1\n", SAME,
         "", ""},
        {"Loading module x\n", SAME, "", ""},
        /* variables */
        {"export C=3", SAME "C=3;", "", ""}, /* the last newline may be missing */
        {"export C=\n", SAME "C=;", "", ""},
        {"export A=x=y \"z\" $B \n", "A=x=y \"z\" $B ;B=two words;PATH=/bin;", "", ""},
        {"export\t  C=1\nexport C=2\n", SAME "C=2;", "", ""},
        {"export PATH=/x:/bin\nunset A\n", "B=two words;PATH=/x:/bin;", "", ""},
        {"unset A NONE\tB\n", "PATH=/bin;", "", ""},
        {"export C=1\nunset C\nexport C=2\n", SAME "C=2;", "", ""},
        /* output */
        {"print hello  world \n", SAME, "hello  world \n", ""},
        {"print\nprint \nprint print x", SAME, "\n\nprint x\n", ""},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++)
        check_directives(vectors[i].text, strlen(vectors[i].text), vectors[i].env, vectors[i].out,
                         vectors[i].complaints);
}

static void test_nul_bytes_end_a_directive(void **state)
{
    static const char binary[] = "\0\0x\nexport C=a\0b\nunset A\0\nel\0f\n";

    check_directives(binary, sizeof(binary) - 1, SAME, "",
                     "cannot use `export C=a'\ncannot use `unset A'\n");
}

static void test_length_of_directives_is_limited(void **state)
{
    struct str text = STR_INIT, want = STR_INIT;

    str_puts(&text, "export C=");
    for (size_t i = 2; i < DIRECTIVE_VALUE_MAX; i++)
        str_putc(&text, 'x');
    str_printf(&want, SAME "%s;", str_cstr(&text) + 7);
    check_directives(text.data, text.len, str_cstr(&want), "", "");
    str_putc(&text, 'x');
    check_directives(text.data, text.len, SAME, "",
                     "cannot use `export C=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'\n");
    str_clear(&text);
    for (int i = 0; i < 100000; i++)
        str_puts(&text, "export\n");
    struct envlist env = {0};
    struct str out = STR_INIT, complaints = STR_INIT;
    hook_apply_directives(text.data, text.len, &env, &out, &complaints);
    assert_true(complaints.len > 500 && complaints.len < 2000);
    str_done(&complaints);
    str_done(&text);
    str_done(&want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prolog_directives_are_applied),
        cmocka_unit_test(test_nul_bytes_end_a_directive),
        cmocka_unit_test(test_length_of_directives_is_limited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
