/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmctld/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int ready_fd = -1;

/* The caller's process: waits for the child's word. What went wrong the child has said itself,
 * unless it could not. */
static void __attribute__((noreturn)) wait_ready(int fd, pid_t child)
{
    char word;
    ssize_t n;
    while ((n = read(fd, &word, 1)) < 0 && errno == EINTR)
        ;
    if (n == 1)
        _exit(0);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFSIGNALED(status))
        fprintf(stderr, "slurmctld: error: ended by signal %d (%s) while starting\n",
                WTERMSIG(status), strsignal(WTERMSIG(status)));
    _exit(1);
}

void daemon_detach(void)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        perror("slurmctld: error: pipe");
        exit(1);
    }
    fflush(NULL);
    pid_t pid = fork();
    if (pid < 0) {
        perror("slurmctld: error: fork");
        exit(1);
    }
    if (pid > 0) {
        close(ends[1]);
        wait_ready(ends[0], pid);
    }
    close(ends[0]);
    ready_fd = ends[1];
    setsid();
}

void daemon_ready(void)
{
    if (ready_fd < 0)
        return;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, STDIN_FILENO);
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        if (null > STDERR_FILENO)
            close(null);
    }
    while (write(ready_fd, "r", 1) < 0 && errno == EINTR)
        ;
    close(ready_fd);
    ready_fd = -1;
}
