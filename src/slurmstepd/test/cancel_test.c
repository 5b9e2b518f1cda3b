/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Steps that are ended before they run: real slurmd and slurmstepd; this process acts as
 * controller and srun. Argument: the directory of the built programs.
 */
#include <netinet/in.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/step_id.h"
#include "rpc/link.h"
#include "slurmstepd/test/fake.h"

static const char *programs;

/* The order to end a step overtakes srun's launch. */
static void test_step_cancelled_before_its_launch_never_runs(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 1, .tasks = 1};
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    bench_end_step(&b, 5, 0, 1);
    bench_end_step(&b, 5, 0, 1);
    assert_int_equal(bench_step_ended(&b, 5, 1)->exit_status, SIGTERM);
    for (int i = 0; i < 2; i++) { /* a repeat too */
        Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;

        fake_launch(&f, &c, &m, "echo >ran");
        assert_true(bench_until(&b, fake_is_answered, &f));
        assert_int_equal(f.code, ERR_CREDENTIAL_REVOKED);
        assert_non_null(strstr(f.text, "step 5.1 was cancelled before it ran on node n1"));
    }
    c.restarts = 1; /* the job's next life */
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    fake_launch(&f, &c, &m, "exit 3");
    assert_true(bench_until(&b, fake_is_done, &f));
    assert_int_equal(f.code, 0);
    bench_end_step(&b, 5, 1, 1); /* over: nothing is said a second time */
    assert_false(bench_has_file(&b, "ran"));
    bench_terminate(&b, 5, 1, 0, NULL);
    assert_non_null(bench_job_gone(&b, 5));
    for (size_t i = 0, ends = 0; i < b.events.len; i++) {
        ends += b.events.data[i]->step_ended != NULL;
        assert_true(ends <= 2);
    }
    fake_end(&b, &f, 0);
}

/* Launches that wait for the prolog are answered at once, and never run. */
static void test_step_cancelled_in_the_prolog_never_runs(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 1, .tasks = 1}, other = c, batch = {.job_id = 6};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT, m2 = PB__LAUNCH_TASKS__INIT;
    struct bench b;
    struct fake f, f2;
    char *go;

    bench_init(&b, programs, "");
    bench_add_program(&b, "Prolog", "prolog",
                      "cd $(dirname $0)\necho up >waits\nwhile [ ! -e go ]; do sleep 0.01; done\n");
    bench_start(&b);
    fake_init(&f, &b);
    fake_init(&f2, &b);
    fake_launch(&f, &c, &m, "echo >ran");
    assert_true(bench_wait_text(&b, "waits", "up"));
    other.step_id = 2;
    fake_launch(&f2, &other, &m2, "echo >ran2");
    bench_launch(&b, &batch, "#!/bin/sh\necho >ran\n");
    bench_end_step(&b, 6, 0, STEP_ID_BATCH);
    bench_end_step(&b, 5, 0, 1);
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, ERR_CREDENTIAL_REVOKED);
    assert_int_equal(bench_step_ended(&b, 5, 1)->exit_status, SIGTERM);
    assert_int_equal(bench_launched(&b, 6)->code, ERR_CREDENTIAL_REVOKED);
    assert_false(f2.answered);
    go = mem_printf("%s/go", b.dir);
    assert_int_equal(path_write_file(go, "", 0, 0644, NULL), 0);
    assert_true(bench_until(&b, fake_is_done, &f2));
    assert_int_equal(f2.code, 0);
    assert_true(bench_has_file(&b, "ran2"));
    assert_false(bench_has_file(&b, "ran"));
    bench_terminate(&b, 6, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 6));
    free(go);
    fake_done(&f2);
    fake_end(&b, &f, 5);
}

/* Its shepherd waits for an srun that does not answer. */
static void test_step_cancelled_while_it_connects_never_runs(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 1, .tasks = 1};
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT;
    socklen_t len = sizeof(addr);
    struct bench b;
    struct fake f;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&addr, len) | listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&addr, &len), 0);
    fake_begin(&b, &f, programs);
    m.io_port = ntohs(addr.sin_port);
    fake_launch(&f, &c, &m, "echo >ran");
    assert_true(bench_until(&b, bench_has_claim, NULL));
    bench_end_step(&b, 5, 0, 1);
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, ERR_CREDENTIAL_REVOKED);
    assert_false(bench_has_file(&b, "ran"));
    close(fd);
    fake_end(&b, &f, 5);
}

static void look_for(struct bench *b, uint32_t job_id, uint32_t step_id)
{
    Pb__NodeOrder order = PB__NODE_ORDER__INIT;
    Pb__StepLook m = PB__STEP_LOOK__INIT;

    m.job_id = job_id;
    m.step_id = step_id;
    order.look = &m;
    bench_order(b, &order);
}

/* The controller asks for a step whose srun may have died before the launch. */
static void test_unlaunched_step_is_reported_ended(void **state)
{
    struct bench_cred c = {.job_id = 5, .step_id = 1, .tasks = 1};
    Pb__LaunchTasks m = PB__LAUNCH_TASKS__INIT, late = m;
    Pb__IoData end_of_input = PB__IO_DATA__INIT;
    struct bench b;
    struct fake f;

    fake_begin(&b, &f, programs);
    fake_launch(&f, &c, &m, "echo up; read line; exit 7");
    assert_true(bench_until(&b, fake_has_output, &f));
    look_for(&b, 5, 1); /* runs */
    look_for(&b, 5, 2);
    look_for(&b, 6, 0); /* nothing of this job is here */
    assert_int_equal(bench_step_ended(&b, 5, 2)->exit_status, SIGTERM);
    assert_int_equal(bench_step_ended(&b, 6, 0)->exit_status, SIGTERM);
    end_of_input.has_data = true;
    rpc_session_send(f.session, RPC_IO_DATA, &end_of_input.base);
    assert_true(bench_until(&b, fake_is_done, &f));
    look_for(&b, 5, 1); /* is over */
    assert_int_equal(bench_step_ended(&b, 5, 1)->exit_status, 7 << 8);
    c.step_id = 2;
    fake_launch(&f, &c, &late, "echo >ran");
    assert_true(bench_until(&b, fake_is_answered, &f));
    assert_int_equal(f.code, ERR_CREDENTIAL_REVOKED);
    bench_terminate(&b, 6, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 6));
    fake_end(&b, &f, 5);
}

/* A shepherd of an earlier daemon. */
struct claimer {
    struct bench *b;
    struct rpc_link *link;
    bool ordered;
};

static void on_order(void *ctx, struct rpc_link *l, const struct rpc_header *h,
                     const ProtobufCMessage *body)
{
    struct claimer *c = ctx;

    c->ordered |= h->rpc == RPC_STEPD_SIGNAL && ((const Pb__StepdSignal *)body)->terminate;
}

static void on_gone(void *ctx, struct rpc_link *l, const struct err *why)
{
}

static void on_daemon(void *ctx, int fd, unsigned ready)
{
    struct rpc_link_events events = {on_order, on_gone, ctx};
    struct claimer *c = ctx;

    c->link = rpc_link_new(c->b->loop, accept(fd, NULL, NULL), &events);
}

static bool is_ordered(struct bench *b, void *ctx)
{
    return ((struct claimer *)ctx)->ordered;
}

static int claim_job(struct bench *b, uint32_t job_id)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/spool/steps/%u.0.%u.sock", b->dir, job_id,
             STEP_ID_BATCH);
    assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

/* Shepherds do not start before a file "go" exists; a waiting one writes "up". */
static void delay_shepherds(struct bench *b)
{
    static const char text[] = "#!/bin/sh\ncd $(dirname $0)\n[ \"$1\" = nursery ] && exit 1\n"
                               "echo up >up\nwhile [ ! -e go ]; do sleep 0.01; done\n"
                               "exec ./slurmstepd.real\n";
    _cleanup_free_ char *path = mem_printf("%s/slurmstepd", b->dir);
    _cleanup_free_ char *real = mem_printf("%s.real", path);

    assert_int_equal(rename(path, real), 0);
    assert_int_equal(path_write_file(path, text, strlen(text), 0755, NULL), 0);
}

/* The order arrives before a new shepherd finds that an old one has the step: the old one is
   told. */
static void test_order_reaches_the_daemon_that_claimed_the_step(void **state)
{
    struct bench_cred c = {.job_id = 6};
    struct claimer old = {0};
    struct loop_fd *watch;
    struct bench b;
    char *go;
    int fd;

    bench_init(&b, programs, "");
    delay_shepherds(&b);
    bench_start(&b);
    old.b = &b;
    fd = claim_job(&b, 6);
    watch = loop_fd_new(b.loop, fd, LOOP_READ, on_daemon, &old);
    bench_launch(&b, &c, "#!/bin/sh\necho >ran\n");
    assert_true(bench_wait_text(&b, "up", "up"));
    bench_terminate(&b, 6, 0, 0, "CANCELLED");
    bench_terminate(&b, 7, 0, 0, NULL);
    assert_non_null(bench_job_gone(&b, 7)); /* so it has the other order, too */
    go = mem_printf("%s/go", b.dir);
    assert_int_equal(path_write_file(go, "", 0, 0644, NULL), 0);
    assert_true(bench_until(&b, is_ordered, &old));
    rpc_link_free(old.link);
    assert_non_null(bench_job_gone(&b, 6));
    assert_false(bench_has_file(&b, "ran"));
    loop_fd_free(watch);
    close(fd);
    free(go);
    bench_done(&b);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_step_cancelled_before_its_launch_never_runs),
        cmocka_unit_test(test_step_cancelled_in_the_prolog_never_runs),
        cmocka_unit_test(test_step_cancelled_while_it_connects_never_runs),
        cmocka_unit_test(test_unlaunched_step_is_reported_ended),
        cmocka_unit_test(test_order_reaches_the_daemon_that_claimed_the_step),
    };

    if (argc < 2) {
        fprintf(stderr, "usage: cancel_test DIRECTORY [TEST]\n");
        return 1;
    }
    programs = argv[1];
    if (argc > 2)
        cmocka_set_test_filter(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
