/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A killed process of a step that is held by a tracer outside of the step: as a zombie that only
 * the tracer may reap, or stopped during exit. Argument: the directory of the built programs.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/proc.h"
#include "slurmstepd/task/held.h"
#include "slurmstepd/task/reap.h"
#include "slurmstepd/test/bench.h"

static const char *programs;

/* A process that traces, and never waits. */
static pid_t start_tracer(pid_t traced, long options)
{
    int ends[2];
    char byte = 0;
    pid_t pid;

    assert_int_equal(pipe(ends), 0);
    pid = fork();
    if (pid == 0) {
        if (ptrace(PTRACE_SEIZE, traced, 0, options) == 0)
            byte = 1;
        if (write(ends[1], &byte, 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    assert_int_equal(byte, 1);
    return pid;
}

static void end_tracer(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* The reaper is a separate child, and the tracer is not a child of it. */
struct reaper {
    pid_t pid;
    int go[2], said[2];
};

static void read_number(int fd, pid_t *pid)
{
    if (read(fd, pid, sizeof(*pid)) != sizeof(*pid))
        *pid = -1;
}

static void start_reaper(struct reaper *r, int (*fn)(pid_t child))
{
    assert_int_equal(pipe(r->go), 0);
    assert_int_equal(pipe(r->said), 0);
    r->pid = fork();
    if (r->pid == 0) {
        pid_t child, tracer;

        reap_become_subreaper();
        child = fork();
        if (child == 0) {
            prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
            for (;;)
                pause();
        }
        if (write(r->said[1], &child, sizeof(child)) != sizeof(child))
            _exit(99);
        read_number(r->go[0], &tracer);
        _exit(fn(child));
    }
}

static void run_held(int (*fn)(pid_t child), long options)
{
    struct reaper r;
    pid_t child, tracer;
    int status;

    start_reaper(&r, fn);
    read_number(r.said[0], &child);
    tracer = start_tracer(child, options);
    assert_int_equal(write(r.go[1], &tracer, sizeof(tracer)), sizeof(tracer));
    assert_int_equal(waitpid(r.pid, &status, 0), r.pid);
    assert_int_equal(status, 0);
    end_tracer(tracer);
    for (int i = 0; i < 2; i++) {
        close(r.go[i]);
        close(r.said[i]);
    }
}

static void await_state(pid_t pid, char state)
{
    struct proc p = {.state = state};

    do
        proc_read(pid, &p);
    while (p.state != state);
}

static int become_zombie(pid_t child)
{
    if (held_is_over())
        return 1;
    if (reap_signal_all(SIGKILL) != 1)
        return 2;
    await_state(child, 'Z');
    if (!reap_have_children() || !held_is_over())
        return 3;
    return held_status(child) == SIGKILL ? 0 : 4;
}

static unsigned told_count;

static void note_holder(void *ctx, pid_t holder, pid_t held)
{
    told_count += held == *(pid_t *)ctx && holder > 0;
}

static int stop_at_exit(pid_t child)
{
    int status;

    reap_signal_all(SIGKILL);
    await_state(child, 't');
    if (held_is_over())
        return 1;
    if (held_end_tracers(getuid() + 1, note_holder, &child) || told_count)
        return 2; /* the tracer of another process */
    if (held_end_tracers(getuid(), note_holder, &child) != 1 || told_count != 1)
        return 3;
    if (waitpid(child, &status, 0) != child || status != SIGKILL)
        return 4;
    return held_is_over() ? 0 : 5;
}

/* A process that we can still reap is not over. */
static int wait_unreaped(pid_t child)
{
    siginfo_t info;

    reap_signal_all(SIGKILL);
    if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT))
        return 1;
    if (held_is_over())
        return 2;
    waitpid(child, NULL, 0);
    return held_is_over() ? 0 : 3;
}

static void test_held_zombie_is_found(void **state)
{
    run_held(become_zombie, 0);
}

static void test_held_stopped_process_is_found(void **state)
{
    run_held(stop_at_exit, PTRACE_O_TRACEEXIT);
}

static void test_waiting_process_is_not_held(void **state)
{
    struct reaper r;
    pid_t child;
    int status;

    start_reaper(&r, wait_unreaped);
    read_number(r.said[0], &child);
    assert_int_equal(write(r.go[1], &child, sizeof(child)), sizeof(child));
    assert_int_equal(waitpid(r.pid, &status, 0), r.pid);
    assert_int_equal(status, 0);
}

static bool job_is_over(struct bench *b, void *ctx)
{
    return !bench_count_files(b, "spool/jobs") && !bench_count_files(b, "spool/steps");
}

/* The job ends, with its status, and the node is not in trouble. */
static void hold_job(long options)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    pid_t tracer;
    char *text;
    int shell;

    bench_init(&b, programs, "UnkillableStepTimeout=3600");
    bench_start(&b);
    bench_launch(&b, &c, "#!/bin/sh\necho $$ >shell\nexec sleep 1000\n");
    assert_true(bench_wait_text(&b, "shell", "\n"));
    text = bench_read(&b, "shell");
    assert_int_equal(sscanf(text, "%d", &shell), 1);
    free(text);
    tracer = start_tracer(shell, options);
    bench_terminate(&b, 42, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 42));
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, SIGKILL);
    for (size_t i = 0; i < b.events.len; i++)
        assert_null(b.events.data[i]->trouble);
    end_tracer(tracer);
    assert_true(bench_until(&b, job_is_over, NULL));
    bench_done(&b);
}

static void test_job_with_a_held_zombie_ends(void **state)
{
    hold_job(0);
}

static void test_job_with_a_held_stopped_process_ends(void **state)
{
    hold_job(PTRACE_O_TRACEEXIT);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_held_zombie_is_found),
        cmocka_unit_test(test_held_stopped_process_is_found),
        cmocka_unit_test(test_waiting_process_is_not_held),
        cmocka_unit_test(test_job_with_a_held_zombie_ends),
        cmocka_unit_test(test_job_with_a_held_stopped_process_ends),
    };

    if (argc < 2)
        return 1;
    programs = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
