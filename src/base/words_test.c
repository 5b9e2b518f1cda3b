/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/str.h"

static void words_of_lists(void **state)
{
    static const struct {
        const char *list, *words;
    } cases[] = {
        {NULL, ""},
        {"", ""},
        {",", "<>"},
        {"a", "<a>"},
        {"a,", "<a>"},
        {",a", "<><a>"},
        {"a,,b", "<a><><b>"},
        {"a,b", "<a><b>"},
        {"a,,", "<a><>"},
        {"a b", "<a b>"},
        {"a=1,b=2", "<a=1><b=2>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        _cleanup_str_ struct str out = STR_INIT;
        words_foreach (cases[i].list, w) {
            _cleanup_free_ char *copy = word_dup(w);
            str_printf(&out, "<%s>", copy);
            w.len = 0; /* the next one is found all the same */
        }
        assert_string_equal(str_cstr(&out), cases[i].words);
    }
}

static void a_word_is_compared_whole(void **state)
{
    words_foreach ("Cpu,cp,cpus", w)
        assert_int_equal(word_case_eq(w, "CPU"), w.len == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_lists),
        cmocka_unit_test(a_word_is_compared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
