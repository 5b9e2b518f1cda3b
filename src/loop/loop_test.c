/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "loop/loop.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"

/* Enough of a deadline that only a hang reaches it. */
#define HANG_SEC 60

struct trace {
    struct loop *loop;
    char text[64]; /* one letter for each callback */
    size_t stop_at;
};

static void note_letter(struct trace *t, char letter)
{
    size_t len = strlen(t->text);
    assert_true(len + 1 < sizeof(t->text));
    t->text[len] = letter;
    if (len + 1 == t->stop_at)
        loop_stop(t->loop);
}

static int set_up(void **state)
{
    alarm(HANG_SEC);
    return 0;
}

static int tear_down(void **state)
{
    alarm(0);
    return 0;
}

static void note_a(void *ctx)
{
    note_letter(ctx, 'a');
}

static void note_b(void *ctx)
{
    note_letter(ctx, 'b');
}

static void note_turn(void *ctx)
{
    note_letter(ctx, '.');
}

static void null_is_freed(void **state)
{
    loop_free(NULL);
    loop_timer_free(NULL);
    loop_fd_free(NULL);
}

static void fire_timers_of(struct loop *loop)
{
    struct trace t = {.loop = loop, .stop_at = 2};
    struct loop_timer *a = loop_timer_new(t.loop, note_a, &t);
    struct loop_timer *b = loop_timer_new(t.loop, note_b, &t);
    struct loop_timer *never = loop_timer_new(t.loop, note_turn, &t);
    loop_timer_set(a, 0);
    loop_timer_set(a, 30); /* moved, not doubled */
    loop_timer_set(b, 10);
    loop_timer_set(never, 1);
    loop_timer_set(never, -1);
    loop_run(t.loop);
    assert_string_equal(t.text, "ba");
    loop_timer_free(a);
    loop_timer_free(b);
    loop_timer_free(never);
    loop_free(t.loop);
}

static void timers_fire_once_in_order(void **state)
{
    fire_timers_of(loop_new(0));
    fire_timers_of(loop_new_coarse());
}

struct late {
    struct trace trace;
    struct loop_timer *timer;
};

static void busy_then_set(void *ctx)
{
    struct late *l = ctx;
    int64_t until = loop_mono_ms() + 40;
    while (loop_mono_ms() < until)
        ;
    loop_timer_set(l->timer, 20);
}

/* A timer counts from its setting even if the callback that sets it was slow: it is due at 60 at
 * the earliest, after the one due at 50. */
static void timer_counts_from_its_setting(void **state)
{
    struct late l = {.trace = {.loop = loop_new(0), .stop_at = 2}};
    l.timer = loop_timer_new(l.trace.loop, note_a, &l.trace);
    struct loop_timer *busy = loop_timer_new(l.trace.loop, busy_then_set, &l);
    struct loop_timer *b = loop_timer_new(l.trace.loop, note_b, &l.trace);
    loop_timer_set(b, 50);
    loop_timer_set(busy, 0);
    loop_run(l.trace.loop);
    assert_string_equal(l.trace.text, "ba");
    loop_timer_free(l.timer);
    loop_timer_free(busy);
    loop_timer_free(b);
    loop_free(l.trace.loop);
}

/* One turn per batch of events, after the batch, also for a batch that stops the loop. */
static void turn_follows_each_batch(void **state)
{
    struct trace t = {.loop = loop_new(0), .stop_at = 2};
    loop_on_turn(t.loop, note_turn, &t);
    struct loop_timer *a = loop_timer_new(t.loop, note_a, &t);
    struct loop_timer *b = loop_timer_new(t.loop, note_b, &t);
    loop_timer_set(a, 0);
    loop_run(t.loop);
    assert_string_equal(t.text, "a.");
    memset(t.text, 0, sizeof(t.text));
    t.stop_at = 1; /* from the callback itself */
    loop_timer_set(b, 0);
    loop_run(t.loop);
    assert_string_equal(t.text, "b.");
    loop_timer_free(a);
    loop_timer_free(b);
    loop_free(t.loop);
}

struct peer {
    struct trace trace;
    struct loop_fd *fd;
};

static void peer_ready(void *ctx, int fd, unsigned ready)
{
    struct peer *p = ctx;
    if (ready & LOOP_WRITE) {
        note_letter(&p->trace, 'w');
        loop_fd_events(p->fd, LOOP_READ);
        return;
    }
    char byte;
    ssize_t n = read(fd, &byte, 1);
    note_letter(&p->trace, n == 1 ? byte : '0');
    if (n == 0) {
        loop_fd_free(p->fd); /* inside its own callback */
        p->fd = NULL;
    }
}

static void descriptor_is_level_triggered(void **state)
{
    struct peer p = {.trace = {.loop = loop_new(0), .stop_at = 4}};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    p.fd = loop_fd_new(p.trace.loop, pair[0], LOOP_READ | LOOP_WRITE, peer_ready, &p);
    assert_int_equal(write(pair[1], "xy", 2), 2);
    close(pair[1]);
    loop_run(p.trace.loop);
    assert_string_equal(p.trace.text, "wxy0");
    assert_null(p.fd);
    assert_int_equal(close(pair[0]), 0); /* it stayed ours */
    loop_free(p.trace.loop);
}

static void silent_descriptor_is_not_watched(void **state)
{
    struct peer p = {.trace = {.loop = loop_new(0), .stop_at = 1}};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    p.fd = loop_fd_new(p.trace.loop, pair[0], 0, peer_ready, &p);
    assert_int_equal(write(pair[1], "x", 1), 1);
    struct loop_timer *a = loop_timer_new(p.trace.loop, note_a, &p.trace);
    loop_timer_set(a, 5);
    loop_run(p.trace.loop);
    assert_string_equal(p.trace.text, "a");
    loop_timer_free(a);
    loop_fd_free(p.fd);
    close(pair[0]);
    close(pair[1]);
    loop_free(p.trace.loop);
}

static void on_signal(void *ctx, int signo)
{
    note_letter(ctx, signo == SIGUSR1 ? '1' : '2');
}

static void signals_are_delivered(void **state)
{
    struct trace t = {.loop = loop_new(0), .stop_at = 2};
    loop_signal(t.loop, SIGUSR1, on_signal, &t);
    loop_signal(t.loop, SIGUSR2, on_signal, &t);
    raise(SIGUSR1);
    raise(SIGUSR2);
    loop_run(t.loop);
    assert_int_equal(strlen(t.text), 2);
    assert_non_null(strchr(t.text, '1'));
    assert_non_null(strchr(t.text, '2'));
    loop_free(t.loop);
}

/* A child that continues the loop gets its own signals, and its timers and descriptors work. */
static void loop_continues_in_a_forked_child(void **state)
{
    struct trace t = {.loop = loop_new(0), .stop_at = 2};
    struct loop_timer *a = loop_timer_new(t.loop, note_a, &t);
    sigset_t every, before;
    int status;
    pid_t pid;

    loop_signal(t.loop, SIGUSR1, on_signal, &t);
    raise(SIGUSR1);
    loop_timer_set(a, 0);
    loop_run(t.loop); /* all of it was in use */
    memset(t.text, 0, sizeof(t.text));
    loop_timer_set(a, 50);
    sigfillset(&every);
    sigprocmask(SIG_BLOCK, &every, &before);
    pid = fork();
    if (pid == 0) {
        raise(SIGUSR1);
        loop_forked(t.loop);
        sigprocmask(SIG_SETMASK, &before, NULL);
        loop_run(t.loop);
        _exit(strcmp(t.text, "1a") != 0);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_string_equal(t.text, "");
    loop_timer_free(a);
    loop_free(t.loop);
}

enum { CHILDREN = 8 };

struct nursery {
    struct loop *loop;
    pid_t pids[CHILDREN];
    int exits[CHILDREN];
    int strangers, stranger_status, ended;
};

static pid_t spawn_child(int code)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(code);
    return pid;
}

static void child_done(void *ctx, pid_t pid, int status)
{
    struct nursery *n = ctx;
    for (int i = 0; i < CHILDREN; i++)
        if (n->pids[i] == pid)
            n->exits[i] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (++n->ended == CHILDREN)
        loop_stop(n->loop);
}

static void children_are_reported_once(void **state)
{
    struct nursery n = {.loop = loop_new(0)};
    for (int i = 0; i < CHILDREN; i++) {
        n.pids[i] = spawn_child(i + 1);
        if (i % 2) { /* ended before it is watched */
            siginfo_t info;
            assert_int_equal(waitid(P_PID, (id_t)n.pids[i], &info, WEXITED | WNOWAIT), 0);
        }
        loop_child(n.loop, n.pids[i], child_done, &n);
    }
    loop_run(n.loop);
    for (int i = 0; i < CHILDREN; i++)
        assert_int_equal(n.exits[i], i + 1);
    assert_int_equal(n.ended, CHILDREN);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
    loop_free(n.loop);
}

static void stop_turn(void *ctx)
{
    loop_stop(ctx);
}

/* With the signal blocked, so that nothing else reports the end. */
static void check_reports_an_ended_child(void **state)
{
    struct nursery n = {.loop = loop_new(0), .ended = CHILDREN - 1};
    struct loop_timer *turn = loop_timer_new(n.loop, stop_turn, n.loop);
    sigset_t blocked, before;
    siginfo_t info;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    n.pids[0] = fork();
    assert_true(n.pids[0] >= 0);
    if (n.pids[0] == 0) {
        pause();
        _exit(1);
    }
    loop_child(n.loop, n.pids[0], child_done, &n);
    loop_timer_set(turn, 0);
    loop_run(n.loop);
    assert_int_equal(n.ended, CHILDREN - 1); /* it lives */
    kill(n.pids[0], SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)n.pids[0], &info, WEXITED | WNOWAIT), 0);
    loop_timer_set(turn, 0);
    loop_run(n.loop);
    assert_int_equal(n.ended, CHILDREN - 1); /* the end was not collected */
    loop_child_look(n.loop);
    loop_run(n.loop);
    assert_int_equal(n.ended, CHILDREN);
    loop_timer_free(turn);
    loop_free(n.loop);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

static void note_end(void *ctx, pid_t pid, int status)
{
    note_letter(ctx, 'e');
}

static void note_words(void *ctx, int fd, unsigned ready)
{
    char word;
    if (read(fd, &word, 1) == 1)
        note_letter(ctx, 'w');
}

static void output_of_a_child_precedes_its_end(void **state)
{
    struct trace t = {.loop = loop_new(0), .stop_at = 2};
    int pipe_fds[2];
    siginfo_t info;

    assert_int_equal(pipe(pipe_fds), 0);
    struct loop_fd *words = loop_fd_new(t.loop, pipe_fds[0], LOOP_READ, note_words, &t);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(write(pipe_fds[1], "w", 1) == 1 ? 0 : 1);
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    loop_child(t.loop, pid, note_end, &t);
    loop_run(t.loop);
    assert_string_equal(t.text, "we");
    loop_fd_free(words);
    loop_free(t.loop);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static void stop_on_end(void *ctx, pid_t pid, int status)
{
    loop_stop(((struct nursery *)ctx)->loop);
}

/* The code that forked it may wait for it. */
static void other_children_are_not_reaped(void **state)
{
    struct nursery n = {.loop = loop_new(0)};
    pid_t stranger = spawn_child(7), watched = spawn_child(0);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)stranger, &info, WEXITED | WNOWAIT), 0);
    loop_child(n.loop, watched, stop_on_end, &n);
    loop_run(n.loop);
    int status;
    assert_int_equal(waitpid(stranger, &status, 0), stranger);
    assert_int_equal(WEXITSTATUS(status), 7);
    loop_free(n.loop);
}

static void stranger_ended(void *ctx, pid_t pid, int status)
{
    struct nursery *n = ctx;
    n->strangers++;
    n->stranger_status = WEXITSTATUS(status);
    loop_stop(n->loop);
}

static void subreaper_gets_orphans(void **state)
{
    struct nursery n = {.loop = loop_new(0)};
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (parent == 0) {
        if (fork() == 0)
            _exit(9);
        _exit(0);
    }
    assert_int_equal(waitpid(parent, NULL, 0), parent); /* its child is ours now */
    loop_child_other(n.loop, stranger_ended, &n);
    loop_run(n.loop);
    assert_int_equal(n.strangers, 1);
    assert_int_equal(n.stranger_status, 9);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    loop_free(n.loop);
}

enum { TASKS = 200, LANES = 4 };

struct pool {
    struct loop *loop;
    pthread_t loop_thread;
    atomic_int in_lane[LANES];
    atomic_int next[LANES]; /* the task that must run next in this lane */
    atomic_int faults, ran;
    int done;
};

struct job {
    struct pool *pool;
    int lane, place;
};

static void job_run(void *arg)
{
    struct job *j = arg;
    struct pool *p = j->pool;
    if (pthread_equal(pthread_self(), p->loop_thread))
        p->faults++;
    if (j->lane) { /* lane 0 promises nothing */
        if (atomic_fetch_add(&p->in_lane[j->lane], 1) != 0)
            p->faults++;
        if (atomic_load(&p->next[j->lane]) != j->place)
            p->faults++;
        atomic_store(&p->next[j->lane], j->place + 1);
        atomic_fetch_sub(&p->in_lane[j->lane], 1);
    }
    p->ran++;
}

static void job_done(void *arg)
{
    struct job *j = arg;
    struct pool *p = j->pool;
    if (!pthread_equal(pthread_self(), p->loop_thread))
        p->faults++;
    free(j);
    if (++p->done == TASKS)
        loop_stop(p->loop);
}

static void post_jobs(struct pool *p)
{
    int places[LANES] = {0};
    p->loop_thread = pthread_self();
    for (int i = 0; i < TASKS; i++) {
        struct job *j = mem_new(struct job);
        *j = (struct job){.pool = p, .lane = i % LANES, .place = places[i % LANES]++};
        loop_work_post(p->loop, (unsigned)j->lane, job_run, job_done, j);
    }
}

static void work_of_a_lane_keeps_its_order(void **state)
{
    struct pool p = {.loop = loop_new(4)};
    assert_true(loop_has_workers(p.loop));
    post_jobs(&p);
    loop_run(p.loop);
    assert_int_equal(p.ran, TASKS);
    assert_int_equal(p.done, TASKS);
    assert_int_equal(p.faults, 0);
    loop_free(p.loop);
}

/* Freeing the loop waits for posted tasks and calls their done(). */
static void freeing_the_loop_finishes_its_work(void **state)
{
    struct pool p = {.loop = loop_new(2)};
    post_jobs(&p);
    loop_free(p.loop);
    assert_int_equal(p.ran, TASKS);
    assert_int_equal(p.done, TASKS);
    assert_int_equal(p.faults, 0);
}

/* libevent would disable a polling method for each such variable. */
static void environment_does_not_choose_the_polling_method(void **state)
{
    static const char *const names[] = {"EVENT_NOEPOLL", "EVENT_NOPOLL", "EVENT_NOSELECT"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(setenv(names[i], "1", 1), 0);
    struct loop *loop = loop_new(0), *coarse = loop_new_coarse();
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(unsetenv(names[i]), 0);
    assert_non_null(loop);
    assert_non_null(coarse);
    loop_free(coarse);
    loop_free(loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_freed),
        cmocka_unit_test(environment_does_not_choose_the_polling_method),
        cmocka_unit_test(timers_fire_once_in_order),
        cmocka_unit_test(timer_counts_from_its_setting),
        cmocka_unit_test(turn_follows_each_batch),
        cmocka_unit_test(descriptor_is_level_triggered),
        cmocka_unit_test(silent_descriptor_is_not_watched),
        cmocka_unit_test(signals_are_delivered),
        cmocka_unit_test(loop_continues_in_a_forked_child),
        cmocka_unit_test(children_are_reported_once),
        cmocka_unit_test(check_reports_an_ended_child),
        cmocka_unit_test(output_of_a_child_precedes_its_end),
        cmocka_unit_test(other_children_are_not_reaped),
        cmocka_unit_test(subreaper_gets_orphans),
        cmocka_unit_test(work_of_a_lane_keeps_its_order),
        cmocka_unit_test(freeing_the_loop_finishes_its_work),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
