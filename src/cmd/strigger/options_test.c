/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "cli/cmd.h"
#include "cluster/trigger.h"
#include "cmd/strigger/options.h"

#define WORDS_MAX 32

static int parse_strigger_line(struct options *o, const char *line)
{
    static char text[256];
    static char *argv[WORDS_MAX + 1];
    int argc = 0;
    snprintf(text, sizeof text, "strigger %s", line);
    for (char *save = NULL, *s = strtok_r(text, " ", &save); s && argc < WORDS_MAX;
         s = strtok_r(NULL, " ", &save))
        argv[argc++] = s;
    argv[argc] = NULL;
    return options_parse(o, argc, argv);
}

static void test_invalid_options_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "--set",
        "--get --set",
        "--set --get --clear",
        "--set -p /p",
        "--set -d",
        "--set -d -p p",
        "--set -d -p /p x",
        "--set -d -p /p --id=1",
        "--set -d -p /p --user=root",
        "--set -f -p /p",
        "--set -t -p /p",
        "--set -f -j 1 -nn1 -p /p",
        "--set -I -j 1 -p /p",
        "--set -d -f -p /p",
        "--set -d -a -p /p",
        "--set -a -g -p /p",
        "--set -d -p /p --flags=TEMP",
        "--set -d -p /p -o x",
        "--set -d -p /p -o 99999999999",
        "--set -f -j 0 -p /p",
        "--set -f -j x -p /p",
        "--set -a --front_end -p /p",
        "--clear",
        "--clear -d",
        "--clear --id=1 -d",
        "--clear --id=1 -nn1",
        "--get --id=-1",
        "--get -p /p",
        "--get --offset=1",
        "--get --user=no_user_of_this_name",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct options o;
        if (parse_strigger_line(&o, bad[i]) != 2)
            fail_msg("%s is taken", bad[i]);
    }
}

static void test_each_event_option_is_parsed(void **state)
{
    static const struct {
        const char *line;
        uint32_t types;
    } good[] = {
        {"-a", TRIGGER_PRI_CTLD_FAIL},
        {"-A", TRIGGER_PRI_CTLD_RES_OP},
        {"-b", TRIGGER_PRI_CTLD_RES_CTRL},
        {"-B", TRIGGER_BU_CTLD_FAIL},
        {"-c", TRIGGER_BU_CTLD_RES_OP},
        {"-C", TRIGGER_BU_CTLD_AS_CTRL},
        {"-d", TRIGGER_DOWN},
        {"-D", TRIGGER_DRAINED},
        {"--draining", TRIGGER_DRAINING},
        {"-R", TRIGGER_RESUME},
        {"-e", TRIGGER_PRI_CTLD_ACCT_FULL},
        {"-f -j 1", TRIGGER_FINI},
        {"-F", TRIGGER_FAIL},
        {"-g", TRIGGER_PRI_DBD_FAIL},
        {"-G", TRIGGER_PRI_DBD_RES_OP},
        {"-h", TRIGGER_PRI_DB_FAIL},
        {"-H", TRIGGER_PRI_DB_RES_OP},
        {"--burst_buffer", TRIGGER_BURST_BUFFER},
        {"-I", TRIGGER_IDLE},
        {"-r", TRIGGER_RECONFIG},
        {"-t --jobid=1", TRIGGER_TIME},
        {"-u -d", TRIGGER_UP | TRIGGER_DOWN},
    };
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char line[64];
        struct options o;
        snprintf(line, sizeof line, "--set -p /p %s", good[i].line);
        if (parse_strigger_line(&o, line) != 0 || o.ask.types != good[i].types)
            fail_msg("%s", line);
    }
}

static void test_other_options_are_parsed(void **state)
{
    struct options o;
    assert_int_equal(parse_strigger_line(&o, "--set -d -nn[1-2] -o -30 --flags=perm --program=/p"),
                     0);
    assert_string_equal(o.ask.nodes, "n[1-2]");
    assert_string_equal(o.ask.program, "/p");
    assert_int_equal(o.ask.offset_sec, -30);
    assert_int_equal(o.ask.flags, TRIGGER_PERM);
    assert_int_equal(parse_strigger_line(&o, "--set -d -n -p /p"), 0);
    assert_null(o.ask.nodes);
    assert_int_equal(parse_strigger_line(&o, "--get -N --id=7 --user=0 -d"), 0);
    assert_true(o.get && o.noheader && o.has_id && o.has_user && o.id == 7 && o.user == 0);
    assert_int_equal(parse_strigger_line(&o, "--clear -j 5 -Q"), 0);
    assert_true(o.clear && o.quiet && o.ask.has_job_id && o.ask.job_id == 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_options_are_refused),
        cmocka_unit_test(test_each_event_option_is_parsed),
        cmocka_unit_test(test_other_options_are_parsed),
    };
    cmd_start("strigger");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
