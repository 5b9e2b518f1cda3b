/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sched/constraint.h"
#include "sched/sched_test_util.h"

static const char conf[] = CONS "NodeName=n1 CPUs=4 Feature=1200MHz,fs1\n"
                                "NodeName=n2 CPUs=4 Feature=fs2,16GB_Swap\n"
                                "NodeName=n[3-4] CPUs=4 Feature=fs1,fs2,gpu\n"
                                "PartitionName=p Nodes=ALL\n";

static void malformed(void **state)
{
    static const char *const v[] = {"",       "&",          "fs1&",    "|fs1",        "fs1||fs2",
                                    "[fs1",   "fs1]",       "[]",      "[fs1|]",      "[fs1&fs2]",
                                    "a[fs1]", "[fs1]fs2",   "[[fs1]]", "[fs1]&[fs2]", "[fs1|[fs2]]",
                                    "none",   "[fs1|none]", "fs1*2"};
    struct cluster *c = test_cluster(conf);
    for (size_t i = 0; i < COUNT(v); i++) {
        struct err err = {0};
        if (constraint_check(c, v[i], &err) != -ERR_FEATURE || !err.text[0])
            fail_msg("'%s' passes", v[i]);
    }
    test_cluster_free(c);
}

/* 64 names at most: what it costs grows with more than their number. */
static void long_ones(void **state)
{
    struct cluster *c = test_cluster(conf);
    for (int names = 64; names <= 65; names++) {
        for (int grouped = 0; grouped < 2; grouped++) {
            _cleanup_str_ struct str expr = STR_INIT;
            struct err err = {0};
            str_puts(&expr, grouped ? "[" : "");
            for (int i = 0; i < names; i++)
                str_printf(&expr, "%s%s", i == 0 ? "" : grouped ? "|" : "&", "fs1");
            str_puts(&expr, grouped ? "]" : "");
            int rc = constraint_check(c, str_cstr(&expr), &err);
            assert_int_equal(rc, names == 64 ? 0 : -ERR_FEATURE);
            assert_true(names == 64 || strstr(err.text, "more than 64 names"));
        }
    }
    test_cluster_free(c);
}

/* Which of n1 to n4 fit, for each of the alternatives. */
static void matches(void **state)
{
    static const struct {
        const char *expr, *fit;
    } v[] = {
        {"1200MHz", "1..."},
        {"16GB_Swap", ".2.."},
        {"fs1|fs2", "1234"},
        {"fs1&fs2", "..34"},
        {"fs1&fs2|1200MHz", "1.34"},
        {"fs1,gpu", "..34"},
        {"[fs1|fs2]", "1.34 .234"},
        {"gpu&[fs1|fs2]", "..34 ..34"},
        {"[1200MHz|gpu]&fs1", "1... ..34"},
        {"[gpu]", "..34"},
    };
    struct cluster *c = test_cluster(conf);
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_str_ struct str fit = STR_INIT;
        struct err err = {0};
        if (constraint_check(c, v[i].expr, &err) != 0)
            fail_msg("%s", err.text);
        for (uint32_t which = 0; which < constraint_alternatives(v[i].expr); which++) {
            if (which)
                str_putc(&fit, ' ');
            for (uint32_t n = 0; n < 4; n++) {
                bool fits = constraint_match(c->nodes.data[n]->features, v[i].expr, which);
                str_putc(&fit, fits ? (char)('1' + n) : '.');
                assert_true(!fits || constraint_match_any(c->nodes.data[n]->features, v[i].expr));
            }
        }
        assert_string_equal(str_cstr(&fit), v[i].fit);
    }
    assert_int_equal(constraint_alternatives(NULL), 1);
    test_cluster_free(c);
}

/* Nodes of one job share the feature that a group chose; without the group each fits by itself. */
static void all_nodes_share_one(void **state)
{
    static const struct {
        const char *words, *where;
    } v[] = {
        {"N=3 C=fs1|fs2", "n1:1/0 n2:1/0 n3:1/0"},
        {"N=3 C=[fs1|fs2]", "n1:1/0 n3:1/0 n4:1/0"},
        {"N=2 C=[16GB_Swap|gpu]", "n3:1/0 n4:1/0"},
        {"N=4 C=[fs1|fs2]", ""},
    };
    struct cluster *c = test_cluster(conf);
    test_up(c);
    for (size_t i = 0; i < COUNT(v); i++) {
        struct job *j = test_job(c, (uint32_t)i + 1, v[i].words);
        _cleanup_bitset_ struct bitset *allowed = select_candidates(c, j);
        struct selection s = {0};
        struct err err = {0};
        int rc = select_nodes(c, j, allowed, NULL, &s);
        _cleanup_free_ char *text = test_selection(c, &s);
        assert_string_equal(text, v[i].where);
        assert_int_equal(rc, *text ? 0 : -ERR_NODES_BUSY);
        assert_int_equal(select_possible(c, j, &err), *text ? 0 : -ERR_NODE_CONFIG);
        select_done(&s);
    }
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed),
        cmocka_unit_test(long_ones),
        cmocka_unit_test(matches),
        cmocka_unit_test(all_nodes_share_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
