/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the whole srun, as a program, with a test cluster that follows a script. */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "cmd/test/test_cluster.h"

#define ABORTED "srun: Job step aborted: Waiting up to 3 seconds for job step to finish.\n"
#define REFUSED                                                                                    \
    "srun: error: Task launch for StepId=7.0 failed on node n1: n1 (127.0.0.1:PORT): Invalid job " \
    "credential\nsrun: error: Application launch failed: Invalid job credential\n"
#define REVOKED                                                                                    \
    "srun: error: Task launch for StepId=7.0 failed on node n2: n2 (127.0.0.1:PORT): Job "         \
    "credential revoked\nsrun: error: Application launch failed: Job credential revoked\n"
#define LOST                                                                                       \
    "srun: error: Node failure on n1: session with n1 (127.0.0.1:PORT): Connection closed by the " \
    "other side\n"

static const char *program;

static const struct vector {
    const char *line, *in;
    int status;
    const char *out, *err;
} vectors[] = {
    /* refused and broken */
    {"-J busy x", "", 1, "",
     "srun: error: Unable to allocate resources: Requested nodes are busy\n"},
    {"refuse exit:0:0 done", "", 1, "", REFUSED},
    {"-N2 refuse wait", "", 1, "", REFUSED ABORTED}, /* CORE-227: no task has started */
    {"-N2 late 0.wait 1.vanish", "", 143, "",
     REVOKED ABORTED "srun: error: n1: task 0: Terminated\n"},
    {"failed:0 done", "", 2, "",
     "slurmstepd: error: execve(): nosuch: No such file or directory\n"
     "srun: error: n1: task 0: Exited with exit code 2\n"},
    {"out:0:part vanish", "", 137, "part", LOST},
    {"-N2 0.vanish 1.wait", "", 143, "", LOST ABORTED "srun: error: n2: task 1: Terminated\n"},
    {"-N2 -k 0.vanish 1.out:1:on\\n 1.exit:1:0 1.done", "", 137, "on\n", LOST},
    {"-N2 0.out:0:n1\\n 1.out:0:forged\\n 1.exit:0:9 0.exit:0:0 1.exit:1:0 done", "", 0, "n1\n",
     ""},
    {"-o /nonexistent/x exit:0:0 done", "", 1, "",
     "srun: error: Could not open stdout file /nonexistent/x: No such file or directory\n"},
    {"-e /nonexistent/x exit:0:0 done", "", 1, "",
     "srun: error: Could not open stderr file /nonexistent/x: No such file or directory\n"},
    {"-n2 --output=2 out:0:lost exit:0:0 exit:1:0 done", "", 1, "",
     "srun: error: Invalid value for --output: there is no task 2 of 2\n"},
    {"--error=1 err:0:lost exit:0:0 done", "", 1, "",
     "srun: error: Invalid value for --error: there is no task 1 of 1\n"},
    {"--input=9 exit:0:0 done", "", 1, "",
     "srun: error: Invalid value for --input: there is no task 9 of 1\n"},

    /* well */
    {"out:0:hello\\n err:0:oops\\n exit:0:0 done", "", 0, "hello\n", "oops\n"},
    {"shy input exit:0:0 done", "some text", 0, "some text", ""},
    {"-N2 shy 0.out:0:n1\\n 0.exit:0:0 1.exit:1:0 done", "", 0, "n1\n", ""},
    {"-J queue exit:0:0 done", "", 0, "",
     "srun: job 7 queued and waiting for resources\nsrun: job 7 has been allocated resources\n"},
    {"-Q -J queue exit:0:0 done", "", 0, "", ""},
    {"-l -n2 out:0:a out:1:b\\n out:0:c\\n out:1:end exit:0:0 exit:1:0 done", "", 0,
     "1: b\n0: ac\n1: end\n", ""},
    {"input exit:0:0 done", "some text", 0, "some text", ""},
    {"--input=none exit:0:0 done", "text", 0, "", ""},
    {"--error=none err:0:x out:0:y exit:0:0 done", "", 0, "y", ""},
    {"--output=1 -n2 out:0:zero\\n out:1:one\\n exit:0:0 exit:1:0 done", "", 0, "one\n", ""},

    {"--prolog=/bin/echo --epilog=/bin/false out:0:x exit:0:0 done", "", 0,
     "out:0:x exit:0:0 done\nx", "srun: error: /bin/false: Exited with exit code 1\n"},

    /* ends of tasks */
    {"-n4 exit:3:0x100 exit:0:0x100 exit:1:0x100 exit:2:0x100 done", "", 1, "",
     "srun: error: n1: tasks 0-3: Exited with exit code 1\n"},
    {"exit:0:9 done", "", 137, "", "srun: error: n1: task 0: Killed\n"},
    {"exit:0:125 done", "", 253, "", "srun: error: n1: task 0: Out Of Memory\n"},
    {"-K -N2 0.exit:0:0x500 0.done 1.wait", "", 143, "",
     "srun: error: n1: task 0: Exited with exit code 5\nsrun: Terminating StepId=7.0\n" ABORTED
     "srun: error: n2: task 1: Terminated\n"},
    {"-K -N2 late 0.exit:0:0x500 0.done 1.wait", "", 143, "",
     "srun: error: n1: task 0: Exited with exit code 5\nsrun: Terminating StepId=7.0\n" ABORTED},
    {"-W1 -N2 0.exit:0:0 0.done 1.wait", "", 143, "",
     "srun: First task exited 1s ago\nsrun: StepId=7.0 task 1: unknown\nsrun: StepId=7.0 task 0: "
     "exited\nsrun: Terminating StepId=7.0\n" ABORTED "srun: error: n2: task 1: Terminated\n"},

    /* MPI */
    {"-N2 fence 0.exit:0:0 1.exit:1:0 done", "", 0, "2 pairs\n2 pairs\n", ""},
    {"-N2 0.abort:9 wait", "", 143, "",
     "srun: error: n1: MPI_Abort with code 9\n" ABORTED "srun: error: n1: task 0: Terminated\n"
     "srun: error: n2: task 1: Terminated\n"},
};

/* Port numbers change: "127.0.0.1:4711" becomes "127.0.0.1:PORT". */
static void hide_ports(struct str *text)
{
    struct str out = STR_INIT;

    for (const char *p = str_cstr(text); *p != '\0';) {
        str_putc(&out, *p++);
        if (out.len < 10 || strcmp(out.data + out.len - 10, "127.0.0.1:") != 0)
            continue;
        str_puts(&out, "PORT");
        p += strspn(p, "0123456789");
    }
    str_done(text);
    *text = out;
}

static void test_recorded_lines_give_output_and_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        const struct vector *v = &vectors[i];
        struct test_play p;

        print_message("srun %s\n", v->line);
        test_play_start(&p, program, v->line);
        assert_int_equal(write(p.in, v->in, strlen(v->in)), strlen(v->in));
        test_play_finish(&p);
        hide_ports(&p.err_text);
        assert_string_equal(str_cstr(&p.err_text), v->err);
        assert_string_equal(str_cstr(&p.out_text), v->out);
        assert_int_equal(p.status, v->status);
        test_play_done(&p);
    }
}

static void test_end_of_the_step_uses_the_connection_of_its_request(void **state)
{
    char socket[128];
    struct test_play p;

    (void)state;
    snprintf(socket, sizeof(socket), "%s/run/slurmctld", test_cluster_dir);
    test_play_start(&p, program, "-J unlisted exit:0:0 done");
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.err_text), "");
    assert_int_equal(p.status, 0);
    assert_int_equal(access(socket, F_OK), 0); /* the end was reported to the controller */
    test_play_done(&p);
}

static void test_first_interrupt_lists_the_tasks(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "err:0:here\\n input exit:0:0 done");
    test_play_follow(&p, "here\n");
    kill(p.pid, SIGINT);
    test_play_follow(&p, "srun: interrupt (one more within 1 sec to abort)\n"
                         "srun: StepId=7.0 task 0: unknown\n");
    test_play_finish(&p);
    assert_int_equal(p.status, 0);
    test_play_done(&p);
}

static void test_second_interrupt_aborts_the_step(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "err:0:here\\n wait");
    test_play_follow(&p, "here\n");
    kill(p.pid, SIGINT);
    test_play_follow(&p, "one more within 1 sec to abort");
    kill(p.pid, SIGINT);
    test_play_finish(&p);
    assert_true(test_play_has(&p.err_text, "srun: sending Ctrl-C to StepId=7.0\n"
                                           "srun: forcing job termination\n" ABORTED));
    assert_true(test_play_has(&p.err_text, "srun: error: n1: task 0: Terminated\n"));
    assert_string_equal(str_cstr(&p.out_text), "signal 2\n");
    assert_int_equal(p.status, 143);
    test_play_done(&p);
}

/* The step daemon does not confirm the end: the next Ctrl-C does not wait for it. */
static void test_third_interrupt_does_not_wait_for_the_step_daemon(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "--quit-on-interrupt err:0:here\\n");
    test_play_follow(&p, "here\n");
    kill(p.pid, SIGINT);
    test_play_follow(&p, "Job step aborted");
    kill(p.pid, SIGINT);
    test_play_finish(&p);
    assert_true(test_play_has(&p.err_text, "srun: forcing job termination\n"));
    assert_int_not_equal(p.status, 0);
    test_play_done(&p);
}

static void test_srun_ends_if_the_step_daemon_never_confirms(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "err:0:here\\n");
    test_play_follow(&p, "here\n");
    kill(p.pid, SIGTERM);
    test_play_finish(&p);
    assert_true(
        test_play_has(&p.err_text, "srun: error: Timed out waiting for job step to complete\n"));
    assert_int_not_equal(p.status, 0);
    test_play_done(&p);
}

static void test_other_signals_go_to_the_tasks(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "err:0:here\\n input exit:0:0 done");
    test_play_follow(&p, "here\n");
    kill(p.pid, SIGUSR1);
    test_play_follow(&p, "signal 10\n");
    test_play_finish(&p);
    assert_int_equal(p.status, 0);
    test_play_done(&p);
}

static void test_interrupt_in_the_queue(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "-J queue-for-ever true");
    test_play_follow(&p, "queued and waiting");
    kill(p.pid, SIGINT);
    test_play_finish(&p);
    assert_string_equal(str_cstr(&p.err_text), "srun: job 7 queued and waiting for resources\n"
                                               "srun: Job allocation 7 has been revoked\n"
                                               "srun: Force Terminated job 7\n");
    assert_int_equal(p.status, 1);
    test_play_done(&p);
}

static void test_immediate_request_ends_after_its_seconds(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "-I2 -J queue-for-ever true");
    test_play_finish(&p);
    assert_true(test_play_has(&p.err_text, "Requested nodes are busy"));
    assert_int_equal(p.status, 1);
    test_play_done(&p);
}

/* The controller does not cancel a request that was not granted in time: a signal does not wait for
 * it. */
static void test_interrupt_after_immediate(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "-I2 -J queue-deaf true");
    test_play_follow(&p, "The controller is away");
    kill(p.pid, SIGINT);
    test_play_finish(&p);
    assert_int_equal(p.status, 1);
    test_play_done(&p);
}

/* The output has no reader: the tasks get SIGPIPE or EPIPE, as with a pipe. */
static void test_tasks_get_sigpipe_if_output_has_no_reader(void **state)
{
    struct test_play p;

    (void)state;
    test_play_start(&p, program, "err:0:here\\n input out:0:x exit:0:13 done");
    test_play_follow(&p, "here\n");
    close(p.out);
    p.out = -1;
    test_play_finish(&p);
    assert_int_equal(p.status, 141);
    test_play_done(&p);
}

/* Discards srun's output until it has printed this many lines. */
static void skip_lines(struct test_play *p, int lines)
{
    char data[4096];

    while (lines > 0) {
        ssize_t n = read(p->out, data, sizeof(data));

        assert_true(n > 0);
        for (ssize_t i = 0; i < n; i++)
            lines -= data[i] == '\n';
    }
}

/* Sends input until srun has forwarded a signal, which was answered, and has read no input
 * meanwhile. */
static void fill_input(struct test_play *p)
{
    static const char block[4096];
    struct pollfd room = {.fd = p->in, .events = POLLOUT};

    assert_int_equal(fcntl(p->in, F_SETFL, O_NONBLOCK), 0);
    do {
        while (write(p->in, block, sizeof(block)) > 0)
            ;
        kill(p->pid, SIGUSR1);
        skip_lines(p, 1);
    } while (poll(&room, 1, 0) == 1);
}

/* A node that accepts no more input delays the input of the others, but not after it has gone. */
static void test_input_continues_after_a_stalled_node_has_gone(void **state)
{
    static const struct {
        const char *line;
        int status;
    } rows[] = {
        {"-N2 0.input 0.exit:0:0 0.done 1.stall 1.exit:1:0 1.over", 0},
        {"-N2 -k 0.input 0.exit:0:0 0.done 1.stall 1.vanish", 137},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct test_play p;

        print_message("srun %s\n", rows[i].line);
        test_play_start(&p, program, rows[i].line);
        assert_int_equal(write(p.in, "\n", 1), 1);
        skip_lines(&p, 1);
        fill_input(&p);
        kill(p.pid, SIGUSR2);
        test_play_finish(&p);
        assert_int_equal(p.status, rows[i].status);
        test_play_done(&p);
    }
}

/* srun's output has a reader that does not read, and a signal must end srun: both when the step
 * daemon cannot report the end because of it, and when only the last output is left, including
 * srun's own messages. */
static void test_signal_ends_srun_with_a_stuck_reader(void **state)
{
    static const char *const lines[] = {"err:0:here\\n flood:1:4096 wait",
                                        "err:0:here\\n flood:2:256 flood:1:256 wait"};
    struct test_play p[2];

    (void)state;
    for (size_t i = 0; i < 2; i++) { /* both wait at the same time */
        char here[5];

        test_play_start(&p[i], program, lines[i]);
        assert_int_equal(read(p[i].err, here, sizeof(here)), sizeof(here));
        kill(p[i].pid, SIGTERM);
    }
    for (size_t i = 0; i < 2; i++) {
        siginfo_t end;

        print_message("srun %s\n", lines[i]);
        assert_int_equal(waitid(P_PID, (id_t)p[i].pid, &end, WEXITED | WNOWAIT), 0);
        test_play_finish(&p[i]);
        assert_int_equal(test_play_has(&p[i].err_text, "nobody has read of the output is lost"),
                         i == 0);
        assert_int_not_equal(p[i].status, 0);
        test_play_done(&p[i]);
    }
}

static void test_output_file_is_truncated_or_appended(void **state)
{
    char line[256], path[128];
    struct str text = STR_INIT;
    struct test_play p;

    (void)state;
    snprintf(path, sizeof(path), "%s/file", test_cluster_dir);
    for (int append = 0; append < 2; append++) {
        snprintf(line, sizeof(line),
                 "--open-mode=%s -o %s/fil%%x -J e out:0:a err:0:b exit:0:0 done",
                 append ? "append" : "truncate", test_cluster_dir);
        test_play_start(&p, program, line);
        test_play_finish(&p);
        assert_int_equal(p.status, 0);
        assert_string_equal(str_cstr(&p.out_text), "");
        test_play_done(&p);
    }
    assert_int_equal(path_read_file(path, 100, &text, NULL), 0);
    assert_string_equal(text.data, "abab");
    str_done(&text);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded_lines_give_output_and_status),
        cmocka_unit_test(test_end_of_the_step_uses_the_connection_of_its_request),
        cmocka_unit_test(test_first_interrupt_lists_the_tasks),
        cmocka_unit_test(test_second_interrupt_aborts_the_step),
        cmocka_unit_test(test_third_interrupt_does_not_wait_for_the_step_daemon),
        cmocka_unit_test(test_srun_ends_if_the_step_daemon_never_confirms),
        cmocka_unit_test(test_other_signals_go_to_the_tasks),
        cmocka_unit_test(test_interrupt_in_the_queue),
        cmocka_unit_test(test_immediate_request_ends_after_its_seconds),
        cmocka_unit_test(test_interrupt_after_immediate),
        cmocka_unit_test(test_tasks_get_sigpipe_if_output_has_no_reader),
        cmocka_unit_test(test_input_continues_after_a_stalled_node_has_gone),
        cmocka_unit_test(test_signal_ends_srun_with_a_stuck_reader),
        cmocka_unit_test(test_output_file_is_truncated_or_appended),
    };

    if (argc != 2)
        return 2;
    program = argv[1];
    return cmocka_run_group_tests(tests, test_cluster_start, test_cluster_stop);
}
