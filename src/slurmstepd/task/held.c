/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/task/held.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"
#include "slurmstepd/task/reap.h"

#define FILE_MAX 8192 /* bytes read of a file in /proc */

/* A process that looks like a zombie may have other threads that are alive or held. */
static bool read_thread_file(pid_t pid, pid_t thread, const char *file, struct str *text)
{
    char path[80];

    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)thread, file);
    str_clear(text);
    return path_read_file(path, FILE_MAX, text, NULL) == 0;
}

static char read_thread_state(pid_t pid, pid_t thread)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct proc p;

    return read_thread_file(pid, thread, "stat", &text) && !proc_parse(str_cstr(&text), &p)
               ? p.state
               : 'X';
}

static pid_t find_living_process(pid_t pid, pid_t thread)
{
    char state = read_thread_state(pid, thread);

    return state == 'Z' || state == 'X' || state == 'x' ? 0 : thread;
}

/* Returns the number after a name at the beginning of a line; negative: not found. */
static long number_after(const char *text, const char *name)
{
    const char *at = strstr(text, name);

    return at ? strtol(at + strlen(name), NULL, 10) : -1;
}

static pid_t read_thread_tracer(pid_t pid, pid_t thread)
{
    _cleanup_str_ struct str text = STR_INIT;
    long tracer;

    if (read_thread_state(pid, thread) != 't' || !read_thread_file(pid, thread, "status", &text))
        return 0;
    tracer = number_after(str_cstr(&text), "\nTracerPid:");
    return tracer > 0 ? (pid_t)tracer : 0;
}

/* Returns the first non-zero result of fn among the threads of a process. */
static pid_t search_threads(pid_t pid, pid_t (*fn)(pid_t pid, pid_t thread))
{
    struct dirent *entry;
    pid_t found = 0;
    char dir[48];
    DIR *threads;

    snprintf(dir, sizeof(dir), "/proc/%d/task", (int)pid);
    threads = opendir(dir);
    if (!threads)
        return 0;
    while (!found && (entry = readdir(threads)))
        if (entry->d_name[0] != '.')
            found = fn(pid, (pid_t)atoi(entry->d_name));
    closedir(threads);
    return found;
}

static bool can_be_reaped(pid_t pid, pid_t parent)
{
    siginfo_t info = {0};

    return parent == getpid() && !waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
           info.si_pid;
}

static int count_child(void *ctx, pid_t pid, pid_t parent)
{
    return search_threads(pid, find_living_process) || can_be_reaped(pid, parent);
}

bool held_is_over(void)
{
    return reap_each(count_child, NULL) == 0;
}

int held_status(pid_t pid)
{
    _cleanup_str_ struct str text = STR_INIT;
    const char *last;

    if (read_thread_state(pid, pid) != 'Z' || !read_thread_file(pid, pid, "stat", &text))
        return SIGKILL;
    /* The field exit_code, which is 0 for unprivileged readers. */
    last = strrchr(str_cstr(&text), ' ');
    return last && atoi(last) ? atoi(last) : SIGKILL;
}

static bool is_of_user(pid_t pid, uid_t uid)
{
    _cleanup_str_ struct str text = STR_INIT;

    return read_thread_file(pid, pid, "status", &text) &&
           number_after(str_cstr(&text), "\nUid:") == (long)uid;
}

struct ending {
    uid_t uid;
    void (*on_ended)(void *ctx, pid_t tracer, pid_t held);
    void *ctx;
    unsigned count;
};

/* The tracer's pid may be reused: opens a pidfd first, then checks again. */
static int end_tracer(void *ctx, pid_t pid, pid_t parent)
{
    struct ending *e = ctx;
    pid_t tracer = search_threads(pid, read_thread_tracer);
    _cleanup_close_ int handle = -1;

    if (tracer <= 1 || tracer == getpid())
        return 0;
    handle = (int)syscall(SYS_pidfd_open, tracer, 0);
    if (handle < 0 || search_threads(pid, read_thread_tracer) != tracer ||
        !is_of_user(tracer, e->uid) || syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0))
        return 0;
    e->count++;
    e->on_ended(e->ctx, tracer, pid);
    return 0;
}

unsigned held_end_tracers(uid_t uid, void (*on_ended)(void *ctx, pid_t tracer, pid_t held),
                          void *ctx)
{
    struct ending e = {.uid = uid, .on_ended = on_ended, .ctx = ctx};

    reap_each(end_tracer, &e);
    return e.count;
}
