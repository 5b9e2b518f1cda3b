/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * This code must not disturb the login daemon: its signal handlers, its descriptors and its other
 * children stay unchanged.
 */
#include "pam/helper.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define DESCRIPTORS_MAX 1024 /* descriptors examined for the login's connection */

/* --- the connection of the login -------------------------------------------------------------- */

static int to_hex(const struct sockaddr_storage *sa, char out[RESULT_END_HEX + 1])
{
    uint8_t bytes[RESULT_END_HEX / 2] = {[10] = 0xff, [11] = 0xff};
    struct sockaddr_in6 in6;
    struct sockaddr_in in;

    if (sa->ss_family == AF_INET) {
        memcpy(&in, sa, sizeof(in));
        memcpy(bytes + 12, &in.sin_addr, 4);
        memcpy(bytes + 16, &in.sin_port, 2);
    } else if (sa->ss_family == AF_INET6) {
        memcpy(&in6, sa, sizeof(in6));
        memcpy(bytes, &in6.sin6_addr, 16);
        memcpy(bytes + 16, &in6.sin6_port, 2);
    } else {
        return -1;
    }
    for (size_t i = 0; i < sizeof(bytes); i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return 0;
}

/* Finds the first connected socket: a login daemon has one in each of its processes. */
static int find_ends(char local[RESULT_END_HEX + 1], char remote[RESULT_END_HEX + 1])
{
    for (int fd = 0; fd < DESCRIPTORS_MAX; fd++) {
        struct sockaddr_storage here = {0}, there = {0};
        socklen_t here_len = sizeof(here), there_len = sizeof(there);
        socklen_t type_len = sizeof(int);
        int type = 0;

        if (!getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) && type == SOCK_STREAM &&
            !getpeername(fd, (struct sockaddr *)&there, &there_len) &&
            !getsockname(fd, (struct sockaddr *)&here, &here_len) && !to_hex(&here, local) &&
            !to_hex(&there, remote))
            return 0;
    }
    return -1;
}

/* --- the program ------------------------------------------------------------------------------ */

static void set_outcome(struct result *r, const char *what, const char *why)
{
    memset(r, 0, sizeof(*r));
    r->outcome = RESULT_GENERIC;
    snprintf(r->text, sizeof(r->text), "%s%s%s", what, why ? ": " : "", why ? why : "");
}

static _Noreturn void be_helper(int out, char *const argv[])
{
    char *const env[] = {NULL};
    struct sigaction plain = {.sa_handler = SIG_DFL};
    int null = open("/dev/null", O_RDWR);
    sigset_t none;

    for (int i = 1; i < NSIG; i++)
        sigaction(i, &plain, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    out = fcntl(out, F_DUPFD, 10); /* neither descriptor may overwrite the other */
    null = fcntl(null, F_DUPFD, 10);
    if (null < 0 || out < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
        _exit(127);
    close_range(3, ~0u, 0);
    if (chdir("/"))
        _exit(127);
    execve(argv[0], argv, env);
    _exit(127);
}

/* The module links no library of ours: it has its own proc_mono_ms(). */
static int64_t now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Reads a complete result; fails at end of file or on a timeout. */
static int read_result(int fd, struct result *r)
{
    int64_t until_ms = now_ms() + HELPER_SEC * 1000;
    size_t have = 0;

    while (have < sizeof(*r)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left_ms = until_ms - now_ms();
        ssize_t n;

        if (left_ms <= 0)
            return -ETIMEDOUT;
        if (poll(&p, 1, (int)left_ms) <= 0)
            continue;
        n = read(fd, (char *)r + have, sizeof(*r) - have);
        if (n == 0)
            return -EPIPE;
        if (n > 0)
            have += (size_t)n;
        else if (errno != EINTR)
            return -errno;
    }
    return 0;
}

static void close_texts(struct result *r)
{
    r->how[sizeof(r->how) - 1] = r->node[sizeof(r->node) - 1] = '\0';
    r->conf[sizeof(r->conf) - 1] = r->tmp[sizeof(r->tmp) - 1] = '\0';
    r->text[sizeof(r->text) - 1] = '\0';
}

static void run_helper(char *const argv[], struct result *out)
{
    int ends[2], rc;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC)) {
        set_outcome(out, "cannot make a pipe", strerror(errno));
        return;
    }
    pid = fork();
    if (pid == 0)
        be_helper(ends[1], argv);
    close(ends[1]);
    if (pid < 0) {
        set_outcome(out, "cannot start another process", strerror(errno));
    } else {
        rc = read_result(ends[0], out);
        kill(pid, SIGKILL); /* its result is complete */
        while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
            ;
        if (rc == -ETIMEDOUT)
            set_outcome(out, "slurmd has not answered in time", NULL);
        else if (rc || out->magic != RESULT_MAGIC)
            set_outcome(out, argv[0], "it did not run, or is of another version than this module");
    }
    close(ends[0]);
    close_texts(out);
}

/* Finds the program: relative to the installed module that the login daemon has loaded, or, for a
 * module that was copied to the system's directory, in the usual places. */
static const char *find_program(char path[PATH_MAX])
{
    static const char *const usual[] = {"/usr/sbin/sluice-adopt", "/usr/local/sbin/sluice-adopt"};
    char here[PATH_MAX], sought[PATH_MAX + sizeof(ADOPT_PROGRAM)];
    Dl_info module;

    if (dladdr((const void *)usual, &module) && realpath(module.dli_fname, here)) {
        *strrchr(here, '/') = '\0';
        snprintf(sought, sizeof(sought), "%s/%s", here, ADOPT_PROGRAM);
        if (realpath(sought, path))
            return path;
    }
    return access(usual[0], X_OK) == 0 ? usual[0] : usual[1];
}

void helper_run(const struct options *o, uid_t uid, uint32_t job_id, struct result *out)
{
    char user[16], process[16], job[16], local[RESULT_END_HEX + 1], remote[RESULT_END_HEX + 1];
    struct sigaction plain = {.sa_handler = SIG_DFL}, before;
    char program[PATH_MAX];
    char *argv[] = {(char *)find_program(program),
                    user,
                    process,
                    job,
                    (char *)(o->unknown == ACTION_NEWEST ? "newest" : "ask"),
                    (char *)(o->node ? o->node : "-"),
                    (char *)(o->conf ? o->conf : "-"),
                    local,
                    remote,
                    NULL};

    memset(out, 0, sizeof(*out));
    snprintf(user, sizeof(user), "%u", (unsigned)uid);
    snprintf(process, sizeof(process), "%d", (int)getpid());
    snprintf(job, sizeof(job), "%u", job_id);
    if (find_ends(local, remote))
        argv[7] = NULL;
    sigaction(SIGCHLD, &plain, &before); /* so that only this function reaps the child */
    run_helper(argv, out);
    sigaction(SIGCHLD, &before, NULL);
}
