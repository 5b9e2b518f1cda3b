/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output that is not read after the end of a step, and the remains of a step that is ended while
 * it starts. This process acts as daemon and srun of one slurmstepd. Argument: the directory of
 * the built programs.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "rpc/link.h"
#include "slurmstepd/life/control.h"
#include "slurmstepd/life/finish.h"
#include "slurmstepd/stream/stream.h"
#include "slurmstepd/test/fake.h"

/* More bytes than can be sent without a reader, and fewer than keep the task from ending. */
static int much = 1500000;

static const char *programs;

/* The same on this host: more than the kernel accepts for a local reader. */
static int count_much_here(void)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), room = RPC_SESSION_HIGH;
    socklen_t len = sizeof(room);

    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, len) < 0)
        assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, len), 0);
    assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, &len), 0);
    close(fd);
    return room + 700000;
}

static void test_stuck_output_is_detected(void **state)
{
    static const struct {
        size_t left;
        int64_t now_ms;
        bool stuck;
    } looks[] = {
        {500, 1000, false}, /* the first look: something has moved since 'nothing' */
        {500, 10999, false}, {499, 11000, false}, /* a byte is enough */
        {499, 20999, false}, {499, 21000, true},  {300, 21001, false}, {700, 31000, false},
        {700, 41000, true},  {0, 41001, false},   {0, 51001, true},
    };
    struct drain d = {0};

    for (size_t i = 0; i < sizeof(looks) / sizeof(looks[0]); i++)
        assert_int_equal(stream_is_stuck(&d, looks[i].left, looks[i].now_ms, 10000),
                         looks[i].stuck);
    assert_true(stream_is_stuck(&d, 0, 51001, 0));
}

/* One shepherd; this process is its daemon. */
struct shepherd {
    struct rpc_link *link;
    pid_t pid;
    bool started, ended, closed, gone;
    int wait_status;
};

static void on_message(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                       const ProtobufCMessage *body)
{
    struct shepherd *s = ctx;

    s->started |= h->rpc == RPC_STEPD_START && !((const Pb__StepdStarted *)body)->code;
    s->ended |= h->rpc == RPC_STEPD_ENDED;
}

static void on_close(void *ctx, struct rpc_link *l, const struct err *why)
{
    struct shepherd *s = ctx;

    s->closed = true;
}

static bool has_ended(struct bench *b, void *ctx)
{
    return ((struct shepherd *)ctx)->ended;
}

static bool is_gone(struct bench *b, void *ctx)
{
    struct shepherd *s = ctx;

    s->gone = s->gone || waitpid(s->pid, &s->wait_status, WNOHANG) == s->pid;
    return s->gone;
}

static void start_shepherd(struct bench *b, struct shepherd *s, const Pb__StepdStart *m, bool alone)
{
    _cleanup_free_ char *program = mem_printf("%s/slurmstepd", b->dir);
    struct rpc_link_events events = {on_message, on_close, s};
    char *const argv[] = {program, NULL}, *const env[] = {NULL};
    posix_spawn_file_actions_t actions;
    int pair[2];

    memset(s, 0, sizeof(*s));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    s->link = rpc_link_new(b->loop, pair[0], &events);
    rpc_link_send(s->link, RPC_STEPD_START, false, 1, &m->base);
    if (alone)
        rpc_link_free(take_ptr(s->link));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pair[1], 3);
    assert_int_equal(posix_spawn(&s->pid, program, &actions, NULL, argv, env), 0);
    posix_spawn_file_actions_destroy(&actions);
    close(pair[1]);
}

/* alone: its daemon ends before the shepherd reads its order. */
static void launch_by(struct bench *b, struct fake *f, struct shepherd *s, uint32_t drain_sec,
                      const char *std_out, const char *script, bool alone)
{
    struct bench_cred c = {.job_id = 5, .step_id = 0, .tasks = 1};
    Pb__LaunchTasks launch = PB__LAUNCH_TASKS__INIT;
    Pb__StepdStart m = PB__STEPD_START__INIT;
    _cleanup_free_ char *log = mem_printf("%s/log", b->dir);
    _cleanup_str_ struct str bytes = STR_INIT;

    launch.std_out = (char *)std_out;
    fake_fill(f, &c, script, &launch);
    launch.io_key = (ProtobufCBinaryData){sizeof(f->secret.mac_key), f->secret.mac_key};
    pb_pack(&launch.base, &bytes);
    m.node = BENCH_NODE;
    m.spool_dir = b->dir;
    m.cred = launch.cred;
    m.has_launch = m.has_drain_sec = true;
    m.launch = (ProtobufCBinaryData){bytes.len, (uint8_t *)bytes.data};
    m.drain_sec = drain_sec;
    m.log_file = log;
    start_shepherd(b, s, &m, alone);
    free(launch.cred.data);
    free(launch.signature.data);
}

static void launch_step(struct bench *b, struct fake *f, struct shepherd *s, uint32_t drain_sec,
                        const char *std_out, const char *script)
{
    launch_by(b, f, s, drain_sec, std_out, script, false);
}

/* For a step whose srun stops reading after it has seen its first output. */
static void run_and(struct bench *b, struct fake *f, struct shepherd *s, uint32_t drain_sec,
                    const char *std_out, const char *then)
{
    _cleanup_free_ char *script =
        mem_printf("echo up >&2; read x; head -c %d /dev/zero; %s", much, then);
    Pb__IoData data = PB__IO_DATA__INIT;

    launch_step(b, f, s, drain_sec, std_out, script);
    assert_true(bench_until(b, fake_has_errors, f));
    rpc_session_pause(f->session, true);
    data.task = 0;
    data.has_data = true;
    data.data = (ProtobufCBinaryData){3, (uint8_t *)"go\n"};
    rpc_session_send(f->session, RPC_IO_DATA, &data.base);
}

static void run_drained_step(struct bench *b, struct fake *f, struct shepherd *s,
                             uint32_t drain_sec, const char *std_out)
{
    run_and(b, f, s, drain_sec, std_out, "exit 0");
}

static void order_end(struct shepherd *s)
{
    Pb__StepdSignal m = PB__STEPD_SIGNAL__INIT;

    m.has_terminate = m.terminate = true;
    m.has_grace_sec = true;
    rpc_link_send(s->link, RPC_STEPD_SIGNAL, false, 2, &m.base);
}

static void begin_srun(struct bench *b, struct fake *f)
{
    _cleanup_free_ char *steps = NULL;

    bench_init(b, programs, "");
    steps = mem_printf("%s/steps", b->dir);
    assert_int_equal(mkdir(steps, 0700), 0);
    fake_init(f, b);
}

static void end_srun(struct bench *b, struct fake *f, struct shepherd *s)
{
    assert_true(bench_until(b, is_gone, s));
    assert_int_equal(s->wait_status, 0);
    rpc_link_free(s->link);
    fake_done(f);
    bench_done(b);
}

static void test_unread_output_is_dropped_after_a_time(void **state)
{
    struct shepherd s;
    struct bench b;
    struct fake f;

    begin_srun(&b, &f);
    run_drained_step(&b, &f, &s, 1, NULL);
    assert_true(bench_until(&b, has_ended, &s));
    assert_true(bench_wait_text(&b, "log", "error: step 5.0: "));
    assert_true(
        bench_wait_text(&b, "log",
                        " bytes of output are given up: its srun has taken none of them for 1 "
                        "seconds since the step ended\n"));
    end_srun(&b, &f, &s);
}

static void test_late_reader_gets_all_output(void **state)
{
    struct shepherd s;
    struct bench b;
    struct fake f;

    begin_srun(&b, &f);
    run_drained_step(&b, &f, &s, 600, NULL);
    assert_true(bench_until(&b, has_ended, &s));
    rpc_session_pause(f.session, false);
    assert_true(bench_until(&b, fake_is_closed, &f));
    assert_true(f.done && f.eof[0]);
    assert_int_equal(f.out[0].len, much);
    assert_false(bench_has_file(&b, "log"));
    end_srun(&b, &f, &s);
}

static bool is_let_go(struct bench *b, void *ctx)
{
    return ((struct shepherd *)ctx)->closed;
}

/* The job is ended by order while its srun is stopped: the node does not wait for the srun, which
 * gets the output when it continues. */
static void test_order_ends_a_draining_step(void **state)
{
    struct shepherd s;
    struct bench b;
    struct fake f;

    begin_srun(&b, &f);
    run_and(&b, &f, &s, 600, NULL, "echo up >up; sleep 1000");
    assert_true(bench_wait_text(&b, "up", "up"));
    order_end(&s);
    assert_true(bench_until(&b, has_ended, &s));
    assert_true(bench_until(&b, is_let_go, &s));
    assert_false(is_gone(&b, &s));
    assert_true(bench_has_file(&b, "steps/5.0.0.exit"));
    rpc_session_pause(f.session, false);
    assert_true(bench_until(&b, fake_is_closed, &f));
    assert_int_equal(f.out[0].len, much);
    end_srun(&b, &f, &s);
}

/* A file has everything, whatever srun does. */
static void test_file_gets_all_output_without_srun(void **state)
{
    struct shepherd s;
    struct bench b;
    struct stat st;
    struct fake f;
    char *text;

    begin_srun(&b, &f);
    run_drained_step(&b, &f, &s, 0, "all-%j");
    assert_true(bench_until(&b, has_ended, &s));
    text = mem_printf("%s/all-5", b.dir);
    assert_int_equal(stat(text, &st), 0);
    assert_int_equal(st.st_size, much);
    free(text);
    end_srun(&b, &f, &s);
}

static bool has_child(struct bench *b, void *ctx)
{
    const struct shepherd *s = ctx;
    _cleanup_free_ char *path = mem_printf("/proc/%d/task/%d/children", s->pid, s->pid);
    _cleanup_str_ struct str text = STR_INIT;

    return path_read_file(path, 4096, &text, NULL) == 0 && text.len > 0;
}

/* The order to end arrives before the shepherd has checked its task, which already runs and has
 * children. They hold a pipe, whose end of file shows their end. */
static void test_step_ended_while_it_starts_leaves_no_process(void **state)
{
    struct shepherd s;
    struct bench b;
    struct fake f;
    char *path, byte;
    int fd;

    begin_srun(&b, &f);
    path = mem_printf("%s/pipe", b.dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    launch_step(&b, &f, &s, 0, "pipe", "sleep 1000 & echo up >up; wait");
    assert_true(bench_until(&b, has_child, &s)); /* it waits for a reader of the pipe */
    assert_int_equal(kill(s.pid, SIGSTOP), 0);
    order_end(&s);
    fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(bench_wait_text(&b, "up", "up"));
    assert_int_equal(kill(s.pid, SIGCONT), 0);
    assert_true(bench_until(&b, is_gone, &s));
    assert_int_equal(read(fd, &byte, 1), 0);
    assert_false(s.started);
    close(fd);
    free(path);
    end_srun(&b, &f, &s);
}

/* The next daemon has found no claim, and the step is cancelled there: a late shepherd runs
   nothing. */
static void test_late_step_without_a_daemon_runs_nothing(void **state)
{
    struct shepherd s;
    struct bench b;
    struct fake f;

    begin_srun(&b, &f);
    launch_by(&b, &f, &s, 0, NULL, "echo ran >ran", true);
    assert_true(bench_until(&b, is_gone, &s));
    assert_false(bench_has_file(&b, "ran"));
    assert_int_equal(bench_count_files(&b, "steps"), 0);
    end_srun(&b, &f, &s);
}

static void claim_step(struct bench *b, struct step *step, int *daemon_fd)
{
    int pair[2];

    memset(step, 0, sizeof(*step));
    step->loop = b->loop;
    step->dir = b->dir;
    step->name = "5.0";
    step->job_id = 5;
    step->pid = getpid();
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    control_open(step, pair[0]);
    assert_int_equal(control_claim(step, NULL), 0);
    assert_int_equal(control_claim_stands(step, NULL), 0);
    *daemon_fd = pair[1];
}

/* The daemon goes between the check and the claim: the claim is withdrawn, unless the next daemon
 * has found it. */
static void test_claim_is_withdrawn_if_the_daemon_has_ended(void **state)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    struct step step;
    struct bench b;
    struct fake f;
    int fd;

    begin_srun(&b, &f);
    claim_step(&b, &step, &fd);
    close(fd);
    assert_int_equal(control_claim_stands(&step, NULL), -ERR_CLOSED);
    assert_int_equal(bench_count_files(&b, "steps"), 0);
    control_done(&step);

    claim_step(&b, &step, &fd);
    close(fd);
    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/steps/5.0.0.sock", b.dir);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(control_claim_stands(&step, NULL), 0);
    assert_int_equal(bench_count_files(&b, "steps"), 1);
    assert_int_equal(access(addr.sun_path, F_OK), 0);
    control_done(&step);
    close(fd);
    fake_done(&f);
    bench_done(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stuck_output_is_detected),
        cmocka_unit_test(test_unread_output_is_dropped_after_a_time),
        cmocka_unit_test(test_late_reader_gets_all_output),
        cmocka_unit_test(test_order_ends_a_draining_step),
        cmocka_unit_test(test_file_gets_all_output_without_srun),
        cmocka_unit_test(test_step_ended_while_it_starts_leaves_no_process),
        cmocka_unit_test(test_late_step_without_a_daemon_runs_nothing),
        cmocka_unit_test(test_claim_is_withdrawn_if_the_daemon_has_ended),
    };
    int failed;

    if (argc < 2) {
        fprintf(stderr, "usage: drain_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    failed = cmocka_run_group_tests_name("over TCP", tests, NULL, NULL);
    fake_here = true;
    much = count_much_here();
    return failed + cmocka_run_group_tests_name("on this host", tests, NULL, NULL);
}
