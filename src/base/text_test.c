/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *in, *escaped, *json, *blank;
} rows[] = {
    {"", "", "", ""},
    {"plain \"text\" \\ 100%", "plain \"text\" \\ 100%", "plain \"text\" \\ 100%",
     "plain \"text\" \\ 100%"},
    {"a\033[31mb", "a\\033[31mb", "a\\u001b[31mb", "a?[31mb"},
    {"a\nb\tc\rd", "a\\nb\\tc\\rd", "a\nb\tc\\u000dd", "a b c?d"},
    {"\177\001", "\\177\\001", "\\u007f\\u0001", "??"},
    {"gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80",
     "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80", "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"},
    {"\xc2\x9b"
     "31m",
     "\\23331m", "\\u009b31m", "?31m"}, /* a CSI of one character */
    {"a\xe2\x80\xaetxt.exe", "a\\u202etxt.exe", "a\\u202etxt.exe", "a?txt.exe"},
    {"\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\x8f\xd8\x9c", "\\u2066\\u2069\\u200f\\u061c",
     "\\u2066\\u2069\\u200f\\u061c", "????"},
    {"\xe2\x80\xa8\xe2\x80\xa9\xef\xbb\xbf", "\\u2028\\u2029\\ufeff", "\\u2028\\u2029\\ufeff",
     "???"},
    {"\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf",
     "\xe2\x80\xa7\xe2\x80\xaf"}, /* the neighbours */
    {"\xff", "\\377", "\xef\xbf\xbd", "?"},
    {"\xc3", "\\303", "\xef\xbf\xbd", "?"}, /* cut */
    {"\xe2\x80", "\\342\\200", "\xef\xbf\xbd\xef\xbf\xbd", "??"},
    {"\xc0\xaf", "\\300\\257", "\xef\xbf\xbd\xef\xbf\xbd", "??"}, /* longer than necessary */
    {"\xe0\x80\xaf", "\\340\\200\\257", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "???"},
    {"\xed\xa0\x80", "\\355\\240\\200", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd", "???"},
    {"\xf4\x90\x80\x80", "\\364\\220\\200\\200", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd",
     "????"},
};

static void control_characters_are_escaped(void **state)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        _cleanup_str_ struct str escaped = STR_INIT, json = STR_INIT;
        char blank[64];
        snprintf(blank, sizeof blank, "%s", rows[i].in);
        text_blank(blank);
        text_escape(rows[i].in, &escaped);
        text_escape_json(rows[i].in, &json);
        assert_string_equal(str_cstr(&escaped), rows[i].escaped);
        assert_string_equal(str_cstr(&json), rows[i].json);
        assert_string_equal(blank, rows[i].blank);
    }
}

static void line_breaks_are_kept_between_lines(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    text_escape_lines("a\tb\n\n\xff", &out);
    assert_string_equal(str_cstr(&out), "a\\tb\n\n\\377");
}

/* For any two bytes and any text of three: the output is harmless, and escaping it again changes
   nothing. */
static void escaped_random_text_is_printable(void **state)
{
    uint32_t drawn = 7;

    for (uint32_t i = 0; i < 65536 + 200000; i++) {
        char in[8] = {0}, blank[8];
        size_t count = 2;
        in[0] = (char)i;
        in[1] = (char)(i >> 8);
        if (i >= 65536) {
            count = 7;
            for (size_t k = 0; k < count; k++) {
                drawn = drawn * 1664525 + 1013904223;
                in[k] = (char)(k % 2 ? 0x80 | (drawn >> 24 & 0x3f) : drawn >> 24);
            }
        }
        _cleanup_str_ struct str once = STR_INIT, twice = STR_INIT;
        text_escape(in, &once);
        text_escape(str_cstr(&once), &twice);
        assert_string_equal(str_cstr(&once), str_cstr(&twice));
        memcpy(blank, in, sizeof(in));
        text_blank(blank);
        for (size_t at = 0, len = strlen(blank), n; at < len; at += n) {
            bool harmful;
            n = text_next(blank + at, len - at, &harmful);
            assert_false(harmful);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(control_characters_are_escaped),
        cmocka_unit_test(line_breaks_are_kept_between_lines),
        cmocka_unit_test(escaped_random_text_is_printable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
