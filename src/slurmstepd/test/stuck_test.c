/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that SIGKILL does not end: a tracer that never answers holds them in their exit.
 * Started with the directory of the built programs.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/proc.h"
#include "slurmstepd/test/fake.h"

#define CONF "UnkillableStepTimeout=1"
#define LEAVE_MARK "env | sort >$(dirname $0)/unkillable.env\n"

static const char *programs;

/* Holds a process; the tracer's pid, or 0 where that is not allowed. */
static pid_t trace_process(pid_t pid)
{
    int ends[2];
    char byte = 'n';
    pid_t tracer;

    assert_int_equal(pipe(ends), 0);
    tracer = fork();
    if (tracer == 0) {
        for (int fd = 3; fd < 1024; fd++)
            if (fd != ends[1])
                close(fd); /* descriptors closed by the test must be closed here as well */
        byte = ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACEEXIT) ? 'n' : 'y';
        if (write(ends[1], &byte, 1) == 1)
            for (;;)
                pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
    if (byte == 'y')
        return tracer;
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    return 0;
}

static void release_process(pid_t tracer, pid_t pid)
{
    struct proc p;

    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    while (!proc_read(pid, &p) && p.state != 'Z') /* it dies at last */
        usleep(1000);
}

static pid_t read_pid(struct bench *b, const char *name)
{
    char *text;
    int pid;

    assert_true(bench_wait_text(b, name, "\n"));
    text = bench_read(b, name);
    assert_int_equal(sscanf(text, "%d", &pid), 1);
    free(text);
    return pid;
}

static void begin_bench(struct bench *b)
{
    bench_init(b, programs, CONF);
    bench_add_program(b, "UnkillableStepProgram", "unkillable", LEAVE_MARK);
    bench_start(b);
}

static bool spool_is_empty(struct bench *b, void *ctx)
{
    return !bench_count_files(b, "spool/jobs") && !bench_count_files(b, "spool/steps");
}

static void end_bench(struct bench *b)
{
    assert_true(bench_until(b, spool_is_empty, NULL));
    bench_done(b);
}

static void assert_reason(struct bench *b, const char *step, pid_t pid, const char *name)
{
    const Pb__NodeTrouble *m = bench_trouble(b);
    char *want = mem_printf("Kill task failed: step %s: pid %d (%s) state ", step, (int)pid, name);

    assert_non_null(m);
    assert_true(str_starts(m->reason, want));
    assert_non_null(strstr(m->reason, ", wchan "));
    assert_non_null(strstr(m->reason, ", traced by pid "));
    free(want);
}

static void assert_program_ran(struct bench *b, const char *step_id)
{
    char *text;

    assert_true(bench_wait_text(b, "unkillable.env", "SLURM_STEP_ID="));
    text = bench_read(b, "unkillable.env");
    assert_non_null(strstr(text, "SLURM_JOB_ID=42\n"));
    assert_non_null(strstr(text, "PATH=/usr/sbin:/usr/bin:/sbin:/bin\n"));
    assert_non_null(strstr(text, step_id));
    assert_null(strstr(text, "GREETING"));
    free(text);
}

static void test_unkillable_script_drains_the_node(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    pid_t pid, tracer;

    begin_bench(&b);
    bench_launch(&b, &c, "#!/bin/sh\necho $$ >held\nexec sleep 1000\n");
    pid = read_pid(&b, "held");
    tracer = trace_process(pid);
    bench_terminate(&b, 42, 0, 0, "CANCELLED");
    if (tracer) {
        assert_reason(&b, "42.batch", pid, "sleep");
        assert_int_equal(bench_batch_ended(&b, 42)->exit_status, SIGKILL);
        assert_program_ran(&b, "SLURM_STEP_ID=4294967291\n");
    }
    assert_non_null(bench_job_gone(&b, 42));
    if (tracer)
        release_process(tracer, pid);
    end_bench(&b);
}

/* A process that a script has left: the job ends with the script, and the node reports the
   problem. */
static void test_unkillable_orphan_drains_the_node(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    pid_t pid, tracer;
    char *go;

    begin_bench(&b);
    bench_launch(&b, &c,
                 "#!/bin/sh\n(setsid sh -c 'echo $$ >held; exec sleep 1000' &)\n"
                 "while [ ! -e go ]; do sleep 0.01; done\nexit 3\n");
    pid = read_pid(&b, "held");
    tracer = trace_process(pid);
    go = mem_printf("%s/go", b.dir);
    fclose(fopen(go, "w"));
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, 3 << 8);
    if (tracer) {
        assert_reason(&b, "42.batch", pid, "sleep");
        release_process(tracer, pid);
    } else {
        bench_terminate(&b, 42, 0, 0, NULL);
    }
    free(go);
    end_bench(&b);
}

static bool is_held(struct bench *b, void *ctx)
{
    struct proc p;

    return !proc_read(*(pid_t *)ctx, &p) && p.state == 't';
}

/* Held, but only for a short time: no problem is reported. */
static void test_process_held_shortly_is_not_reported(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    pid_t pid, tracer;

    bench_init(&b, programs, "UnkillableStepTimeout=60");
    bench_start(&b);
    bench_launch(&b, &c, "#!/bin/sh\necho $$ >held\nexec sleep 1000\n");
    pid = read_pid(&b, "held");
    tracer = trace_process(pid);
    bench_terminate(&b, 42, 0, 0, "CANCELLED");
    if (tracer) {
        assert_true(bench_until(&b, is_held, &pid));
        release_process(tracer, pid);
    }
    assert_non_null(bench_job_gone(&b, 42));
    for (size_t i = 0; i < b.events.len; i++)
        assert_null(b.events.data[i]->trouble);
    end_bench(&b);
}

/* A task of an srun: srun gets the signal that killed the task, and can end. */
static void test_unkillable_task_of_srun_drains_the_node(void **state)
{
    struct bench_cred c = {.job_id = 42, .step_id = 3, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;
    pid_t pid, tracer;

    begin_bench(&b);
    fake_init(&f, &b);
    fake_launch(&f, &c, &m, "[ $SLURM_PROCID = 0 ] && echo $$ >held; while :; do sleep 1000; done");
    pid = read_pid(&b, "held");
    assert_true(bench_until(&b, fake_is_up, &f));
    tracer = trace_process(pid);
    bench_terminate(&b, 42, 0, 0, "TIME LIMIT");
    if (tracer) {
        assert_reason(&b, "42.3", pid, "sh");
        assert_program_ran(&b, "SLURM_STEP_ID=3\n");
    }
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_true(f.exited == 2 && f.status[0] == SIGKILL && f.status[1] == SIGKILL);
    assert_non_null(bench_job_gone(&b, 42));
    if (tracer)
        release_process(tracer, pid);
    fake_end(&b, &f, 42);
}

/* Its shepherd and the daemon are killed: the next daemon tries to end the step, without
   success. */
static void test_unkillable_process_is_found_after_daemons_were_killed(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    pid_t pid, stepd, tracer;

    begin_bench(&b);
    bench_launch(&b, &c,
                 "#!/bin/sh\nawk '/PPid/ {print $2}' /proc/$$/status >stepd\n(setsid sh -c 'echo "
                 "$$ >held; exec sleep 1000' &)\nexec sleep 1000\n");
    stepd = read_pid(&b, "stepd");
    pid = read_pid(&b, "held");
    tracer = trace_process(pid);
    assert_int_equal(kill(stepd, SIGKILL), 0);
    bench_kill(&b, SIGKILL);
    bench_start(&b);
    assert_string_equal(bench_batch_ended(&b, 42)->text, "slurmstepd was killed");
    if (tracer) {
        assert_reason(&b, "42.batch", pid, "sleep");
        release_process(tracer, pid);
    }
    bench_terminate(&b, 42, 0, 0, NULL);
    end_bench(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unkillable_script_drains_the_node),
        cmocka_unit_test(test_unkillable_orphan_drains_the_node),
        cmocka_unit_test(test_process_held_shortly_is_not_reported),
        cmocka_unit_test(test_unkillable_task_of_srun_drains_the_node),
        cmocka_unit_test(test_unkillable_process_is_found_after_daemons_were_killed),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: stuck_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
