/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps: slurmd and slurmstepd as a whole, this process playing controller and srun. Started with
 * the directory of the built programs.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/step_id.h"
#include "base/str.h"
#include "slurmstepd/test/fake.h"

static const char *programs;

static void stop(void *ctx)
{
    loop_stop(ctx);
}

static void test_two_tasks_run_and_report_their_ends(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 3, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m,
                "echo $SLURM_PROCID $SLURM_LOCALID $SLURM_STEP_ID $SLURM_NTASKS $SLURM_GTIDS $A;"
                "echo err >&2; exit $SLURM_PROCID");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.code, 0);
    assert_int_equal(f.started, 2);
    assert_int_equal(f.exited, 2);
    assert_string_equal(str_cstr(&f.out[0]), "0 0 3 2 0,1 b\n");
    assert_string_equal(str_cstr(&f.out[1]), "1 1 3 2 0,1 b\n");
    assert_string_equal(str_cstr(&f.err[1]), "err\n");
    assert_true(f.eof[0] && f.eof[1]);
    assert_int_equal(f.status[1], 1 << 8);
    assert_int_equal(bench_step_ended(&b, 5, 3)->exit_status, 1 << 8);
    fake_end(&b, &f, 5);
}

/* CORE-075, 076: the content of a credential, and no launch without one. */
static void test_launch_without_a_valid_credential_is_refused(void **state)
{
    static const struct {
        struct bench_cred cred;
        int code;
    } vectors[] = {
        {{.job_id = 5, .step_id = 0, .tasks = 1, .life_ms = -1}, ERR_CREDENTIAL_EXPIRED},
        {{.job_id = 5, .step_id = 0, .tasks = 1, .node = "n9"}, ERR_CREDENTIAL},
        {{.job_id = 5, .step_id = 0, .tasks = 1, .cluster = "x"}, ERR_CREDENTIAL},
        {{.job_id = 5, .step_id = 0, .tasks = 0}, ERR_CREDENTIAL},
        {{.job_id = 5, .step_id = STEP_ID_BATCH, .tasks = 1}, ERR_CREDENTIAL},
    };
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;

        fake_launch(&f, &vectors[i].cred, &m, "echo no");
        assert_true(bench_until(&b, fake_is_answered, &f));
        assert_int_equal(f.code, vectors[i].code);
    }
    assert_null(f.session);
    fake_end(&b, &f, 0);
}

/* The caller is the user that the kernel reports, and the credential must be the caller's. */
static void test_credential_of_another_user_is_refused(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1, .uid = 1};
    struct bench b;
    struct fake f;
    int status;
    pid_t pid;

    if (geteuid() != 0)
        skip();
    fake_begin(&b, &f, programs);
    fflush(NULL);
    pid = fork();
    if (pid == 0) { /* a stranger with the credential, a loop of its own, and no rights */
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
        struct bench mine = b;

        if (setresuid(65534, 65534, 65534))
            _exit(2);
        mine.loop = loop_new(1);
        mine.deadline = loop_timer_new(mine.loop, stop, mine.loop);
        f.b = &mine;
        fake_launch(&f, &c, &m, "echo no");
        if (!bench_until(&mine, fake_is_answered, &f))
            _exit(3);
        _exit(f.code == ERR_CREDENTIAL && strstr(f.text, "user 65534") ? 0 : 4);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_null(f.session);
    fake_end(&b, &f, 0);
}

/* The key of the streams is derived from a token of the caller, which no other user can use. */
static void test_wrong_stream_key_is_refused(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    for (int bent = 0; bent < 2; bent++) {
        m = (Pb__LaunchTasks)PB__LAUNCH_TASKS__INIT;
        fake_token(&f, bent ? geteuid() : geteuid() + 1);
        f.token[100] ^= bent ? 1 : 0;
        fake_launch(&f, &c, &m, "echo no");
        assert_true(bench_until(&b, fake_is_answered, &f));
        assert_int_equal(f.code, ERR_AUTH);
    }
    assert_null(f.session);
    m = (Pb__LaunchTasks)PB__LAUNCH_TASKS__INIT;
    fake_token(&f, geteuid());
    fake_launch(&f, &c, &m, "exit 0");
    assert_true(bench_until(&b, fake_is_done, &f));
    fake_end(&b, &f, 5);
}

static void test_revoked_and_repeated_launches_are_refused(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT, again = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "exit 0");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_non_null(bench_step_ended(&b, 5, 0));
    fake_token(&f, geteuid()); /* another srun with the same credential */
    fake_launch(&f, &c, &again, "exit 0");
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, ERR_LAUNCH);
    bench_terminate(&b, 5, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 5));
    c.step_id = 1;
    again = (Pb__LaunchTasks)PB__LAUNCH_TASKS__INIT;
    fake_launch(&f, &c, &again, "exit 0");
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, ERR_CREDENTIAL_REVOKED);
    fake_end(&b, &f, 0);
}

static char gone[] = "@sluice-00000000000000000000000000000000";

static void test_launch_fails_if_srun_does_not_listen(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    m.io_port = 1;
    m.io_local = gone;
    fake_launch(&f, &c, &m, "echo >ran");
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, ERR_LAUNCH);
    assert_non_null(strstr(f.text, "127.0.0.1:1"));
    assert_false(bench_has_file(&b, "ran"));
    assert_int_equal(bench_step_ended(&b, 5, 0)->exit_status, 1 << 8);
    fake_end(&b, &f, 5);
}

/* A connection that breaks before srun has answered is opened again; nothing has run by then. */
static void test_broken_connection_to_srun_is_reopened(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    f.deaf = 3;
    fake_launch(&f, &c, &m, "echo ran >>ran; exit 3");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.code, 0);
    assert_int_equal(f.hellos, 4);
    assert_int_equal(f.status[0], 3 << 8);
    assert_true(bench_wait_text(&b, "ran", "ran\n"));
    fake_end(&b, &f, 5);
}

static void test_connection_that_always_breaks_fails_the_launch(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    f.deaf = 1000;
    fake_launch(&f, &c, &m, "echo >ran");
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, ERR_LAUNCH); /* not a code that makes srun launch again */
    assert_non_null(strstr(f.text, f.here
                                       ? "srun cannot be reached: session with srun (@sluice-"
                                       : "srun cannot be reached: session with srun (127.0.0.1:"));
    assert_non_null(strstr(f.text, "Connection closed by the other side, each time again"));
    assert_true(f.hellos > 1 && f.hellos < 100);
    assert_false(bench_has_file(&b, "ran"));
    assert_int_equal(bench_step_ended(&b, 5, 0)->exit_status, 1 << 8);
    fake_end(&b, &f, 5);
}

static void test_standard_input_reaches_the_tasks(void **state)
{
    static const char half[] = "first half, ", rest[] = "second half";
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    Pb__IoData data = PB__IO_DATA__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    m.std_in_mode = "1";
    fake_launch(&f, &c, &m, "cat; readlink /proc/self/fd/0");
    assert_true(bench_until(&b, fake_is_up, &f));
    assert_int_equal(f.code, 0);
    data.task = 0xffffffffu;
    data.has_data = true;
    data.data = (ProtobufCBinaryData){strlen(half), (uint8_t *)half};
    rpc_session_send(f.session, RPC_IO_DATA, &data.base);
    data.task = 1;
    data.data = (ProtobufCBinaryData){strlen(rest), (uint8_t *)rest};
    rpc_session_send(f.session, RPC_IO_DATA, &data.base);
    data.data.len = 0;
    rpc_session_send(f.session, RPC_IO_DATA, &data.base);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_string_equal(str_cstr(&f.out[0]), "/dev/null\n");
    assert_int_equal(strncmp(str_cstr(&f.out[1]), "first half, second halfpipe:", 28), 0);
    fake_end(&b, &f, 5);
}

static void test_output_to_files(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    m.std_out = "shared-%j";
    m.std_err = "own-%t";
    fake_launch(&f, &c, &m, "echo x; echo $SLURM_PROCID >&2");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_true(bench_wait_text(&b, "shared-5", "x\nx\n"));
    assert_true(bench_wait_text(&b, "own-0", "0\n"));
    assert_true(bench_wait_text(&b, "own-1", "1\n"));
    assert_int_equal(f.out[0].len + f.err[0].len, 0);
    fake_end(&b, &f, 5);
}

static void test_file_that_cannot_be_opened(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    m.std_out = "no/such/%t";
    fake_launch(&f, &c, &m, "echo >ran");
    assert_true(bench_until(&b, fake_is_failed, &f));
    assert_int_equal(f.code, ERR_OPEN_IO);
    assert_int_equal(f.fail_code, ERR_OPEN_IO);
    assert_true(f.failed > 0 && f.started == 0);
    assert_false(bench_has_file(&b, "ran"));
    fake_end(&b, &f, 5);
}

static void test_program_not_found(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    char *argv[] = {"/no/such/program"};
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    m.argv = argv;
    m.n_argv = 1;
    fake_launch(&f, &c, &m, NULL);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.status[0], 2 << 8);
    assert_string_equal(
        str_cstr(&f.err[0]),
        "slurmstepd: error: execve(): /no/such/program: No such file or directory\n");
    fake_end(&b, &f, 5);
}

/* CORE-040: the output is not read, and the task ends nevertheless. */
static void test_output_is_held(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m,
                "echo up; read x; head -c 1000000 /dev/zero | tr '\\0' x; echo >written over");
    assert_true(bench_until(&b, fake_has_output, &f));
    rpc_session_pause(f.session, true);
    Pb__IoData data = PB__IO_DATA__INIT;
    data.task = 0;
    data.has_data = true;
    data.data = (ProtobufCBinaryData){3, (uint8_t *)"go\n"};
    rpc_session_send(f.session, RPC_IO_DATA, &data.base);
    assert_true(bench_wait_text(&b, "written", "over"));
    rpc_session_pause(f.session, false);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.out[0].len, 1000003);
    fake_end(&b, &f, 5);
}

static void test_much_output_arrives_completely(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "seq 1 2000000");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.out[0].len, 14888896);
    assert_string_equal(f.out[0].data + f.out[0].len - 8, "2000000\n");
    fake_end(&b, &f, 5);
}

static void test_lost_srun_ends_the_step(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;
    int pid;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "trap '' TERM; echo $$; while :; do sleep 0.05; done");
    assert_true(bench_until(&b, fake_has_output, &f));
    assert_int_equal(sscanf(str_cstr(&f.out[0]), "%d", &pid), 1);
    rpc_session_finish(f.session);
    assert_int_equal(bench_step_ended(&b, 5, 0)->exit_status, SIGKILL);
    assert_int_equal(kill(pid, 0), -1);
    fake_end(&b, &f, 5);
}

static void test_signals_from_srun(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    Pb__IoSignal signal_message = PB__IO_SIGNAL__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "trap 'echo int; exit 9' INT; echo up; while :; do sleep 0.01; done");
    assert_true(bench_until(&b, fake_has_output, &f));
    signal_message.signal = 12345; /* none: ignored */
    rpc_session_send(f.session, RPC_IO_SIGNAL, &signal_message.base);
    signal_message.signal = SIGINT;
    rpc_session_send(f.session, RPC_IO_SIGNAL, &signal_message.base);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_string_equal(str_cstr(&f.out[0]), "up\nint\n");
    assert_int_equal(f.status[0], 9 << 8);
    fake_end(&b, &f, 5);
}

/* The signal arrives during the setup of the tasks: they get it, and the launch does not fail. */
static void test_signal_before_the_start_reaches_the_tasks(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    f.early = SIGUSR1;
    fake_launch(&f, &c, &m, "exec sleep 1000");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.status[0], SIGUSR1);
    assert_int_equal(f.status[1], SIGUSR1);
    fake_end(&b, &f, 5);
}

static void test_cancellation_is_reported_to_the_user(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "echo up; exec sleep 1000");
    assert_true(bench_until(&b, fake_has_output, &f));
    bench_terminate(&b, 5, 0, 5, "CANCELLED");
    assert_non_null(bench_job_gone(&b, 5));
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.status[0], SIGTERM);
    assert_non_null(
        strstr(str_cstr(&f.err[0]), "slurmstepd: error: *** STEP 5.0 ON n1 CANCELLED AT 20"));
    assert_null(strstr(str_cstr(&f.err[0]), "DUE TO"));
    fake_end(&b, &f, 0);
}

/* Whatever address the launch names, the shepherd connects back to its origin. */
static void test_step_daemon_connects_to_the_origin_of_the_launch(void **state)
{
    static char *addresses[] = {"192.0.2.1", "no.such.name"};
    struct bench_cred c = {.job_id = 5, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;

    m.io_addr = addresses;
    m.n_io_addr = 2;
    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "echo here");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.code, 0);
    assert_string_equal(str_cstr(&f.out[0]), "here\n");
    fake_end(&b, &f, 5);
}

/* Srun's UNIX socket is connected to where the launch came by one, too, and is there. */
static void test_local_socket_of_srun_is_used(void **state)
{
    struct bench b;
    struct fake f;
    const struct {
        char *name;
        bool here, is_local;
    } rows[] = {{f.local, true, true}, {f.local, false, false}, {gone, true, false}};

    fake_begin(&b, &f, programs);
    for (uint32_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct bench_cred c = {.job_id = 5, .step_id = i, .tasks = 1};
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;

        m.io_local = rows[i].name;
        f.here = rows[i].here;
        f.done = false;
        fake_token(&f, geteuid());
        fake_launch(&f, &c, &m, "echo here");
        assert_true(bench_until(&b, fake_is_done, &f));
        assert_int_equal(f.code, 0);
        assert_int_equal(f.is_local, rows[i].is_local);
        assert_string_equal(str_cstr(&f.out[0]), "here\n");
        str_clear(&f.out[0]);
    }
    fake_end(&b, &f, 5);
}

/* A shepherd, which runs as root, connects to no other name. */
static void test_invalid_socket_name_is_refused(void **state)
{
    static char *names[] = {"@/tmp/.X11-unix/X0", "/run/dbus/system_bus_socket", "127.0.0.1", ""};
    struct bench_cred c = {.job_id = 5, .tasks = 1};
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) * 2; i++) {
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;

        m.io_local = names[i / 2];
        f.here = i % 2;
        fake_launch(&f, &c, &m, "echo no");
        assert_true(bench_until(&b, fake_is_answered, &f));
        assert_int_equal(f.code, ERR_LAUNCH);
        assert_non_null(strstr(f.text, "is not a name of a local socket of srun"));
    }
    assert_int_equal(f.hellos, 0);
    fake_end(&b, &f, 0);
}

/* Said before any is started. */
static void test_too_few_descriptors_fail_the_launch(void **state)
{
    struct bench_cred c = {.job_id = 5, .tasks = 4};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    const struct rlimit tight = {80, 80};
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    assert_int_equal(prlimit(b.slurmd, RLIMIT_NOFILE, &tight, NULL), 0);
    fake_launch(&f, &c, &m, "echo no");
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, EMFILE);
    assert_non_null(strstr(f.text, "4 tasks need 88 descriptors"));
    assert_int_equal(f.started, 0);
    bench_terminate(&b, 5, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 5));
    fake_end(&b, &f, 0);
}

/* A process outside of the step that has the task's pipe, and never stops writing. */
static pid_t start_writer(int task)
{
    _cleanup_free_ char *path = mem_printf("/proc/%d/fd/1", task);
    pid_t pid = fork();

    if (pid == 0) {
        static char block[65536];
        int fd = open(path, O_WRONLY);

        signal(SIGPIPE, SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (write(fd, block, sizeof(block)) > 0)
            ;
        _exit(0);
    }
    return pid;
}

static bool is_flooded(struct bench *b, void *ctx)
{
    return ((struct fake *)ctx)->out[0].len > 65536;
}

/* Its bytes do not keep the step alive. */
static void test_output_of_a_foreign_process_does_not_keep_the_step(void **state)
{
    struct bench_cred c = {.job_id = 5, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;
    pid_t writer;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "echo $$; exec sleep 1000");
    assert_true(bench_until(&b, fake_has_output, &f));
    writer = start_writer(atoi(str_cstr(&f.out[0])));
    assert_true(bench_until(&b, is_flooded, &f));
    bench_terminate(&b, 5, 0, 0, NULL);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_true(f.eof[0]);
    assert_int_equal(f.status[0], SIGKILL);
    kill(writer, SIGKILL);
    waitpid(writer, NULL, 0);
    fake_end(&b, &f, 5);
}

static void test_tasks_use_pmi(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 2};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f;
    char *argv[] = {"bash", "-c", /* dash does not know descriptors of two digits */
                    "eval \"exec 3<&$PMI_FD 4>&$PMI_FD\";"
                    "ask() { echo \"$1\" >&4; read -r answer <&3; echo \"$answer\"; };"
                    "ask 'cmd=init pmi_version=1 pmi_subversion=1';"
                    "ask 'cmd=get key=PMI_process_mapping';"
                    "ask \"cmd=put kvsname=x key=k$PMI_RANK value=v$PMI_RANK\";"
                    "ask 'cmd=barrier_in'; ask 'cmd=get key=k0'; ask 'cmd=get key=k1';"
                    "ask 'cmd=finalize'; echo $PMI_SIZE"};

    fake_begin(&b, &f, programs);
    m.mpi = "pmi1";
    m.argv = argv;
    m.n_argv = 3;
    fake_launch(&f, &c, &m, NULL);
    assert_true(bench_until(&b, fake_is_done, &f));
    for (int i = 0; i < 2; i++)
        assert_non_null(strstr(str_cstr(&f.out[i]), "cmd=barrier_out rc=0\n"
                                                    "cmd=get_result rc=0 msg=success value=v0\n"
                                                    "cmd=get_result rc=0 msg=success value=v1\n"
                                                    "cmd=finalize_ack rc=0\n2\n"));
    assert_non_null(strstr(str_cstr(&f.out[0]), "value=(vector,(0,1,2))\n"));
    assert_int_equal(f.fences, 1);
    assert_true(!strcmp(str_cstr(&f.puts), "k0=v0;k1=v1;") ||
                !strcmp(str_cstr(&f.puts), "k1=v1;k0=v0;"));
    fake_end(&b, &f, 5);
}

static void test_step_continues_across_a_restart_of_the_daemon(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT, again = PB__LAUNCH_TASKS__INIT;
    const char *script = "echo up; read x; echo got $x; exit 4";
    Pb__IoData data = PB__IO_DATA__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, script);
    assert_true(bench_until(&b, fake_has_output, &f));
    bench_kill(&b, SIGKILL); /* it may not even have answered */
    bench_start(&b);
    fake_launch(&f, &c, &again, script);
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, 0);
    assert_int_equal(b.registered->n_present, 1);
    assert_int_equal(b.registered->present[0]->n_step_ids, 1);
    data.task = 0;
    data.has_data = true;
    data.data = (ProtobufCBinaryData){3, (uint8_t *)"on\n"};
    rpc_session_send(f.session, RPC_IO_DATA, &data.base);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_string_equal(str_cstr(&f.out[0]), "up\ngot on\n");
    assert_int_equal(bench_step_ended(&b, 5, 0)->exit_status, 4 << 8);
    fake_end(&b, &f, 5);
}

static void test_task_has_a_terminal(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    Pb__WindowSize size = PB__WINDOW_SIZE__INIT;
    Pb__IoData data = PB__IO_DATA__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    m.has_pty = m.pty = true;
    fake_launch(&f, &c, &m, "stty -echo; echo up; read x; tty; stty size; exit 3");
    assert_true(bench_until(&b, fake_has_output, &f));
    size.rows = 33;
    size.columns = 77;
    rpc_session_send(f.session, RPC_WINDOW_SIZE, &size.base);
    data.task = 0;
    data.has_data = true;
    data.data = (ProtobufCBinaryData){3, (uint8_t *)"go\n"};
    rpc_session_send(f.session, RPC_IO_DATA, &data.base);
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_non_null(strstr(str_cstr(&f.out[0]), "/dev/pts/"));
    assert_non_null(strstr(str_cstr(&f.out[0]), "33 77\r\n"));
    assert_int_equal(f.status[0], 3 << 8);
    fake_end(&b, &f, 5);
}

static void test_tasks_have_limits_and_few_descriptors(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    Pb__Rlimit files = PB__RLIMIT__INIT, nonsense = PB__RLIMIT__INIT;
    Pb__Rlimit *limits[] = {&files, &nonsense};
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    files.resource = RLIMIT_NOFILE;
    files.soft = 333;
    files.hard = 1;
    nonsense.resource = 99999;
    m.rlimits = limits;
    m.n_rlimits = 2;
    m.has_umask = true;
    m.umask = 027;
    fake_launch(
        &f, &c, &m,
        "ulimit -n; umask; (exec ls /proc/self/fd) | tr '\\n' ' '; grep SigIgn /proc/$$/status;"
        "ps -o sid= -p $$ | grep -qw $$ && echo leader");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_string_equal(str_cstr(&f.out[0]),
                        "333\n0027\n0 1 2 3 SigIgn:\t0000000000000000\nleader\n");
    fake_end(&b, &f, 5);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_tasks_run_and_report_their_ends),
        cmocka_unit_test(test_launch_without_a_valid_credential_is_refused),
        cmocka_unit_test(test_credential_of_another_user_is_refused),
        cmocka_unit_test(test_wrong_stream_key_is_refused),
        cmocka_unit_test(test_revoked_and_repeated_launches_are_refused),
        cmocka_unit_test(test_launch_fails_if_srun_does_not_listen),
        cmocka_unit_test(test_broken_connection_to_srun_is_reopened),
        cmocka_unit_test(test_connection_that_always_breaks_fails_the_launch),
        cmocka_unit_test(test_standard_input_reaches_the_tasks),
        cmocka_unit_test(test_output_to_files),
        cmocka_unit_test(test_file_that_cannot_be_opened),
        cmocka_unit_test(test_program_not_found),
        cmocka_unit_test(test_output_is_held),
        cmocka_unit_test(test_much_output_arrives_completely),
        cmocka_unit_test(test_lost_srun_ends_the_step),
        cmocka_unit_test(test_signals_from_srun),
        cmocka_unit_test(test_signal_before_the_start_reaches_the_tasks),
        cmocka_unit_test(test_cancellation_is_reported_to_the_user),
        cmocka_unit_test(test_too_few_descriptors_fail_the_launch),
        cmocka_unit_test(test_step_daemon_connects_to_the_origin_of_the_launch),
        cmocka_unit_test(test_local_socket_of_srun_is_used),
        cmocka_unit_test(test_invalid_socket_name_is_refused),
        cmocka_unit_test(test_output_of_a_foreign_process_does_not_keep_the_step),
        cmocka_unit_test(test_tasks_use_pmi),
        cmocka_unit_test(test_step_continues_across_a_restart_of_the_daemon),
        cmocka_unit_test(test_task_has_a_terminal),
        cmocka_unit_test(test_tasks_have_limits_and_few_descriptors),
    };
    int failed;

    if (argc < 2) {
        fprintf(stderr, "usage: tasks_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    failed = cmocka_run_group_tests_name("over TCP", tests, NULL, NULL);
    fake_here = true;
    return failed + cmocka_run_group_tests_name("on this host", tests, NULL, NULL);
}
