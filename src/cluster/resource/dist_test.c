/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/resource/dist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *text, *expect; /* expect NULL: rejected */
    bool packed;               /* when the default is not packed */
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

static void test_distributions_are_parsed_and_formatted(void **state)
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

static void test_tasks_are_dealt_to_nodes(void **state)
{
    static const struct {
        const char *distribution;
        size_t n;
        uint32_t tasks, cap[4], expect[4];
    } vectors[] = {
        {"", 0, 0, {0}, {0}},
        {"", 2, 8, {8, 8}, {4, 4}}, /* in turns */
        {"block", 2, 8, {8, 8}, {4, 4}},
        {"cyclic", 3, 5, {4, 4, 4}, {2, 2, 1}},
        {"", 3, 2, {4, 4, 4}, {1, 1, 0}}, /* fewer than nodes */
        {"", 3, 6, {1, 0, 9}, {1, 0, 5}}, /* a node without capacity */
        {"", 3, 8, {2, 3, 3}, {2, 3, 3}},
        {"plane=2", 3, 7, {4, 4, 4}, {3, 2, 2}},
        {"plane=4", 3, 6, {4, 4, 4}, {4, 1, 1}}, /* each node has one */
        {"pack", 3, 5, {4, 4, 4}, {3, 1, 1}},
        {"pack", 3, 2, {4, 4, 4}, {1, 1, 0}},
        {"pack", 3, 7, {0, 2, 8}, {0, 2, 5}},
    };

    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        uint32_t got[4] = {0};
        struct dist d = {0};

        assert_int_equal(dist_parse(vectors[i].distribution, &d), 0);
        dist_deal_tasks(&d, dist_is_packed(&d, false), vectors[i].tasks, vectors[i].cap,
                        vectors[i].n, got);
        assert_memory_equal(got, vectors[i].expect, sizeof got);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_distributions_are_parsed_and_formatted),
        cmocka_unit_test(test_tasks_are_dealt_to_nodes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
