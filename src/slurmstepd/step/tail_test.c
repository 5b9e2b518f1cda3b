/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/str.h"
#include "slurmstepd/step/tail.h"

static void assert_tail(const struct tail *t, const char *want)
{
    struct tail_piece pieces[2];
    _cleanup_str_ struct str text = STR_INIT;

    for (unsigned i = 0, n = tail_get(t, pieces); i < n; i++) {
        assert_true(pieces[i].len > 0);
        str_append(&text, pieces[i].data, pieces[i].len);
    }
    assert_string_equal(str_cstr(&text), want);
}

static void test_empty_tail_has_no_text(void **state)
{
    struct tail t = {0};

    assert_tail(&t, "");
    tail_add(&t, NULL, 0, 10);
    tail_add(&t, "abc", 3, 0);
    assert_tail(&t, "");
    assert_null(t.data);
    tail_done(&t);
}

/* If older bytes were dropped, the content begins with a complete line; without any line end it is
   everything. */
static void test_last_bytes_of_pieces_are_kept(void **state)
{
    static const struct {
        const char *add[5], *want;
    } cases[] = {
        {{"0123456789"}, "0123456789"},
        {{"0123456789", "a"}, "123456789a"},
        {{"01234567890123456789\nabc"}, "abc"},
        {{"0\n", "1\n", "2\n", "3\n", "4\n"}, "0\n1\n2\n3\n4\n"},
        {{"0\n1\n", "2\n3\n4\n", "5\n"}, "2\n3\n4\n5\n"},
        {{"abcdefgh", "i\nj"}, "j"},
        {{"abcdefghijk\n"}, ""},
        {{"xx\n", "0123456", "789\n"}, ""},
        {{"xx\n", "0123\n", "5678\n"}, "5678\n"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct tail t = {0};

        for (size_t k = 0; k < 5 && cases[i].add[k]; k++)
            tail_add(&t, cases[i].add[k], strlen(cases[i].add[k]), 10);
        assert_tail(&t, cases[i].want);
        tail_done(&t);
    }
}

/* Against a string that keeps everything. */
static void test_tail_agrees_with_the_full_text(void **state)
{
    enum { LIMIT = 5000 };
    struct tail t = {0};
    _cleanup_str_ struct str all = STR_INIT;
    unsigned seed = 7;

    for (unsigned round = 0; round < 2000; round++) {
        char bytes[3000];
        size_t len = (seed = seed * 1103515245u + 12345u) >> 16;
        struct tail_piece pieces[2];
        size_t got = 0;

        len = round % 7 ? len % 60 : len % sizeof(bytes);
        for (size_t i = 0; i < len; i++)
            bytes[i] = (char)('a' + (round + i) % 26); /* no line: nothing is left out */
        tail_add(&t, bytes, len, LIMIT);
        str_append(&all, bytes, len);
        for (unsigned i = 0, n = tail_get(&t, pieces); i < n; i++)
            got += pieces[i].len;
        assert_int_equal(got, all.len < LIMIT ? all.len : LIMIT);
        size_t at = 0;
        for (unsigned i = 0, n = tail_get(&t, pieces); i < n; at += pieces[i++].len)
            assert_memory_equal(pieces[i].data, all.data + all.len - got + at, pieces[i].len);
        assert_true(t.room <= LIMIT);
    }
    tail_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_empty_tail_has_no_text),
        cmocka_unit_test(test_last_bytes_of_pieces_are_kept),
        cmocka_unit_test(test_tail_agrees_with_the_full_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
