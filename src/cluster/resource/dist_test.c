/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/dist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text, *expect; /* expect NULL: refused */
    bool packed;               /* where that is not the default */
} rows[] = {
    {"foo", NULL, false},
    {"block:foo", NULL, false},
    {"block:plane", NULL, false},
    {"fcyclic", NULL, false},
    {"block:block:block:block", NULL, false},
    {"block,", NULL, false},
    {"block,pack,pack", NULL, false},
    {"block,pack:cyclic", NULL, false},
    {"packs", NULL, false},
    {"pack,block", NULL, false},
    {"pack", "block,pack", true},
    {"NoPack", "block,nopack", false},
    {"plane=", NULL, false},
    {"plane=0", NULL, false},
    {"plane=-1", NULL, false},
    {"plane=2x", NULL, false},
    {"plane=4000000000", NULL, false},
    {"block=2", NULL, false},
    {"blockk", NULL, false},
    {"b", NULL, false},
    {NULL, "", false},
    {"", "", false},
    {"*", "", false},
    {"*:*:*", "", false},
    {"block", "block", false},
    {"Cyclic", "cyclic", false},
    {"ARBITRARY", "arbitrary", false},
    {"plane", "plane", false},
    {"plane=4", "plane=4", false},
    {"plane=999999999", "plane=999999999", false},
    {"*:block", "block:block", false},
    {"cyclic:*", "cyclic", false},
    {"cyclic:*:Block", "cyclic:*:block", false},
    {"::fcyclic", "block:*:fcyclic", false},
    {"block:cyclic:cyclic,NoPack", "block:cyclic:cyclic,nopack", false},
    {"block:fcyclic,Pack", "block:fcyclic,pack", true},
    {"*,Pack", "block,pack", true},
    {"cyclic,Pack", "cyclic,pack", false}, /* applies to blocks only */
};

static void test_rows(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        _cleanup_str_ struct str out = STR_INIT;
        struct dist d = {0}, again;
        int rc = dist_parse(rows[i].text, &d);
        dist_format(&d, &out);
        if (rc < 0 ? rows[i].expect || out.len
                   : !rows[i].expect || strcmp(str_cstr(&out), rows[i].expect) != 0)
            fail_msg("%s: %d %s", rows[i].text, rc, str_cstr(&out));
        assert_int_equal(dist_is_packed(&d, false), rows[i].packed);
        assert_int_equal(dist_parse(str_cstr(&out), &again), 0);
        if (rc == 0 && d.nodes)
            assert_memory_equal(&again, &d, sizeof d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
