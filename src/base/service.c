/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/service.h"
#include "base/str.h"

#define NICE_MIN (-20)
#define NICE_MAX 19

int service_notify(const char *state)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    size_t len = path ? strlen(path) : 0;

    if (!len)
        return 0;
    if (len >= sizeof(to.sun_path))
        return -ENAMETOOLONG;
    memcpy(to.sun_path, path, len);
    if (*path == '@') /* an abstract name */
        to.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    ssize_t sent =
        sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to, size);
    int rc = sent < 0 ? -errno : 0;
    close(fd);
    return rc;
}

int service_set_nice(const char *text)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (end == text || *end || value < NICE_MIN || value > NICE_MAX)
        return -EINVAL;
    return setpriority(PRIO_PROCESS, 0, (int)value) < 0 ? -errno : 0;
}

char *service_change_dir(const char *log_file, const char *dir)
{
    const char *slash = log_file ? strrchr(log_file, '/') : NULL;
    _cleanup_free_ char *beside =
        slash ? mem_strndup(log_file, slash == log_file ? 1 : (size_t)(slash - log_file)) : NULL;
    const char *const choices[] = {beside, dir, "/var/tmp"};

    for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
        if (choices[i] && *choices[i] == '/' && chdir(choices[i]) == 0)
            return mem_strdup(choices[i]);
    return NULL;
}

/* Runs in the starting process: waits for the daemon's report. The daemon prints errors itself if
 * it can. */
static _Noreturn void await_ready(const char *program, int fd, pid_t daemon)
{
    char word;
    int status = 0;
    ssize_t n;

    while ((n = read(fd, &word, 1)) < 0 && errno == EINTR)
        ;
    if (n == 1)
        _exit(0);
    while (waitpid(daemon, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "%s: error: ended by signal %d (%s) while starting\n", program,
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    _exit(1);
}

int service_detach(const char *program)
{
    int ends[2];
    pid_t pid = -1;

    fflush(NULL);
    if (pipe2(ends, O_CLOEXEC) || (pid = fork()) < 0) {
        fprintf(stderr, "%s: error: cannot start another process: %s\n", program, strerror(errno));
        exit(1);
    }
    if (pid > 0) {
        close(ends[1]);
        await_ready(program, ends[0], pid);
    }
    close(ends[0]);
    setsid();
    return ends[1];
}

void service_ready(int starter)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; fd <= STDERR_FILENO && null >= 0; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
    while (write(starter, "r", 1) < 0 && errno == EINTR)
        ; /* the starting process may have gone */
    close(starter);
}

int fd_begin(int keep_below)
{
    int fd;

    /* A file opened as number 2 would receive our error messages. */
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd < 0)
        return -errno;
    close(fd);
    return syscall(SYS_close_range, (unsigned)keep_below, ~0u, 0) ? -errno : 0;
}

void fd_set_limit(unsigned soft)
{
    struct rlimit l;

    if (getrlimit(RLIMIT_NOFILE, &l))
        return;
    l.rlim_cur = soft < l.rlim_max ? soft : l.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &l);
}

unsigned fd_raise_limit(unsigned most)
{
    struct rlimit l;
    unsigned before;

    if (getrlimit(RLIMIT_NOFILE, &l))
        return most;
    before = l.rlim_cur < UINT_MAX ? (unsigned)l.rlim_cur : UINT_MAX;
    if (before < most)
        fd_set_limit(most);
    return before;
}

rlim_t dump_forbid(void)
{
    struct rlimit limit;
    rlim_t before = RLIM_INFINITY;

    if (!getrlimit(RLIMIT_CORE, &limit)) {
        before = limit.rlim_cur;
        limit.rlim_cur = 0;
        setrlimit(RLIMIT_CORE, &limit);
    }
    if (geteuid() == 0)
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return before;
}

bool dump_outlasts_rights(void)
{
    _cleanup_str_ struct str mode = STR_INIT;

    return !path_read_file("/proc/sys/fs/suid_dumpable", 16, &mode, NULL) &&
           (str_starts(str_cstr(&mode), "0") || str_starts(str_cstr(&mode), "2"));
}

void dump_set_limit(rlim_t soft)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_CORE, &limit))
        return;
    limit.rlim_cur = soft < limit.rlim_max ? soft : limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
}

int dump_on_fatal(int status)
{
    if (getenv("ABORT_ON_FATAL"))
        dump_abort();
    return status;
}

void dump_abort(void)
{
    dump_set_limit(RLIM_INFINITY); /* up to the hard limit */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    fflush(NULL);
    abort();
}
