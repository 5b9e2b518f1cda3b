/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/proc.h"
#include "base/str.h"

#define STAT_MAX 1024   /* bytes of /proc/PID/stat, with a margin */
#define STATUS_MAX 8192 /* bytes read of /proc/PID/status */
#define ENVIRONMENT_MAX (4u << 20)
#define TRACER "\nTracerPid:\t"

int proc_parse(const char *text, struct proc *out)
{
    struct proc p = {0};
    /* A name may contain parentheses. */
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    int64_t waited[3]; /* signed in this file */
    int pid, parent, session;
    size_t len;

    if (!open || !close || close < open || sscanf(text, "%d", &pid) != 1 ||
        sscanf(close + 1,
               " %c %d %*d %d %*d %*d %*u %*u %*u %" SCNu64 " %" SCNd64 " %" SCNu64 " %" SCNu64
               " %" SCNd64 " %" SCNd64 " %*d %*d %*d %*d %" SCNu64 " %" SCNu64 " %" SCNu64,
               &p.state, &parent, &session, &p.faults, &waited[0], &p.user_ticks, &p.sys_ticks,
               &waited[1], &waited[2], &p.started_ticks, &p.vsize_bytes, &p.rss_pages) != 12)
        return -ERR_PARSE;
    p.pid = pid;
    p.parent = parent;
    p.session = session;
    p.waited_faults = waited[0] > 0 ? (uint64_t)waited[0] : 0;
    p.waited_user_ticks = waited[1] > 0 ? (uint64_t)waited[1] : 0;
    p.waited_sys_ticks = waited[2] > 0 ? (uint64_t)waited[2] : 0;
    len = (size_t)(close - open) - 1;
    memcpy(p.name, open + 1, len < PROC_NAME_MAX - 1 ? len : PROC_NAME_MAX - 1);
    *out = p;
    return 0;
}

/* Reads into buf and adds a NUL. Returns -errno on failure. */
static int read_small_at(int dir, const char *name, char *buf, size_t size)
{
    _cleanup_close_ int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t n;

    if (fd < 0)
        return -errno;
    n = read(fd, buf, size - 1);
    if (n < 0)
        return -errno;
    buf[n] = '\0';
    return 0;
}

static int read_small(pid_t pid, const char *name, char *buf, size_t size)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    return read_small_at(AT_FDCWD, path, buf, size);
}

int proc_read(pid_t pid, struct proc *out)
{
    char text[STAT_MAX];
    int rc = read_small(pid, "stat", text, sizeof(text));

    return rc ? rc : proc_parse(text, out);
}

/* An open directory refers to one process, even if its pid is reused. */
int proc_read_owned(pid_t pid, struct proc *out, uid_t *uid)
{
    char path[32], text[STAT_MAX];
    struct stat st;
    int rc;

    snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    _cleanup_close_ int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || fstat(dir, &st))
        return -errno;
    rc = read_small_at(dir, "stat", text, sizeof(text));
    if (!rc)
        rc = proc_parse(text, out);
    if (!rc)
        *uid = st.st_uid;
    return rc;
}

/* Reads the number on the line that begins with name. */
static uint64_t read_field_number(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *line = text; line;) {
        if (!strncmp(line, name, len) && strspn(line + len, "0123456789"))
            return strtoull(line + len, NULL, 10);
        const char *end = strchr(line, '\n');
        line = end ? end + 1 : NULL;
    }
    return 0;
}

void proc_parse_io(const char *text, uint64_t *read_bytes, uint64_t *write_bytes)
{
    *read_bytes = read_field_number(text, "read_bytes: ");
    *write_bytes = read_field_number(text, "write_bytes: ");
}

int proc_read_io(pid_t pid, uint64_t *read_bytes, uint64_t *write_bytes)
{
    char text[STAT_MAX];
    int rc = read_small(pid, "io", text, sizeof(text));

    if (!rc)
        proc_parse_io(text, read_bytes, write_bytes);
    return rc;
}

int proc_each(proc_fn *fn, void *ctx)
{
    DIR *dir = opendir("/proc");
    struct dirent *entry;
    int rc = 0;

    if (!dir)
        return -errno;
    while (!rc && (entry = readdir(dir))) {
        int pid = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : 0;

        if (pid > 0)
            rc = fn(ctx, pid);
    }
    closedir(dir);
    return rc;
}

static void put_name(const char *name, struct str *out)
{
    for (; *name; name++)
        str_putc(out, isgraph((unsigned char)*name) ? *name : '?');
}

static int tracer_of(pid_t pid)
{
    char text[STATUS_MAX];
    const char *at;

    if (read_small(pid, "status", text, sizeof(text)))
        return 0;
    at = strstr(text, TRACER);
    return at ? atoi(at + strlen(TRACER)) : 0;
}

int proc_environ(pid_t pid, struct str *out)
{
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
    return path_read_file(path, ENVIRONMENT_MAX, out, NULL);
}

bool proc_environ_has(const struct str *environment, const char *var, bool whole)
{
    size_t len = strlen(var) + (whole ? 1 : 0); /* including its NUL */

    for (const char *at = environment->data; at && at < environment->data + environment->len;
         at += strlen(at) + 1)
        if (!strncmp(at, var, len))
            return true;
    return false;
}

void proc_describe(pid_t pid, struct str *out)
{
    char channel[128] = "";
    struct proc p;
    int tracer;

    if (proc_read(pid, &p))
        return;
    /* Stays empty, meaning unknown, if it is unreadable. */
    read_small(pid, "wchan", channel, sizeof(channel));
    tracer = tracer_of(pid);
    str_printf(out, "pid %d (", (int)pid);
    put_name(p.name, out);
    str_printf(out, ") state %c, wchan ", p.state);
    if (*channel && strcmp(channel, "0") != 0)
        put_name(channel, out);
    else
        str_puts(out, "unknown");
    if (tracer)
        str_printf(out, ", traced by pid %d", tracer);
}

#define CHILDREN_MAX (4u << 20) /* bytes of a list of children */
#define ONE_THREAD_LINKS 3      /* link count of /proc/PID/task: two plus the number of threads */
#define PROCESSES_MAX 1000000   /* limit for a cycle caused by reused pids */

static void add_children(struct kin_list *k, pid_t parent, const char *path)
{
    _cleanup_str_ struct str text = STR_INIT;
    char *at, *end;

    if (path_read_file(path, CHILDREN_MAX, &text, NULL))
        return;
    for (at = (char *)str_cstr(&text); *at; at = end) {
        long pid = strtol(at, &end, 10);

        if (end == at)
            break;
        if (pid > 0 && k->list.len < PROCESSES_MAX)
            vec_push(&k->list, ((struct kin){(pid_t)pid, parent}));
    }
}

/* A child is listed under the thread that created it. */
void kin_children(struct kin_list *k, pid_t parent)
{
    char dir[64], path[128];
    struct dirent *entry;
    struct stat st;
    DIR *threads;

    snprintf(dir, sizeof(dir), "/proc/%d/task", (int)parent);
    if (!stat(dir, &st) && st.st_nlink == ONE_THREAD_LINKS) {
        snprintf(path, sizeof(path), "%s/%d/children", dir, (int)parent);
        add_children(k, parent, path);
        return;
    }
    threads = opendir(dir);
    if (!threads)
        return;
    while ((entry = readdir(threads))) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof(path), "%s/%.20s/children", dir, entry->d_name);
        add_children(k, parent, path);
    }
    closedir(threads);
}

static pid_t parent_of(pid_t pid)
{
    struct proc p;

    return proc_read(pid, &p) ? -1 : p.parent;
}

/* The pid may have been reused since it was read: opens a pidfd first, then checks again. */
bool kin_signal(const struct kin *k, pid_t root, int signo)
{
    _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, k->pid, 0);
    pid_t parent;

    if (handle < 0 && errno != ENOSYS)
        return false;
    parent = parent_of(k->pid);
    if (parent != k->parent && parent != root)
        return false;
    if (handle < 0) /* a kernel before 5.3, or valgrind: only the second check is possible */
        return !kill(k->pid, signo);
    return !syscall(SYS_pidfd_send_signal, handle, signo, NULL, 0);
}

void kin_below(struct kin_list *k, pid_t root)
{
    kin_children(k, root);
    for (size_t i = 0; i < k->list.len; i++)
        kin_children(k, k->list.data[i].pid);
}

/* Polling interval if the kernel has no pidfds: before 5.3, or under valgrind. */
#define LOOK_MS 20

int child_start(pid_t *pid, const char *path, posix_spawn_file_actions_t *actions, bool session,
                char *const *argv, char *const *env)
{
    short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK;
    posix_spawnattr_t attr;
    sigset_t set;
    int rc;

    posix_spawnattr_init(&attr);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(&attr, &set);
    sigemptyset(&set);
    posix_spawnattr_setsigmask(&attr, &set);
    posix_spawnattr_setflags(&attr, session ? (short)(flags | POSIX_SPAWN_SETSID) : flags);
    rc = posix_spawn(pid, path, actions, &attr, argv, env);
    posix_spawn_file_actions_destroy(actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}

int64_t proc_mono_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

bool child_await(pid_t pid, unsigned limit_ms, int *status)
{
    _cleanup_close_ int handle = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = {.fd = handle, .events = POLLIN};
    int64_t end_ms = proc_mono_ms() + limit_ms, left_ms;

    while (waitpid(pid, status, WNOHANG) != pid) {
        left_ms = end_ms - proc_mono_ms();
        if (left_ms <= 0)
            return false;
        poll(&p, handle >= 0, (int)(handle < 0 && left_ms > LOOK_MS ? LOOK_MS : left_ms));
    }
    return true;
}
