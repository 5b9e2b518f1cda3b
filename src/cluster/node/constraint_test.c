/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cluster/cluster_test_util.h"

static const char conf[] = CONS "NodeName=n1 CPUs=4 Feature=1200MHz,fs1\n"
                                "NodeName=n2 CPUs=4 Feature=fs2,16GB_Swap\n"
                                "NodeName=n[3-4] CPUs=4 Feature=fs1,fs2,gpu\n"
                                "PartitionName=p Nodes=ALL\n";

/* Parses and checks an expression against the cluster; the caller frees it. */
static int parse_and_check(const struct cluster *c, const char *expr, struct constraint **out,
                           struct err *err)
{
    int rc = constraint_parse(expr, "", out, err);
    return rc == 0 ? constraint_check(c, *out, err) : rc;
}

static void malformed_constraints_are_refused(void **state)
{
    static const struct {
        const char *expr, *why;
    } v[] = {
        {"", "missing"},
        {"&", "missing"},
        {"fs1&", "missing"},
        {"|fs1", "missing"},
        {"fs1||fs2", "missing"},
        {"[fs1", "not closed"},
        {"fs1]", "closing"},
        {"fs1)", "closing"},
        {"[]", "closing"},
        {"()", "closing"},
        {"[fs1|]", "closing"},
        {"[fs1&fs2]", "counts"},
        {"[fs1&fs2*2]", "counts"},
        {"[fs1*2&gpu]", "counts"},
        {"[fs1*1|fs2*1]", "not with |"},
        {"[fs1|fs2*1]", "counts"},
        {"[fs1*1&fs2*1|gpu]", "either | or &"},
        {"a[fs1]", "missing before"},
        {"fs1(fs2)", "missing before"},
        {"[fs1]fs2", "missing"},
        {"[[fs1]]", "one group"},
        {"[fs1]&[fs2]", "one group"},
        {"[fs1|[fs2]]", "one group"},
        {"([fs1])", "one group"},
        {"(fs1", "not closed"},
        {"(fs1*2)", "belongs behind"},
        {"(fs1*2&fs2)", "belongs behind"},
        {"fs1*", "from 1"},
        {"fs1*0", "from 1"},
        {"fs1*x", "from 1"},
        {"fs1*2x", "from 1"},
        {"fs1*-1", "from 1"},
        {"fs1*2*3", "from 1"},
        {"fs1*1234567890", "beyond"},
        {"*2", "missing"},
        {"fs1*2|fs2", "joined by &"},
        {"fs2|fs1*2", "joined by &"},
        {"[fs1*2]|fs2", "joined by &"},
        {"[fs1|fs2]&gpu*1", "not both"},
        {"gpu*1&[fs1|fs2]", "not both"},
        {"fs1*1&fs2*1&gpu*1", "two counts"},
        {"[fs1*1&fs1*1&fs1*1&fs1*1&fs1*1&fs1*1&fs1*1&fs1*1&fs1*1]", "8 counts"},
        {"none", "none: no node"},
        {"[fs1|none]", "none: no node"},
        {"fs1&(fs2|none)", "none: no node"},
        {"none*1", "none: no node"},
    };
    struct cluster *c = test_cluster(conf);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct err err = {0};
        struct constraint *con = NULL;
        if (parse_and_check(c, v[i].expr, &con, &err) != -ERR_FEATURE ||
            !strstr(err.text, v[i].why))
            fail_msg("'%s': %s", v[i].expr, err.text);
        constraint_free(con);
    }
    test_cluster_free(c);
}

/* Parses "(((fs1)))", or with 'open' one more parenthesis. */
static int parse_nested(unsigned depth, const char *open, struct err *err)
{
    _cleanup_str_ struct str expr = STR_INIT;
    struct constraint *con = NULL;
    str_puts(&expr, open);
    for (unsigned i = 0; i < depth; i++)
        str_putc(&expr, '(');
    str_puts(&expr, "fs1");
    for (unsigned i = 0; i < depth; i++)
        str_putc(&expr, ')');
    int rc = constraint_parse(str_cstr(&expr), "", &con, err);
    constraint_free(con);
    return rc;
}

/* No request can cause deep recursion, long parsing or long messages. */
static void deep_and_long_constraints_are_refused(void **state)
{
    struct err err = {0};
    (void)state;
    assert_int_equal(parse_nested(16, "", &err), 0);
    assert_int_equal(parse_nested(17, "", &err), -ERR_FEATURE);
    assert_int_equal(parse_nested(30000, "", &err), -ERR_FEATURE);
    assert_int_equal(parse_nested(30000, "[", &err), -ERR_FEATURE);
    assert_true(strlen(err.text) < 400);
    char *text = mem_alloc(32769);
    for (const char *fill = "a*([,|&)]1"; *fill; fill++) {
        struct constraint *con = NULL;
        memset(text, *fill, 32768);
        text[32768] = 0;
        if (constraint_parse(text, "", &con, &err) == 0)
            assert_true(*fill == 'a' || *fill == '1'); /* a name that no node has */
        constraint_free(con);
    }
    free(text);
}

/* At most 64 names: the cost grows faster than their number. */
static void number_of_feature_names_is_limited(void **state)
{
    struct cluster *c = test_cluster(conf);
    (void)state;
    for (int names = 64; names <= 65; names++) {
        for (int grouped = 0; grouped < 2; grouped++) {
            _cleanup_str_ struct str expr = STR_INIT;
            struct err err = {0};
            struct constraint *con = NULL;
            str_puts(&expr, grouped ? "[" : "");
            for (int i = 0; i < names; i++)
                str_printf(&expr, "%s%s", i == 0 ? "" : grouped ? "|" : "&", "fs1");
            str_puts(&expr, grouped ? "]" : "");
            int rc = parse_and_check(c, str_cstr(&expr), &con, &err);
            assert_int_equal(rc, names == 64 ? 0 : -ERR_FEATURE);
            assert_true(names == 64 || strstr(err.text, "more than 64 names"));
            assert_true(rc != 0 || constraint_match_any(con, "fs1"));
            constraint_free(con);
        }
    }
    test_cluster_free(c);
}

/* Which of n1 to n4 match for each alternative, and which of them each count matches. */
static void constraints_match_nodes(void **state)
{
    static const struct {
        const char *expr, *fit, *counted;
        uint32_t least;
    } v[] = {
        {"1200MHz", "1...", "", 0},
        {"16GB_Swap", ".2..", "", 0},
        {"fs1|fs2", "1234", "", 0},
        {"fs1&fs2", "..34", "", 0},
        {"fs1&fs2|1200MHz", "1.34", "", 0},
        {"1200MHz|fs1&fs2", "..34", "", 0}, /* from left to right */
        {"1200MHz|(fs1&fs2)", "1.34", "", 0},
        {"(1200MHz|16GB_Swap)", "12..", "", 0},
        {"((fs1|fs2)&(gpu|(1200MHz)))", "1.34", "", 0},
        {"fs1,gpu", "..34", "", 0},
        {"[fs1|fs2]", "1.34 .234", "", 0},
        {"[fs1|(fs2&gpu)]", "1.34 ..34", "", 0},
        {"gpu&[fs1|fs2]", "..34 ..34", "", 0},
        {"[1200MHz|gpu]&fs1", "1... ..34", "", 0},
        {"[gpu]", "..34", "", 0},
        {"gpu*2", "1234", "..34", 2},
        {"gpu*1&fs2", ".234", "..34", 1},
        {"fs1&gpu*1", "1.34", "..34", 1},
        {"fs1*3&fs2*2", "1234", "1.34 .234", 3},
        {"(fs1&fs2)*2", "1234", "..34", 2},
        {"[1200MHz*1&16GB_Swap*1]", "12..", "1... .2..", 2},
        {"[(1200MHz|16GB_Swap)*1&gpu*2]", "1234", "12.. ..34", 3},
        {"fs1&[(1200MHz|16GB_Swap)*1&gpu*2]", "1.34", "12.. ..34", 3},
        {"[gpu*2]", "..34", "..34", 2},
    };
    struct cluster *c = test_cluster(conf);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        _cleanup_str_ struct str fit = STR_INIT, counted = STR_INIT;
        struct err err = {0};
        struct constraint *con = NULL;
        if (parse_and_check(c, v[i].expr, &con, &err) != 0)
            fail_msg("%s", err.text);
        for (uint32_t which = 0; which < constraint_alternatives(con); which++) {
            str_puts(&fit, which ? " " : "");
            for (uint32_t n = 0; n < 4; n++) {
                bool fits = constraint_match(con, c->nodes.data[n]->features, which);
                str_putc(&fit, fits ? (char)('1' + n) : '.');
                assert_true(!fits || constraint_match_any(con, c->nodes.data[n]->features));
            }
        }
        for (uint32_t sort = 0; sort < constraint_counts(con); sort++) {
            str_puts(&counted, sort ? " " : "");
            for (uint32_t n = 0; n < 4; n++)
                str_putc(&counted, constraint_counted(con, c->nodes.data[n]->features) >> sort & 1
                                       ? (char)('1' + n)
                                       : '.');
        }
        assert_string_equal(str_cstr(&fit), v[i].fit);
        assert_string_equal(str_cstr(&counted), v[i].counted);
        assert_int_equal(constraint_least_nodes(con), v[i].least);
        constraint_free(con);
    }
    assert_int_equal(constraint_alternatives(NULL), 1);
    assert_true(constraint_match_any(NULL, NULL));
    test_cluster_free(c);
}

/* The counts determine the job's number of nodes, or exceed it. */
static void counts_of_features_are_matched(void **state)
{
    static const struct {
        const char *words;
        uint32_t nodes; /* 0: rejected */
    } v[] = {
        {"C=[fs1*2&fs2*1]", 3},     {"C=fs1*2&fs2*1", 2},         {"N=4 C=[fs1*2&fs2*1]", 4},
        {"N=2 C=[fs1*2&fs2*1]", 0}, {"N=1-3 C=[fs1*2&fs2*1]", 3}, {"N=1 C=gpu*2", 0},
        {"N=2 C=[fs1", 0},          {"prefer=fs1&", 0},           {"N=1 prefer=gpu*2", 1},
    };
    struct cluster *c = test_cluster(conf);
    (void)state;
    for (size_t i = 0; i < COUNT(v); i++) {
        struct job *j = test_try_job(c, (uint32_t)i + 1, v[i].words);
        if ((j ? j->want.min_nodes : 0) != v[i].nodes)
            fail_msg("%s: %u nodes", v[i].words, j ? j->want.min_nodes : 0);
    }
    test_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_constraints_are_refused),
        cmocka_unit_test(deep_and_long_constraints_are_refused),
        cmocka_unit_test(number_of_feature_names_is_limited),
        cmocka_unit_test(constraints_match_nodes),
        cmocka_unit_test(counts_of_features_are_matched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
