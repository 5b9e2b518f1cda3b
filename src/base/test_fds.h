/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whether code under test leaves descriptors open: a leak takes the lowest free number. */
#pragma once

#include <fcntl.h>
#include <unistd.h>

static inline int test_lowest_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    if (fd >= 0)
        close(fd);
    return fd;
}
