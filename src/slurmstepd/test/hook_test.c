/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs around tasks: slurmd and slurmstepd as a whole, this process playing controller and
 * srun. Started with the directory of the built programs.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "slurmstepd/test/fake.h"

static const char *programs;

static void begin_hooks(struct bench *b, struct fake *f, const char *prolog, const char *epilog)
{
    bench_init(b, programs, "");
    if (prolog)
        bench_add_program(b, "TaskProlog", "prolog", prolog);
    if (epilog)
        bench_add_program(b, "TaskEpilog", "epilog", epilog);
    bench_start(b);
    fake_init(f, b);
}

static void write_script(struct bench *b, const char *name, const char *script)
{
    _cleanup_free_ char *path = mem_printf("%s/%s", b->dir, name);
    _cleanup_free_ char *text = mem_printf("#!/bin/sh\n%s", script);

    assert_int_equal(path_write_file(path, text, strlen(text), 0755, NULL), 0);
}

static void assert_file(struct bench *b, const char *name, const char *want)
{
    _cleanup_free_ char *text = bench_read(b, name);

    assert_string_equal(text, want);
}

/* A prolog that fails: its task does not run, the step ends with its code, the epilog is run. */
static void test_failing_prolog_fails_the_task(void **state)
{
    static const struct {
        const char *prolog, *own; /* the site's, and the user's */
        int status;
        const char *said;
    } vectors[] = {
        {"exit 3\n", NULL, 3, "/prolog exited with status 3: the task is not started\n"},
        {"kill -9 $$\n", NULL, 1, "/prolog was ended by signal 9: the task is not started\n"},
        {NULL, "/no/such/program", 1,
         "slurmstepd: error: --task-prolog /no/such/program cannot be run: No such file or "
         "directory: the task is not started\n"},
        {NULL, ".", 1,
         "slurmstepd: error: --task-prolog . cannot be run: Permission denied: the task is not "
         "started\n"},
        {"exit 4\n", "/bin/true", 4, "TaskProlog "},
        {"exit 0\n", "/bin/false", 1,
         "--task-prolog /bin/false exited with status 1: the task is not started\n"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
        struct bench b;
        struct fake f;

        begin_hooks(&b, &f, vectors[i].prolog, "echo epilog >>marks\n");
        m.task_prolog = (char *)vectors[i].own;
        fake_launch(&f, &c, &m, "echo >ran");
        assert_true(bench_until(&b, fake_is_done, &f));
        assert_int_equal(f.code, 0);
        assert_int_equal(f.status[0], vectors[i].status << 8);
        assert_non_null(strstr(str_cstr(&f.err[0]), vectors[i].said));
        assert_false(bench_has_file(&b, "ran"));
        assert_file(&b, "marks", "epilog\n");
        fake_end(&b, &f, 5);
    }
}

static void test_prolog_directives_change_the_environment(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    begin_hooks(&b, &f,
                "echo export TASK=$SLURM_PROCID of $SLURM_TASK_PID\necho print site $A "
                "$SLURM_SCRIPT_CONTEXT\necho export A=site\necho export\necho nothing\n"
                "cat; sleep 1000 &\n", /* no input for it, and an output that stays open */
                NULL);
    write_script(&b, "own", "echo print own $A\necho unset A\necho export PATH=/usr/bin:/bin:/x\n");
    m.task_prolog = "./own";
    fake_launch(&f, &c, &m,
                "[ \"$TASK\" = \"$SLURM_PROCID of $$\" ] && echo same; echo ${A-unset} $PATH "
                "${SLURM_SCRIPT_CONTEXT-none}; read x; echo $x");
    assert_true(bench_until(&b, fake_is_up, &f));
    for (uint32_t i = 0; i < 2; i++) {
        Pb__IoData data = PB__IO_DATA__INIT;

        data.task = i;
        data.has_data = true;
        data.data = (ProtobufCBinaryData){6, (uint8_t *)"input\n"};
        rpc_session_send(f.session, RPC_IO_DATA, &data.base);
    }
    assert_true(bench_until(&b, fake_is_done, &f));
    for (int i = 0; i < 2; i++) {
        assert_string_equal(str_cstr(&f.out[i]), "site b prolog_task\nown site\nsame\n"
                                                 "unset /usr/bin:/bin:/x none\ninput\n");
        assert_non_null(strstr(str_cstr(&f.err[i]), "/prolog: cannot use `export'\n"));
    }
    fake_end(&b, &f, 5);
}

static void test_much_prolog_output_is_survived(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    begin_hooks(&b, &f, "echo export FIRST=1; seq 1 400000; echo export LAST=1\n", NULL);
    fake_launch(&f, &c, &m, "echo $FIRST ${LAST-none}");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_string_equal(str_cstr(&f.out[0]), "1 none\n");
    assert_non_null(strstr(str_cstr(&f.err[0]), "beyond 1048576 bytes was dropped\n"));
    fake_end(&b, &f, 5);
}

/* The user's epilog first, then the site's; into the task's output, with its environment; failures
 * of both are reported. */
static void test_user_epilog_precedes_the_site_epilog(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    begin_hooks(&b, &f, NULL,
                "echo site $SLURM_PROCID $A $SLURM_SCRIPT_CONTEXT $SLURM_GTID; exit 7\n");
    write_script(&b, "own",
                 "read x; echo own $SLURM_LOCALID $SLURM_TASK_PID >&2; echo ran; exit 6\n");
    m.task_epilog = "./own";
    m.has_umask = true;
    m.umask = 077;
    fake_launch(&f, &c, &m, "echo $$; exit 2");
    assert_true(bench_until(&b, fake_is_done, &f));
    for (int i = 0; i < 2; i++) {
        int pid, local, of;
        _cleanup_free_ char *want = NULL;

        assert_int_equal(sscanf(str_cstr(&f.out[i]), "%d", &pid), 1);
        want = mem_printf("%d\nran\nsite %d b epilog_task 0,1\n", pid, i);
        assert_string_equal(str_cstr(&f.out[i]), want);
        assert_int_equal(sscanf(str_cstr(&f.err[i]), "own %d %d", &local, &of), 2);
        assert_true(local == i && of == pid);
        assert_non_null(strstr(str_cstr(&f.err[i]),
                               "slurmstepd: error: --task-epilog ./own exited with status 6\n"));
        assert_null(strstr(str_cstr(&f.err[i]), "TaskEpilog"));
        assert_int_equal(f.status[i], 2 << 8); /* the task's own */
    }
    assert_true(bench_wait_text(&b, "log", "error: step 5.0, task 1: TaskEpilog "));
    assert_true(bench_wait_text(&b, "log", "/epilog exited with status 7\n"));
    fake_end(&b, &f, 5);
}

/* The epilog's own limits stay those of the daemon. */
static void epilogs_get_the_limits_of_their_task(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    Pb__Rlimit cpu = PB__RLIMIT__INIT, stack = PB__RLIMIT__INIT;
    Pb__Rlimit *limits[] = {&cpu, &stack};
    struct bench b;
    struct fake f;

    begin_hooks(&b, &f, NULL, "echo site $SLURM_RLIMIT_CPU $SLURM_RLIMIT_STACK $(ulimit -t)\n");
    write_script(&b, "own", "echo own $SLURM_RLIMIT_CPU $SLURM_RLIMIT_STACK\n");
    m.task_epilog = "./own";
    cpu.resource = RLIMIT_CPU;
    cpu.soft = 4321;
    stack.resource = RLIMIT_STACK;
    stack.soft = 1 << 20;
    cpu.hard = stack.hard = UINT64_MAX;
    m.rlimits = limits;
    m.n_rlimits = 2;
    fake_launch(&f, &c, &m, "echo ${SLURM_RLIMIT_CPU-none}");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_string_equal(str_cstr(&f.out[0]),
                        "none\nown 4321 1048576\nsite 4321 1048576 unlimited\n");
    fake_end(&b, &f, 5);
}

static void test_epilog_that_cannot_run_is_reported(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    begin_hooks(&b, &f, NULL, "echo site\n");
    m.task_epilog = "/no/such";
    fake_launch(&f, &c, &m, "exit 0");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_non_null(strstr(
        str_cstr(&f.err[0]),
        "slurmstepd: error: --task-epilog /no/such cannot be run: No such file or directory\n"));
    assert_string_equal(str_cstr(&f.out[0]), "site\n");
    assert_int_equal(f.status[0], 0);
    fake_end(&b, &f, 5);
}

/* The user's epilog has a few seconds; the site's has no limit. */
static void test_hanging_epilog_is_killed(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    begin_hooks(&b, &f, NULL, "echo site\n");
    write_script(&b, "own", "echo own; sleep 1000; echo over\n");
    m.task_epilog = "./own";
    fake_launch(&f, &c, &m, "exit 0");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_string_equal(str_cstr(&f.out[0]), "own\nsite\n");
    assert_non_null(strstr(str_cstr(&f.err[0]), "--task-epilog ./own was ended by signal 9\n"));
    fake_end(&b, &f, 5);
}

/* A hanging epilog does not prevent the end of a job. */
static void test_hanging_epilog_does_not_prevent_the_end(void **state)
{
    static const char *const hang = "trap '' TERM\necho >hangs\nwhile :; do sleep 0.05; done\n";

    for (int i = 0; i < 2; i++) {
        struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
        struct bench b;
        struct fake f;

        begin_hooks(&b, &f, i ? NULL : hang, i ? hang : NULL);
        fake_launch(&f, &c, &m, "echo ran >ran");
        assert_true(bench_wait_text(&b, "hangs", "\n"));
        bench_terminate(&b, 5, 0, 1, "CANCELLED");
        assert_non_null(bench_job_gone(&b, 5));
        assert_int_equal(bench_has_file(&b, "ran"), i);
        fake_end(&b, &f, 0);
    }
}

/* A batch script is a task as well, and has no srun to ask for programs of its own. */
static void test_batch_script_has_site_prolog_and_epilog(void **state)
{
    struct bench_cred c = {.job_id = 42};
    struct bench b;
    struct fake f;

    begin_hooks(&b, &f, "echo export GREETING=hi; echo print prolog\n", "echo epilog $GREETING\n");
    bench_launch(&b, &c, "#!/bin/sh\necho $GREETING; exit 3\n");
    assert_int_equal(bench_launched(&b, 42)->code, 0);
    assert_int_equal(bench_batch_ended(&b, 42)->exit_status, 3 << 8);
    assert_file(&b, "slurm-42.out", "prolog\nhi\nepilog hello\n");
    fake_end(&b, &f, 0);
}

#define NOBODY 65534

static void test_hooks_run_as_the_user(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1, .uid = NOBODY};
    static const char *const show =
        "echo $SLURM_SCRIPT_CONTEXT $(id -u) $(id -G) $(grep -c 'CapEff:.0000000000000000' "
        "/proc/self/status) $(ls /proc/self/fd | wc -l) >>marks\n";
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    if (geteuid() != 0)
        skip();
    begin_hooks(&b, &f, show, show);
    assert_int_equal(chmod(b.dir, 0777), 0);
    fake_launch(&f, &c, &m, "exit 0");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_file(&b, "marks", "prolog_task 65534 65534 1 4\nepilog_task 65534 65534 1 4\n");
    fake_end(&b, &f, 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failing_prolog_fails_the_task),
        cmocka_unit_test(test_prolog_directives_change_the_environment),
        cmocka_unit_test(test_much_prolog_output_is_survived),
        cmocka_unit_test(test_user_epilog_precedes_the_site_epilog),
        cmocka_unit_test(epilogs_get_the_limits_of_their_task),
        cmocka_unit_test(test_epilog_that_cannot_run_is_reported),
        cmocka_unit_test(test_hanging_epilog_is_killed),
        cmocka_unit_test(test_hanging_epilog_does_not_prevent_the_end),
        cmocka_unit_test(test_batch_script_has_site_prolog_and_epilog),
        cmocka_unit_test(test_hooks_run_as_the_user),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: hook_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
