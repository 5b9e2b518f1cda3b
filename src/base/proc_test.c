/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base_test_util.h"
#include "base/err.h"
#include "base/mem.h"
#include "base/proc.h"

#define TAIL                                                                                       \
    " S 7 4711 4700 0 -1 4194560 131 0 1 3 11 12 13 14 20 0 1 0 987654 5890048 250 "               \
    "18446744073709551615 94 0 0\n"

static void test_invalid_stat_text_is_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "\n",
        "4711",
        "4711 sh S 7",
        "4711 )sh( S 7",
        "(sh)" TAIL,
        "x (sh)" TAIL,
        "4711 (sh)",
        "4711 (sh) S",
        "4711 (sh) S seven 1 1 0 -1 1 1 0 1 0 11 12 13 14 20 0 1 0 987654 5890048 250",
        "4711 (sh) S 7 1 1 0 -1 1 1 0 1 0 11 12 13 14 20 0 1 0 987654 5890048",
        "4711 (sh) S 7 1 1 0 -1 1 1 0 1 0 11 12 13 14 20 0 1 0 987654 5890048 x",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct proc p = {.pid = 99};

        assert_int_equal(proc_parse(bad[i], &p), -ERR_PARSE);
        assert_int_equal(p.pid, 99);
    }
}

static void test_program_names_with_brackets_are_parsed(void **state)
{
    static const struct {
        const char *text, *name;
    } vectors[] = {
        {"4711 (sh)" TAIL, "sh"},
        {"4711 ()" TAIL, ""},
        {"4711 (a b)" TAIL, "a b"},
        {"4711 (:-))" TAIL, ":-)"},
        {"4711 (() R 1)" TAIL, "() R 1"},
        {"4711 (123456789012345678901234567890123456789012345678901234567890123456789)" TAIL,
         "123456789012345678901234567890123456789012345678901234567890123"},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        struct proc p;

        assert_int_equal(proc_parse(vectors[i].text, &p), 0);
        assert_string_equal(p.name, vectors[i].name);
        assert_true(p.pid == 4711 && p.parent == 7 && p.session == 4700 && p.state == 'S');
        assert_true(p.faults == 1 && p.waited_faults == 3);
        assert_true(p.user_ticks == 11 && p.sys_ticks == 12);
        assert_true(p.waited_user_ticks == 13 && p.waited_sys_ticks == 14);
        assert_true(p.started_ticks == 987654 && p.vsize_bytes == 5890048 && p.rss_pages == 250);
    }
}

static void test_negative_counters(void **state)
{
    struct proc p;

    assert_int_equal(proc_parse("9 (x) R 1 9 9 0 -1 0 1 0 1 -3 11 12 -13 -14 20 0 1 0 5 6 7", &p),
                     0);
    assert_true(!p.waited_faults && !p.waited_user_ticks && !p.waited_sys_ticks);
}

static void test_io_counters_are_parsed(void **state)
{
    static const struct {
        const char *text;
        uint64_t read, written;
    } vectors[] = {
        {"", 0, 0},
        {"read_bytes: ", 0, 0},
        {"read_bytes: -5\nwrite_bytes: x\n", 0, 0},
        {"read_bytes: 99999999999999999999999\n", UINT64_MAX, 0},
        {"rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
         "cancelled_write_bytes: 7\n",
         5, 6},
    };

    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        uint64_t read = 1, written = 1;

        proc_parse_io(vectors[i].text, &read, &written);
        assert_true(read == vectors[i].read && written == vectors[i].written);
    }
}

static void test_missing_process_has_no_entry(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    uint64_t bytes;
    struct proc p;
    uid_t uid;

    assert_int_equal(proc_read(-1, &p), -ENOENT);
    assert_int_equal(proc_read_owned(-1, &p, &uid), -ENOENT);
    assert_int_equal(proc_read_io(-1, &bytes, &bytes), -ENOENT);
    proc_describe(-1, &out);
    assert_int_equal(out.len, 0);
}

static int look_for(void *ctx, pid_t pid)
{
    return pid == *(pid_t *)ctx ? 17 : 0;
}

static void test_own_process_is_read(void **state)
{
    pid_t us = getpid(), nobody = -1;
    uint64_t read, written;
    struct proc p;
    uid_t uid;

    assert_int_equal(proc_read(us, &p), 0);
    assert_true(p.pid == us && p.parent == getppid() && p.state == 'R');
    assert_true(p.vsize_bytes > 0 && p.rss_pages > 0 && p.started_ticks > 0);
    assert_int_equal(proc_read_owned(us, &p, &uid), 0);
    assert_true(p.pid == us && uid == geteuid() && p.session == getsid(0));
    assert_int_equal(proc_read_io(us, &read, &written), 0);
    assert_int_equal(proc_each(look_for, &us), 17);
    assert_int_equal(proc_each(look_for, &nobody), 0);
}

static void test_process_description_is_escaped(void **state)
{
    _cleanup_str_ struct str out = STR_INIT;
    _cleanup_free_ char *want = NULL;
    siginfo_t info;
    pid_t pid = fork();

    if (pid == 0) {
        prctl(PR_SET_NAME, "a (b\nc");
        _exit(0);
    }
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    proc_describe(pid, &out);
    want = mem_printf("pid %d (a?(b?c) state Z, wchan ", (int)pid);
    assert_true(str_starts(str_cstr(&out), want));
    assert_null(strstr(str_cstr(&out), "traced"));
    waitpid(pid, NULL, 0);
}

/* The exit status of a shell script. */
static int run_shell_script(const char *script, bool session)
{
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    int status;

    posix_spawn_file_actions_init(&actions);
    assert_int_equal(child_start(&pid, "/bin/sh", &actions, session, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void missing_program_is_not_started(void **state)
{
    char *const argv[] = {"none", NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = -1;

    posix_spawn_file_actions_init(&actions);
    assert_int_equal(child_start(&pid, "/nowhere/none", &actions, false, argv, environ), ENOENT);
    assert_int_equal(pid, -1);
}

/* The program does not inherit the caller's blocked and ignored signals. */
static void started_program_inherits_no_blocked_signals(void **state)
{
    static const char script[] = "kill -INT $$; kill -TERM $$; exit 3";
    char *const argv[] = {"sh", "-c", (char *)script, NULL};
    posix_spawn_file_actions_t actions;
    sigset_t blocked, before;
    pid_t pid;
    int status;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGINT, SIG_IGN);
    posix_spawn_file_actions_init(&actions);
    assert_int_equal(child_start(&pid, "/bin/sh", &actions, false, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGINT);
    signal(SIGINT, SIG_DFL);
    assert_int_equal(run_shell_script("trap 'exit 4' TERM; kill -TERM $$; exit 3", false), 4);
    sigprocmask(SIG_SETMASK, &before, NULL);
}

/* A session leader is its own process group; without 'session' it is not. */
static void started_program_leads_a_session_if_requested(void **state)
{
    static const char leads[] = "set -- $(cat /proc/$$/stat); [ $$ = $6 ]";

    assert_int_equal(run_shell_script(leads, true), 0);
    assert_int_equal(run_shell_script(leads, false), 1);
}

/* A child that ends, a stopped child, and the end of that child. */
static int await_children(void)
{
    int status = 0;
    pid_t ended = fork(), stopped;

    if (ended == 0)
        _exit(3);
    if (!child_await(ended, 60000, &status) || status != 3 << 8 || waitpid(ended, NULL, 0) != -1)
        return 1;
    stopped = fork();
    if (stopped == 0)
        for (;;)
            pause();
    kill(stopped, SIGSTOP);
    if (child_await(stopped, 0, &status) || child_await(stopped, 50, &status))
        return 2;
    kill(stopped, SIGKILL);
    return child_await(stopped, 60000, &status) && WTERMSIG(status) == SIGKILL ? 0 : 3;
}

static int await_without_handles(void)
{
    return test_without_handles() ? await_children() : 9;
}

static void child_that_does_not_end_in_time_is_reported(void **state)
{
    test_run_apart(await_children);
    test_run_apart(await_without_handles);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_invalid_stat_text_is_refused),
        cmocka_unit_test(test_program_names_with_brackets_are_parsed),
        cmocka_unit_test(test_negative_counters),
        cmocka_unit_test(test_io_counters_are_parsed),
        cmocka_unit_test(test_missing_process_has_no_entry),
        cmocka_unit_test(test_own_process_is_read),
        cmocka_unit_test(test_process_description_is_escaped),
        cmocka_unit_test(missing_program_is_not_started),
        cmocka_unit_test(started_program_inherits_no_blocked_signals),
        cmocka_unit_test(started_program_leads_a_session_if_requested),
        cmocka_unit_test(child_that_does_not_end_in_time_is_reported)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
