/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing of burst_buffer.conf. */
#include "conf/conf_test_util.h"

#define LUA HEAD "BurstBufferType=burst_buffer/lua\n"
#define LINE "BurstBufferConf=1 "

static void invalid_lines_are_refused(void **state)
{
    static const struct test_refusal cases[] = {
        {LUA LINE "Directive=a/b\n", "t.conf:3: ", "expected a word of letters"},
        {LUA LINE "Directive=SBATCH\n", "t.conf:3: ", "has another meaning"},
        {LUA LINE "Directive=abcdefghijabcdefghijabcdefghijabc\n", "t.conf:3: ", "longer than 32"},
        {LUA LINE "Flags=TeardownFailure,Quick\n", "t.conf:3: ", "unknown flag 'Quick'"},
        {LUA LINE "StageInTimeout=2073601\n", "t.conf:3: ", "1 to 2073600"},
        {LUA LINE "PollInterval=0\n", "t.conf:3: ", "1 to 86400"},
        {LUA LINE "PrivateData=perhaps\n", "t.conf:3: ", "expected YES or NO"},
        {LUA LINE "AllowUsers=root\n" LINE "DenyUsers=1000\n", "t.conf:4: ", "given on line 3"},
        {LUA LINE "DenyUsers=no-such-user\n", "t.conf:3: ", "no user 'no-such-user'"},
    };

    test_refused(cases, COUNT(cases));
}

static void doubtful_lines_are_warned_about(void **state)
{
    static const struct test_refusal cases[] = {
        {LUA LINE "Directiv=X\n", "t.conf:3: ", "did you mean Directive?"},
        {LUA LINE "GetSysState=/bin/true\n", "t.conf:3: ", "no effect"},
        {LUA LINE "ValidateTimeout=30\n", "t.conf:3: ", "not below MessageTimeout=10"},
        {LUA LINE "OtherTimeout=1\n" LINE "OtherTimeout=2\n", "t.conf:4: ", "first on line 3"},
    };

    test_warned(cases, COUNT(cases));
}

static void defaults_and_values(void **state)
{
    struct conf *c = test_load(HEAD LINE "Directive=OTHER\n", NULL);
    assert_false(c->burst.enabled);
    assert_string_equal(c->burst.directive, "BB_LUA");
    conf_free(c);
    c = test_load(LUA, NULL);
    assert_true(c->burst.enabled && conf_burst_may_use(&c->burst, 1000));
    assert_string_equal(c->burst.directive, "BB_LUA");
    assert_int_equal(c->burst.stage_in_timeout_sec, 86400);
    assert_int_equal(c->burst.other_timeout_sec, 300);
    assert_int_equal(c->burst.flags, CONF_BURST_DISABLE_PERSISTENT);
    conf_free(c);
    c = test_load(LUA LINE "directive=BB_DEMO\n" LINE "Flags = teardownFailure\n" LINE
                           "AllowUsers=root,1000\n" LINE "PollInterval=1\n" LINE
                           "PrivateData=true\n",
                  NULL);
    assert_string_equal(c->burst.directive, "BB_DEMO");
    assert_int_equal(c->burst.flags, CONF_BURST_TEARDOWN_FAILURE | CONF_BURST_PRIVATE_DATA |
                                         CONF_BURST_DISABLE_PERSISTENT);
    assert_true(conf_burst_may_use(&c->burst, 0) && conf_burst_may_use(&c->burst, 1000));
    assert_false(conf_burst_may_use(&c->burst, 1001));
    conf_free(c);
    c = test_load(LUA LINE "DenyUsers=root:1000\n", NULL);
    assert_false(conf_burst_may_use(&c->burst, 0) || conf_burst_may_use(&c->burst, 1000));
    assert_true(conf_burst_may_use(&c->burst, 1001));
    conf_free(c);
}

/* A node has no such file, and its configuration counts as the same. */
static void hash_of_nodes_excludes_burst_buffers(void **state)
{
    struct conf *a = test_load(LUA, NULL), *b = test_load(LUA LINE "PollInterval=1\n", NULL);
    assert_true(a->hash == b->hash);
    conf_free(a);
    conf_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invalid_lines_are_refused),
        cmocka_unit_test(doubtful_lines_are_warned_about),
        cmocka_unit_test(defaults_and_values),
        cmocka_unit_test(hash_of_nodes_excludes_burst_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
