/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cmd.h"
#include "cmd/scancel/options.h"

#define WORDS_MAX 32

static int parse_scancel_line(struct options *o, const char *line)
{
    static char text[256];
    static char *argv[WORDS_MAX + 1];
    int argc = 0;
    snprintf(text, sizeof(text), "scancel %s", line);
    for (char *save = NULL, *s = strtok_r(text, " ", &save); s && argc < WORDS_MAX;
         s = strtok_r(NULL, " ", &save))
        argv[argc++] = s;
    argv[argc] = NULL;
    return options_parse(o, argc, argv);
}

static void test_invalid_options_are_refused(void **state)
{
    static const char *const bad[] = {
        "--foo",  "x",        "1.x",   "0",           "2_",
        "-s FOO", "-s 0 1",   "-s",    "-t RUNNIN",   "-t all",
        "-t CD",  "-t ST",    "-t SO", "-t R,ST",     "-u no_user_of_this_name",
        "5 6 x",  "--state=", "-t ,",  "--nodelist=", "-w ,"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct options o;
        assert_int_equal(parse_scancel_line(&o, bad[i]), 2);
        options_done(&o);
    }
}

static void test_valid_options_are_parsed(void **state)
{
    struct options o;
    assert_int_equal(parse_scancel_line(&o, "7 -s sigusr1 8.1 -b 9,10 -v"), 0);
    assert_int_equal(o.ids.len, 4);
    assert_int_equal(o.ids.data[1].step_id, 1);
    assert_int_equal(o.signal, SIGUSR1);
    assert_true(o.has_signal && o.batch && !o.full);
    assert_false(options_has_filter(&o));
    options_done(&o);
    assert_int_equal(parse_scancel_line(&o, "-n job -p main -t run,PD --me"), 0);
    assert_true(options_has_filter(&o) && !options_needs_list(&o) && o.has_uid);
    options_done(&o);
    assert_int_equal(parse_scancel_line(&o, "-A acct"), 0);
    assert_true(options_has_filter(&o) && options_needs_list(&o));
    options_done(&o);
}

static void test_flags_of_the_environment(void **state)
{
    static const struct {
        const char *value;
        bool set;
    } rows[] = {
        {"0", false},     {"00", false},    {"no", false}, {"No", false},  {"n", false},
        {"false", false}, {"FALSE", false}, {"f", false},  {"off", false}, {"", true},
        {"1", true},      {"2", true},      {"yes", true}, {"true", true}, {"on", true},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct options o;
        setenv("SCANCEL_BATCH", rows[i].value, 1);
        assert_int_equal(parse_scancel_line(&o, "7"), 0);
        assert_int_equal(o.batch, rows[i].set);
        options_done(&o);
    }
    unsetenv("SCANCEL_BATCH");
}

static void test_node_list_may_be_a_file(void **state)
{
    char path[] = "/tmp/sluice-scancel.XXXXXX", line[64];
    struct options o;
    int fd = mkstemp(path);
    assert_true(dprintf(fd, "n2 # two\nn[3-4],n1\nn2\n") > 0);
    close(fd);
    snprintf(line, sizeof(line), "-w %s", path);
    assert_int_equal(parse_scancel_line(&o, line), 0);
    assert_string_equal(o.nodes, "n[1-4]");
    assert_true(options_has_filter(&o));
    options_done(&o);
    unlink(path);
    assert_int_equal(parse_scancel_line(&o, line), 2); /* not: any node, or a node with that name */
    options_done(&o);
    assert_int_equal(parse_scancel_line(&o, "-w n[1-2]"), 0);
    assert_string_equal(o.nodes, "n[1-2]");
    options_done(&o);
}

/* A job may request several reservations: the filter matches each of them. */
static void test_filter_matches_each_reservation_of_a_job(void **state)
{
    static const struct {
        const char *line;
        bool matches;
    } v[] = {{"-R r", true}, {"-R s", true}, {"-R t", true}, {"-R x", false}, {"-R r,s", false}};
    Pb__JobLive live = PB__JOB_LIVE__INIT;
    Pb__JobSpec spec = PB__JOB_SPEC__INIT;
    Pb__JobRecord job = PB__JOB_RECORD__INIT;
    job.live = &live;
    job.spec = &spec;
    spec.reservation = (char *)"r,s";
    live.reservation = (char *)"t";
    for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
        struct options o;
        assert_int_equal(parse_scancel_line(&o, v[i].line), 0);
        assert_int_equal(options_match(&o, &job), v[i].matches);
        options_done(&o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_options_are_refused),
        cmocka_unit_test(test_valid_options_are_parsed),
        cmocka_unit_test(test_flags_of_the_environment),
        cmocka_unit_test(test_filter_matches_each_reservation_of_a_job),
        cmocka_unit_test(test_node_list_may_be_a_file),
    };
    cmd_start("scancel");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
