/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/str.h"
#include "slurmd/io/configless.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void invalid_server_lists_are_refused(void **state)
{
    static const char *const lists[] = {
        "",    ",",   "a,",   ",a",   ":6817",       "a:",          "a:0",     "a:65536", "a:x",
        "a b", "a/b", "[::1", "[]:1", "[::1]x:6817", "a:6817,b:-1", "a:6817b", "h()",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(lists); i++) {
        struct rpc_target *targets = NULL;
        struct err err = {0};
        size_t count = 0;
        if (!configless_parse(lists[i], &targets, &count, &err))
            fail_msg("'%s' was accepted", lists[i]);
        if (!targets)
            assert_non_null(strstr(err.text, "--conf-server"));
        for (size_t n = 0; n < count; n++)
            free((char *)targets[n].addr);
        free(targets);
    }
}

static void too_many_servers_are_refused(void **state)
{
    _cleanup_str_ struct str list = STR_INIT;
    struct rpc_target *targets = NULL;
    size_t count;

    (void)state;
    for (int i = 0; i < 65; i++)
        str_printf(&list, "%sh%d", i ? "," : "", i);
    assert_true(configless_parse(str_cstr(&list), &targets, &count, NULL) < 0);
    assert_null(targets);
}

static void server_lists_are_parsed(void **state)
{
    static const struct {
        const char *list;
        size_t count;
        const char *addr; /* of the last */
        uint16_t port;
    } cases[] = {
        {"ctl", 1, "ctl", 6817},
        {"ctl:7000", 1, "ctl", 7000},
        {"a.example.org:1,b", 2, "b", 6817},
        {"a, b:65535", 2, "b", 65535},
        {"10.0.0.1:6818", 1, "10.0.0.1", 6818},
        {"::1", 1, "::1", 6817},
        {"[::1]", 1, "::1", 6817},
        {"[fe80::1]:9", 1, "fe80::1", 9},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct rpc_target *targets = NULL;
        struct err err = {0};
        size_t count = 0;
        if (configless_parse(cases[i].list, &targets, &count, &err))
            fail_msg("'%s': %s", cases[i].list, err.text);
        assert_int_equal(count, cases[i].count);
        assert_string_equal(targets[count - 1].addr, cases[i].addr);
        assert_int_equal(targets[count - 1].port, cases[i].port);
        for (size_t n = 0; n < count; n++)
            free((char *)targets[n].addr);
        free(targets);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_server_lists_are_refused),
        cmocka_unit_test(too_many_servers_are_refused),
        cmocka_unit_test(server_lists_are_parsed),
    };

    return cmocka_run_group_tests_name("configless", tests, NULL, NULL);
}
