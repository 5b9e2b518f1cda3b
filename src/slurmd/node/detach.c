/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/path.h"

int detach_begin(const char *program)
{
    int ends[2], status;
    char byte;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) || (pid = fork()) < 0) {
        fprintf(stderr, "%s: error: cannot start another process: %s\n", program, strerror(errno));
        exit(1);
    }
    if (pid == 0) {
        close(ends[0]);
        setsid();
        return ends[1];
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) == 1)
        _exit(0);
    waitpid(pid, &status, 0); /* it has said on this terminal what was wrong */
    _exit(1);
}

void detach_ready(int fd, int null_fd)
{
    for (int i = 0; i < 3; i++)
        dup2(null_fd, i);
    path_write_all(fd, "", 1); /* when nobody waits any more, nobody needs to know */
    close(fd);
}

int detach_write_pid(const char *path, struct err *err)
{
    char text[16];
    struct err why = {0};

    snprintf(text, sizeof(text), "%d\n", (int)getpid());
    int rc = path_write_file(path, text, strlen(text), 0644, &why);
    if (rc)
        err_set(err, rc,
                "SlurmdPidFile '%s': %s: create its directory, writable for the user of slurmd, or "
                "set another file",
                path, why.text);
    return rc;
}
