/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The origin of shepherds, tested with real slurmd and slurmstepd. Argument: the directory of the
 * built programs.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "rpc/frame.h"
#include "rpc/rpc.h"
#include "slurmstepd/task/nursery.h"
#include "slurmstepd/test/bench.h"

#define NURSERY "stepd-nursery"
#define MANY 150 /* steps: more than one nursery starts */

static const char *programs;

struct search {
    pid_t parent, found;
    const char *name;
    unsigned count;
};

static int find_named_child(void *ctx, pid_t pid)
{
    struct search *s = ctx;
    struct proc p;

    if (!proc_read(pid, &p) && p.parent == s->parent && p.state != 'Z' &&
        !strcmp(p.name, s->name)) {
        s->found = pid;
        s->count++;
    }
    return 0;
}

/* Returns slurmd's only child with that name; 0: none, or several: a process just forked by a
 * nursery has its name for a moment. */
static pid_t find_child(const struct bench *b, const char *name)
{
    struct search s = {.parent = b->slurmd, .name = name};

    proc_each(find_named_child, &s);
    return s.count == 1 ? s.found : 0;
}

struct wanted {
    const char *name;
    pid_t found;
};

static bool is_alone(struct bench *b, void *ctx)
{
    struct wanted *w = ctx;

    w->found = find_child(b, w->name);
    return w->found > 0;
}

static pid_t await_child(struct bench *b, const char *name)
{
    struct wanted w = {.name = name};

    assert_true(bench_until(b, is_alone, &w));
    return w.found;
}

/* It is ready when it is called so. */
static pid_t await_nursery(struct bench *b)
{
    return await_child(b, NURSERY);
}

static bool has_gone(struct bench *b, void *ctx)
{
    struct proc p;

    return proc_read(*(pid_t *)ctx, &p) || p.state == 'Z';
}

static void start_slurmd(struct bench *b)
{
    bench_init(b, programs, "KillWait=1");
    bench_start(b);
}

static void launch_waiting_job(struct bench *b, uint32_t job_id)
{
    struct bench_cred c = {.job_id = job_id};

    bench_launch(b, &c, "#!/bin/sh\nexec sleep 1000\n");
    assert_int_equal(bench_launched(b, job_id)->code, 0);
}

static void finish_job(struct bench *b, uint32_t job_id)
{
    bench_terminate(b, job_id, 0, 0, NULL);
    assert_non_null(bench_job_gone(b, job_id));
}

static void run_one_job(struct bench *b, uint32_t job_id)
{
    struct bench_cred c = {.job_id = job_id};

    bench_launch(b, &c, "#!/bin/sh\nexit 3\n");
    assert_int_equal(bench_launched(b, job_id)->code, 0);
    assert_int_equal(WEXITSTATUS(bench_batch_ended(b, job_id)->exit_status), 3);
}

/* Like a process started for the step: its parent, session, names and descriptors. */
static void test_forked_step_daemon_is_an_ordinary_process(void **state)
{
    _cleanup_str_ struct str line = STR_INIT;
    struct bench b;
    struct proc p;
    char path[64];
    pid_t shepherd;

    start_slurmd(&b);
    assert_int_equal(find_child(&b, NURSERY), 0); /* not needed yet */
    run_one_job(&b, 1);
    assert_true(await_nursery(&b) > 0);
    launch_waiting_job(&b, 42); /* from there */
    shepherd = await_child(&b, "slurmstepd");
    assert_int_equal(proc_read(shepherd, &p), 0);
    assert_int_equal(p.session, shepherd);
    snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)shepherd);
    assert_int_equal(path_read_file(path, 4096, &line, NULL), 0);
    assert_string_equal(str_cstr(&line), "slurmstepd: [42.batch]");
    assert_true(line.len <= strlen("slurmstepd: [42.batch]") + 1);
    finish_job(&b, 42);
    bench_done(&b);
}

static void test_killed_fork_server_is_replaced(void **state)
{
    struct bench b;
    pid_t first, shepherd;

    start_slurmd(&b);
    launch_waiting_job(&b, 1);
    first = await_nursery(&b);
    shepherd = await_child(&b, "slurmstepd");
    assert_int_equal(kill(first, SIGKILL), 0);
    assert_true(bench_until(&b, has_gone, &first));
    run_one_job(&b, 2);
    assert_int_not_equal(await_nursery(&b), first);
    assert_int_equal(kill(shepherd, 0), 0);
    finish_job(&b, 1);
    bench_done(&b);
}

static void test_fork_server_ends_with_the_daemon_and_steps_continue(void **state)
{
    struct bench b;
    pid_t nursery, shepherd;

    start_slurmd(&b);
    launch_waiting_job(&b, 1);
    nursery = await_nursery(&b);
    shepherd = await_child(&b, "slurmstepd");
    bench_kill(&b, SIGKILL);
    assert_true(bench_until(&b, has_gone, &nursery));
    assert_int_equal(kill(shepherd, 0), 0);
    bench_start(&b);
    run_one_job(&b, 2);
    finish_job(&b, 1);
    assert_true(bench_until(&b, has_gone, &shepherd));
    bench_done(&b);
}

/* As a package update does: a new file replaces the old one. */
static void test_new_program_runs_from_the_next_step_on(void **state)
{
    _cleanup_str_ struct str text = STR_INIT;
    _cleanup_free_ char *path = NULL, *fresh = NULL;
    struct bench b;
    pid_t first;

    start_slurmd(&b);
    run_one_job(&b, 1);
    first = await_nursery(&b);
    path = mem_printf("%s/slurmstepd", b.dir);
    fresh = mem_printf("%s/slurmstepd.new", b.dir);
    assert_int_equal(path_read_file(path, 256u << 20, &text, NULL), 0);
    assert_int_equal(path_write_file(fresh, text.data, text.len, 0755, NULL), 0);
    assert_int_equal(rename(fresh, path), 0);
    run_one_job(&b, 2);
    assert_true(bench_until(&b, has_gone, &first));
    assert_int_not_equal(await_nursery(&b), first);
    bench_done(&b);
}

static void test_fork_server_is_replaced_in_time(void **state)
{
    struct bench b;
    pid_t first;

    start_slurmd(&b);
    run_one_job(&b, 1);
    first = await_nursery(&b);
    for (uint32_t i = 2; i <= MANY; i++)
        run_one_job(&b, i);
    assert_true(bench_until(&b, has_gone, &first));
    assert_true(await_nursery(&b) > 0);
    bench_done(&b);
}

/* A nursery by itself, for which clone() fails. */
static pid_t start_alone(int error, int *fd)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof(rules) / sizeof(rules[0]), rules};
    char *const argv[] = {"slurmstepd", "nursery", NULL};
    int pair[2];
    pid_t pid;

    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
    pid = fork();
    if (pid == 0) {
        close(pair[0]);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
            _exit(77);
        nursery_serve((char **)argv, pair[1]);
        _exit(99);
    }
    close(pair[1]);
    *fd = pair[0];
    return pid;
}

static void ask_alone(int fd, int step_fd)
{
    char title[] = "slurmstepd: [1.0]", room[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {title, sizeof(title) - 1};
    struct msghdr m = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);

    head->cmsg_len = CMSG_LEN(sizeof(int));
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    memcpy(CMSG_DATA(head), &step_fd, sizeof(int));
    assert_int_equal(sendmsg(fd, &m, 0), part.iov_len);
}

/* If forking is forbidden, nobody waits for the nursery; if it is impossible at the moment, each
 * step is told so, and none of the steps behind it is lost. */
static void test_failing_fork_is_reported_for_each_step(void **state)
{
    int fd, status;
    pid_t pid = start_alone(EPERM, &fd);
    char bytes[512];

    assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 1);
    close(fd);

    pid = start_alone(EAGAIN, &fd);
    assert_int_equal(recv(fd, bytes, sizeof(bytes), 0), 1);
    for (int i = 0; i < 3; i++) {
        int pair[2];
        ssize_t n;

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
        ask_alone(fd, pair[1]);
        close(pair[1]);
        assert_int_equal(send(pair[0], "start", 5, 0), 5);
        n = recv(pair[0], bytes, sizeof(bytes), 0);
        assert_true(n > RPC_HEADER_SIZE);
        assert_non_null(memmem(bytes, (size_t)n, "cannot create a process", 23));
        close(pair[0]);
    }
    close(fd);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forked_step_daemon_is_an_ordinary_process),
        cmocka_unit_test(test_killed_fork_server_is_replaced),
        cmocka_unit_test(test_fork_server_ends_with_the_daemon_and_steps_continue),
        cmocka_unit_test(test_new_program_runs_from_the_next_step_on),
        cmocka_unit_test(test_fork_server_is_replaced_in_time),
        cmocka_unit_test(test_failing_fork_is_reported_for_each_step),
    };

    if (argc < 2)
        return 2;
    programs = argv[1];
    return cmocka_run_group_tests(tests, NULL, NULL);
}
