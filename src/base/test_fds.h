/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects descriptors that the tested code leaves open: a leak uses the lowest free number. */
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
