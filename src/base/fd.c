/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

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
