/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "show/json_out.h"

static void test_json_is_converted_to_yaml(void **state)
{
    static const struct {
        const char *json, *yaml;
    } v[] = {
        {"{\"a\":1}", "a: 1\n"},
        {"{\"a\":\"1\"}", "a: \"1\"\n"},
        {"{\"a\":\"\"}", "a: \"\"\n"},
        {"{\"a\":\"no\"}", "a: \"no\"\n"},
        {"{\"a\":\"x: y\"}", "a: 'x: y'\n"},
        {"{\"a\":null,\"b\":true}", "a: null\nb: true\n"},
        {"{\"a\":[\"n1\",2]}", "a:\n- n1\n- 2\n"},
        {"{\"a\":[]}", "a: []\n"},
        {"{\"a\":0.1}", "a: 0.10000000000000001\n"},
        {"{\"a\":2.0}", "a: 2.0\n"},
        {"{\"a\":\"0x1f\"}", "a: \"0x1f\"\n"},
        {"{\"a\":\"0b11\"}", "a: \"0b11\"\n"},
        {"{\"a\":\"0o17\"}", "a: \"0o17\"\n"},
        {"{\"a\":\".inf\"}", "a: \".inf\"\n"},
        {"{\"a\":\"2026-11-24T08:00:00Z\"}", "a: \"2026-11-24T08:00:00Z\"\n"},
        {"{\"a\":\"<<\"}", "a: \"<<\"\n"},
        {"{\"a\":\"info\"}", "a: info\n"},
        {"{\"a\":\"x\\u001by\"}", "a: \"x\\ey\"\n"},
    };
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        _cleanup_str_ struct str out = STR_INIT;
        json_t *value = json_loads(v[i].json, 0, NULL);
        assert_non_null(value);
        json_out_yaml(value, &out);
        json_decref(value);
        assert_string_equal(str_cstr(&out), v[i].yaml);
    }
}

static void test_text_of_any_bytes(void **state)
{
    json_t *bad = json_out_text("a\xff"), *none = json_out_text(NULL);
    assert_string_equal(json_string_value(bad), "a\xef\xbf\xbd");
    assert_string_equal(json_string_value(none), "");
    json_decref(bad);
    json_decref(none);
}

static void test_comma_list_becomes_an_array(void **state)
{
    json_t *list = json_out_list("a,,b,");
    assert_int_equal(json_array_size(list), 2);
    assert_string_equal(json_string_value(json_array_get(list, 1)), "b");
    json_decref(list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_json_is_converted_to_yaml),
                                       cmocka_unit_test(test_text_of_any_bytes),
                                       cmocka_unit_test(test_comma_list_becomes_an_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
