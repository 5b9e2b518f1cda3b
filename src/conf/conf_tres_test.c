/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "conf/conf_test_util.h"
#include "conf/conf_tres.h"

static void test_invalid_tres_weights_are_refused(void **state)
{
    static const char *const bad[] = {"cpu",       "=5",      "cpu=",    "cpu=x",
                                      "cpu=1x",    "cpu=nan", "cpu=inf", "cpu=1e300",
                                      "cpu=1,mem", "cpu=1 ",  "cpu=1=2", "cpu=0x"};
    struct conf_tres_weight out[CONF_TRES_MAX];
    size_t n = 7;

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct err err = {0};
        assert_int_equal(conf_tres_parse(bad[i], out, &n, &err), -ERR_PARSE);
        assert_int_equal(n, 7);
        assert_true(err.text[0]);
    }
    _cleanup_free_ char *name = mem_alloc(200);
    memset(name, 'a', 199);
    memcpy(name + 190, "=1", 3);
    assert_int_equal(conf_tres_parse(name, out, &n, NULL), -ERR_PARSE);
    assert_int_equal(conf_tres_parse("a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,a=1,"
                                     "a=1,a=1",
                                     out, &n, NULL),
                     -ERR_PARSE);
}

static void test_tres_weights_are_parsed(void **state)
{
    struct conf_tres_weight out[CONF_TRES_MAX];
    size_t n = 7;

    assert_int_equal(conf_tres_parse(NULL, out, &n, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_equal(conf_tres_parse("CPU=1000,,Mem=-.5,GRES/gpu=3e3,", out, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_string_equal(out[0].name, "cpu");
    assert_true(out[0].weight == 1000 && out[1].weight == -.5 && out[2].weight == 3000);
    assert_string_equal(out[2].name, "gres/gpu");
}

static void licenses_of_a_list_are_billed(void **state)
{
    static const struct {
        const char *list;
        double billing;
    } v[] = {
        {"ansys", 10},           {"ansys:3,matlab:2", 32},
        {"matlab|ansys", 1},     {"ansys|matlab", 10},
        {"ansys(n[1,3]):2", 20}, {"ansys(n[1,3]):2,matlab", 21},
        {"ansys@dbd:2", 10},     {"matlab,ansys(n[1-2])", 11},
        {"other:5", 0},          {"", 0},
        {",ansys,", 10},         {"ansys(n[1,", 10},
    };
    (void)state;
    for (size_t i = 0; i < sizeof v / sizeof v[0]; i++) {
        struct conf_bill b;
        conf_bill_begin(&b, "License/ansys=10,License/matlab=1", CONF_BILLING_SUM);
        conf_bill_add_licenses(&b, v[i].list);
        assert_true(conf_bill_sum(&b) == v[i].billing);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_invalid_tres_weights_are_refused),
                                       cmocka_unit_test(test_tres_weights_are_parsed),
                                       cmocka_unit_test(licenses_of_a_list_are_billed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
