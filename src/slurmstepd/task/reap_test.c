/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base_test_util.h"
#include "base/proc.h"
#include "slurmstepd/task/reap.h"

/* A child whose own descendants, one in another session and one that ignores SIGTERM, survive it;
 * each writes a byte when it runs. */
static void make_family(int ready)
{
    if (fork() == 0) {
        if (fork() == 0) {
            setsid();
            if (write(ready, "a", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            if (write(ready, "b", 1) != 1)
                _exit(1);
            for (;;)
                pause();
        }
        _exit(0);
    }
}

static int reap_until_none(int signo)
{
    int rounds = 0;

    while (reap_have_children() && rounds++ < 100) {
        reap_signal_all(signo);
        if (waitpid(-1, NULL, 0) < 0)
            break;
    }
    return reap_have_children() ? -1 : rounds;
}

static int kill_family(void)
{
    int ends[2];
    char bytes[2];
    size_t got = 0;

    reap_become_subreaper();
    if (reap_have_children() || pipe(ends))
        return 1;
    if (reap_signal_all(SIGKILL) != 0)
        return 2;
    make_family(ends[1]);
    while (got < 2) {
        ssize_t n = read(ends[0], bytes, sizeof(bytes));

        if (n <= 0)
            return 3;
        got += (size_t)n;
    }
    if (!reap_have_children())
        return 4;
    return reap_until_none(SIGKILL) > 0 ? 0 : 5;
}

/* A chain of processes that fork and end: each kill leaves a newer one. */
static int kill_forking_chain(void)
{
    reap_become_subreaper();
    if (fork() == 0) {
        for (int i = 0; i < 5000; i++)
            if (fork() != 0)
                _exit(0);
        for (;;)
            pause();
    }
    for (int i = 0; i < 100000 && reap_have_children(); i++) {
        reap_signal_all(SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return reap_have_children() ? 1 : 0;
}

static int note_stopped(void *ctx, pid_t pid, pid_t parent)
{
    struct proc p;
    unsigned *running = ctx;

    for (int i = 0; i < 1000000 && !proc_read(pid, &p) && !strchr("TZX", p.state); i++)
        if (i == 999999)
            ++*running;
    return 0;
}

/* A process that forks continuously, like a shell, is stopped with all of its children. */
static int stop_forking_process(void)
{
    unsigned running = 0;
    int ends[2];
    char byte;

    reap_become_subreaper();
    if (pipe(ends))
        return 3;
    if (fork() == 0)
        for (bool told = false;; told = told || write(ends[1], "a", 1) == 1) {
            pid_t pid = fork();

            if (pid == 0)
                _exit(0);
            waitpid(pid, NULL, 0);
        }
    if (read(ends[0], &byte, 1) != 1)
        return 3;
    reap_stop_all();
    reap_each(note_stopped, &running);
    if (running || !reap_have_children())
        return 1;
    for (int i = 0; i < 100000 && reap_have_children(); i++) {
        reap_signal_all(SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return reap_have_children() ? 2 : 0;
}

static void write_forever(int fd)
{
    for (;;)
        (void)!write(fd, "a", 1);
}

static bool reads_on(int fd)
{
    char bytes[1 << 16];

    for (ssize_t n = sizeof(bytes); n == sizeof(bytes);)
        n = read(fd, bytes, sizeof(bytes)); /* what was written before */
    return read(fd, bytes, 1) == 1;
}

/* A task that leads a group, its children, and a process that has left the group for its own
 * session: all are stopped, and all are continued. */
static int signal_group(void)
{
    unsigned running = 0;
    int ends[3][2], rc = 0;
    char byte;

    reap_become_subreaper();
    for (int i = 0; i < 3; i++)
        if (pipe(ends[i]))
            return 3;
    if (fork() == 0) {
        setpgid(0, 0);
        if (fork() == 0)
            write_forever(ends[1][1]);
        if (fork() == 0) {
            setsid();
            write_forever(ends[2][1]);
        }
        write_forever(ends[0][1]);
    }
    for (int i = 0; i < 3; i++)
        if (read(ends[i][0], &byte, 1) != 1)
            return 3;
    reap_stop_all();
    reap_each(note_stopped, &running);
    if (running)
        rc = 1;
    reap_continue_all();
    for (int i = 0; i < 3 && !rc; i++)
        rc = reads_on(ends[i][0]) ? 0 : 2;
    while (reap_have_children()) {
        reap_signal_all(SIGKILL);
        while (waitpid(-1, NULL, WNOHANG) > 0)
            ;
    }
    return rc;
}

/* A process whose parent has ended, like a daemon, is signalled, too. */
static int signal_orphan(void)
{
    int ends[2];
    char byte;
    pid_t parent;

    reap_become_subreaper();
    if (pipe(ends))
        return 3;
    parent = fork();
    if (parent == 0) {
        if (fork() == 0)
            for (bool told = false;; told = told || write(ends[1], "a", 1) == 1)
                if (told)
                    pause();
        _exit(0);
    }
    if (waitpid(parent, NULL, 0) != parent || read(ends[0], &byte, 1) != 1)
        return 3;
    if (reap_signal_all(SIGKILL) != 1)
        return 1;
    return waitpid(-1, NULL, 0) > 0 && !reap_have_children() ? 0 : 2;
}

static size_t count_word(const char *text, const char *word)
{
    size_t n = 0;

    for (; (text = strstr(text, word)); text += strlen(word))
        n++;
    return n;
}

/* Five living and two dead processes: three of the living are reported. */
static int describe_processes(void)
{
    _cleanup_str_ struct str text = STR_INIT;
    siginfo_t info;
    int rc = 0;

    reap_become_subreaper();
    reap_describe(&text);
    if (text.len)
        return 1;
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();

        if (pid == 0)
            _exit(0);
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT))
            return 2;
    }
    reap_describe(&text);
    if (count_word(str_cstr(&text), " state Z, ") != 2 || strstr(str_cstr(&text), "more"))
        return 3;
    str_clear(&text);
    for (int i = 0; i < 5; i++)
        if (fork() == 0)
            for (;;)
                pause();
    reap_describe(&text);
    if (count_word(str_cstr(&text), "pid ") != 3 || count_word(str_cstr(&text), "; ") != 3 ||
        !strstr(str_cstr(&text), "; and 2 more") || strstr(str_cstr(&text), "state Z"))
        rc = 4;
    return reap_until_none(SIGKILL) > 0 ? rc : 5;
}

static void test_descendants_are_killed(void **state)
{
    test_run_apart(kill_family);
}

static void test_forking_chain_is_killed(void **state)
{
    test_run_apart(kill_forking_chain);
}

static void test_forking_process_is_stopped(void **state)
{
    test_run_apart(stop_forking_process);
}

static void test_group_and_escaped_session_are_signalled(void **state)
{
    test_run_apart(signal_group);
}

static void test_orphan_is_signalled(void **state)
{
    test_run_apart(signal_orphan);
}

static void test_living_processes_are_described(void **state)
{
    test_run_apart(describe_processes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_descendants_are_killed),
        cmocka_unit_test(test_forking_chain_is_killed),
        cmocka_unit_test(test_forking_process_is_stopped),
        cmocka_unit_test(test_group_and_escaped_session_are_signalled),
        cmocka_unit_test(test_orphan_is_signalled),
        cmocka_unit_test(test_living_processes_are_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
