/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/service.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

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
