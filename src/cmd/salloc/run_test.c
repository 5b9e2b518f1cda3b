/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the whole salloc, as a program, with a test cluster. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/test/test_cluster.h"

#define GRANTED "salloc: Granted job allocation 7\nsalloc: Nodes n1 are ready for job\n"
#define QUEUED "salloc: Pending job allocation 7\nsalloc: job 7 queued and waiting for resources\n"
#define RELEASED "salloc: Relinquishing job allocation 7\n"

static const char *program;

static const struct vector {
    const char *line;
    int status;
    const char *out, *err;
} vectors[] = {
    {"-J busy true", 1, "",
     "salloc: error: Job submit/allocate failed: Requested nodes are busy\n"},
    {"/no/such/program", 1, "",
     GRANTED "salloc: error: Unable to run the command: /no/such/program: No such file or "
             "directory\n" RELEASED},
    {"-D /no/such true", 1, "",
     GRANTED
     "salloc: error: Unable to run the command: /no/such: No such file or directory\n" RELEASED},
    {"true", 0, "", GRANTED RELEASED},
    {"-Q true", 0, "", ""},
    {"false", 1, "", GRANTED RELEASED},
    {"-J queue true", 0, "",
     QUEUED "salloc: job 7 has been allocated resources\n" GRANTED RELEASED},
    {"--no-shell", 0, "", GRANTED},
    {"-v true", 0, "",
     "salloc: defined options\nsalloc: -------------------- --------------------\n"
     "salloc: verbose             : 1\nsalloc: -------------------- --------------------\n"
     "salloc: end of defined options\nsalloc: Granted job allocation 7\nsalloc: Node list n1, CPUs "
     "per node 4, time limit "
     "UNLIMITED, partition \nsalloc: Nodes n1 are ready for job\n" RELEASED},
    {"-N2 printenv SLURM_JOB_NODELIST SLURM_JOB_CPUS_PER_NODE SLURM_TASKS_PER_NODE SLURM_JOBID", 0,
     "n[1-2]\n4(x2)\n4(x2)\n7\n",
     "salloc: Granted job allocation 7\nsalloc: Nodes n[1-2] are ready for job\n" RELEASED},
    {"-J timeout -K sleep 1000", 1, "",
     GRANTED "salloc: Job 7 has exceeded its time limit and its allocation has been revoked.\n"},
    {"-J cancel -KUSR1 sleep 1000", 1, "", GRANTED "salloc: Job allocation 7 has been revoked.\n"},
    {"-J cancel -KKILL sleep 1000", 0, "", GRANTED "salloc: Job allocation 7 has been revoked.\n"},
};

static void test_recorded_lines_give_output_and_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const struct vector *v = &vectors[i];
        struct test_play p;

        print_message("salloc %s\n", v->line);
        test_play_start(&p, program, v->line);
        test_play_finish(&p);
        assert_string_equal(str_cstr(&p.err_text), v->err);
        assert_string_equal(str_cstr(&p.out_text), v->out);
        assert_int_equal(p.status, v->status);
        test_play_done(&p);
    }
}

/* Without a command the shell runs; salloc exits with its status. */
static void test_shell_runs_without_a_command(void **state)
{
    struct test_play p;

    (void)state;
    setenv("SHELL", "/bin/sh", 1);
    test_play_start(&p, program, "-N1");
    assert_int_equal(write(p.in, "exit 5\n", 7), 7);
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.err_text), GRANTED RELEASED);
    assert_int_equal(p.status, 5);
    test_play_done(&p);
}

/* Without --kill-command the command continues after its allocation, and salloc exits with its
 * status. */
static void test_command_outlives_allocation(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "-J timeout cat");
    test_play_follow(&p, "its allocation has been revoked.\n");
    assert_int_equal(write(p.in, "on", 2), 2);
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.out_text), "on");
    assert_int_equal(p.status, 0);
    test_play_done(&p);
}

static void test_refusal_is_not_the_end_of_the_job(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "-J unwatched -K cat");
    test_play_follow(&p, "The end of job 7 will not be noticed: Clock skew between");
    assert_int_equal(write(p.in, "on", 2), 2);
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.out_text), "on");
    assert_false(test_play_has(&p.err_text, "revoked"));
    assert_true(test_play_has(&p.err_text, RELEASED));
    assert_int_equal(p.status, 0);
    test_play_done(&p);
}

static void test_interrupt_in_the_queue(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "-J queue-for-ever true");
    test_play_follow(&p, "queued and waiting for resources\n");
    kill(p.pid, SIGINT);
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.err_text), QUEUED "salloc: Job allocation 7 has been revoked.\n"
                                                      "salloc: error: Job aborted due to signal\n");
    assert_int_equal(p.status, 1);
    test_play_done(&p);
}

/* SIGINT is ignored, as for a background job of a shell without job control. */
static void test_interrupt_that_was_ignored(void **state)
{
    struct test_play p;

    (void)state;
    signal(SIGINT, SIG_IGN);
    test_play_start(&p, program, "-J queue-for-ever true");
    test_play_follow(&p, "queued and waiting for resources\n");
    kill(p.pid, SIGINT);
    test_play_finish(&p);
    assert_true(test_play_has(&p.err_text, "salloc: error: Job aborted due to signal\n"));
    assert_int_equal(p.status, 1);
    test_play_done(&p);
    test_play_start(&p, program, "grep SigIgn /proc/self/status");
    signal(SIGINT, SIG_DFL);
    test_play_finish(&p);
    assert_int_equal(strtoul(strpbrk(str_cstr(&p.out_text), "0123456789abcdef"), NULL, 16) & 2, 2);
    test_play_done(&p);
}

/* SIGTERM goes to the command, SIGINT is ignored, SIGHUP ends the allocation. */
static void test_signals_reach_the_command_or_end_the_allocation(void **state)
{
    static const struct {
        int signo, status;
    } rows[] = {{SIGTERM, 1}, {SIGHUP, 0}};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct test_play p;

        test_play_start(&p, program, "sleep 1000");
        test_play_follow(&p, "ready for job\n");
        kill(p.pid, SIGINT);
        kill(p.pid, rows[i].signo);
        test_play_finish(&p);
        assert_string_equal(str_cstr(&p.err_text), GRANTED RELEASED);
        assert_int_equal(p.status, rows[i].status);
        test_play_done(&p);
    }
}

/* The controller is down when the command ends: the release waits for it, and a signal has no
 * effect. */
static void test_release_waits_for_the_controller(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "-J deaf true");
    test_play_follow(&p, "waits for it up to 700 seconds");
    kill(p.pid, SIGINT);
    test_play_finish(&p);
    assert_true(test_play_has(&p.err_text, "salloc: error: The allocation 7 was not released: "
                                           "interrupted; \"scancel 7\" does it\n"));
    assert_int_equal(p.status, 0);
    test_play_done(&p);
}

/* Nobody reads the output of salloc: the command continues, and the allocation is released. A
 * command whose output has no reader ends as in a shell. */
static void test_closed_output_does_not_end_the_command(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "cat");
    test_play_follow(&p, "ready for job\n");
    close(p.err);
    p.err = -1;
    assert_int_equal(write(p.in, "on", 2), 2);
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.out_text), "on");
    assert_int_equal(p.status, 0);
    test_play_done(&p);
    test_play_start(&p, program, "yes");
    test_play_follow(&p, "y\n");
    close(p.out);
    p.out = -1;
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.err_text), GRANTED RELEASED);
    assert_int_equal(p.status, 1);
    test_play_done(&p);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_lines_give_output_and_status),
        cmocka_unit_test(test_shell_runs_without_a_command),
        cmocka_unit_test(test_command_outlives_allocation),
        cmocka_unit_test(test_refusal_is_not_the_end_of_the_job),
        cmocka_unit_test(test_interrupt_in_the_queue),
        cmocka_unit_test(test_interrupt_that_was_ignored),
        cmocka_unit_test(test_signals_reach_the_command_or_end_the_allocation),
        cmocka_unit_test(test_release_waits_for_the_controller),
        cmocka_unit_test(test_closed_output_does_not_end_the_command),
    };

    if (argc != 2)
        return 2;
    program = argv[1];
    return cmocka_run_group_tests(tests, test_cluster_start, test_cluster_stop);
}
