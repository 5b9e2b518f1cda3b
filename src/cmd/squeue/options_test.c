/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include <stdio.h>

#include "cli/cmd.h"
#include "cmd/squeue/options.h"

#define WORDS_MAX 32

static int parse_squeue_line(struct options *o, const char *line)
{
    static char text[256];
    static char *argv[WORDS_MAX + 1];
    int argc = 0;
    snprintf(text, sizeof(text), "squeue %s", line);
    for (char *save = NULL, *s = strtok_r(text, " ", &save); s && argc < WORDS_MAX;
         s = strtok_r(NULL, " ", &save))
        argv[argc++] = s;
    argv[argc] = NULL;
    return options_parse(o, argc, argv);
}

static void test_invalid_options_are_refused(void **state)
{
    static const char *const bad[] = {"--foo", "-j x",           "-j 1,x",        "-t FOO",
                                      "extra", "-i 0",           "-i ab",         "-Y",
                                      "-o",    "-o %i -O JobID", "-O JobID -o %i"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct options o;
        assert_int_equal(parse_squeue_line(&o, bad[i]), 2);
        options_done(&o);
    }
}

static void test_valid_options_are_parsed(void **state)
{
    struct options o;
    assert_int_equal(
        parse_squeue_line(&o, "-h -j 1,2 -t RUN,pd -n a,b --name c -p x -u 0 -o %i -S -i"), 0);
    assert_true(o.noheader);
    assert_int_equal(o.ids.len, 2);
    assert_int_equal(o.states.wanted, 1u << PB__JOB_STATE__RUNNING | 1u << PB__JOB_STATE__PENDING);
    assert_int_equal(o.names.len, 1);
    assert_string_equal(o.names.data[0], "c");
    assert_int_equal(o.uids.len, 1);
    assert_string_equal(o.sort, "-i");
    options_done(&o);
    assert_int_equal(parse_squeue_line(&o, "-j5 -s"), 0);
    assert_true(o.steps && o.ids.len == 1 && o.ids.data[0].job_id == 5);
    options_done(&o);
    assert_int_equal(parse_squeue_line(&o, "--jobs=3 --steps=4.1 --json"), 0);
    assert_true(o.json && o.ids.len == 2 && o.ids.data[1].step_id == 1);
    options_done(&o);
}

static void test_empty_lists_show_nothing(void **state)
{
    static const struct {
        const char *line;
        bool nobody;
    } cases[] = {
        {"--jobs=", true},       {"--steps=,", true},        {"--user=", true},
        {"--name=", true},       {"--partition=,", true},    {"--states=", true},
        {"--nodelist=", true},   {"--user= --name=a", true}, {"--user= -u 0", false},
        {"--user= --me", false}, {"--jobs= -j 5", false},    {"-j", false},
        {"-s", false},           {"-t all", false},          {"-j 5 -s", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct options o;
        assert_int_equal(parse_squeue_line(&o, cases[i].line), 0);
        assert_int_equal(o.nobody, cases[i].nobody);
        options_done(&o);
    }
}

static void test_unknown_users_show_nothing(void **state)
{
    struct options o;
    assert_int_equal(parse_squeue_line(&o, "-u no_such_user_here"), 0);
    assert_true(o.nobody);
    options_done(&o);
}

/* A job may request several reservations and licences: the filter matches each of them. */
static void test_filter_matches_each_name_of_a_job(void **state)
{
    static const struct {
        const char *line;
        bool matches;
    } v[] = {{"-R r", true},    {"-R s", true},   {"-R x,S", true}, {"-R x", false},
             {"-R t", true},    {"-R r,s", true}, {"-L a", true},   {"-L b", true},
             {"-L a:2", false}, {"-L c,b", true}, {"-L c", false},  {"-R r -L c", false}};
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobRecord job = PB__JOB_RECORD__INIT;
    job.live = &live;
    job.spec = &spec;
    spec.reservation = (char *)"r,s";
    live.reservation = (char *)"t";
    spec.licenses = (char *)"a:2,b";
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct options o;
        assert_int_equal(parse_squeue_line(&o, v[i].line), 0);
        assert_int_equal(options_match(&o, &job), v[i].matches);
        options_done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_options_are_refused),
        cmocka_unit_test(test_valid_options_are_parsed),
        cmocka_unit_test(test_empty_lists_show_nothing),
        cmocka_unit_test(test_unknown_users_show_nothing),
        cmocka_unit_test(test_filter_matches_each_name_of_a_job),
    };
    cmd_start("squeue");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
