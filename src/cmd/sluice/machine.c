/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/mem.h"
#include "cmd/sluice/sluice.h"

/* Below the range that the kernel takes ports for outgoing connections from. */
#define PORT_FIRST 10000u
#define PORT_LAST 32000u
#define TRIES 200

unsigned machine_cpus(void)
{
    size_t size = CPU_ALLOC_SIZE(16384);
    cpu_set_t *set = CPU_ALLOC(16384);
    int count = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    if (set)
        CPU_FREE(set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? (unsigned)count : online > 0 ? (unsigned)online : 1;
}

uint64_t machine_memory_mib(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 ? (uint64_t)pages * (uint64_t)size >> 20 : 1024;
}

static bool port_is_free(unsigned port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;
    _cleanup_close_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
           !bind(fd, (struct sockaddr *)&a, sizeof(a)) && !listen(fd, 1);
}

/* The first taken one of a row; 0: all are free. */
static unsigned taken_port(unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!port_is_free(first + i))
            return first + i;
    return 0;
}

int machine_ports(unsigned base, unsigned count, unsigned *first, struct err *err)
{
    if (base) {
        if (base + count - 1 > 65535)
            return err_set(err, -ERR_RANGE, "%u ports from %u on do not exist", count, base);
        unsigned taken = taken_port(base, count);
        if (taken)
            return err_set(err, -ERR_BUSY,
                           "port %u is in use: give another --port-base, or none to have free "
                           "ports found",
                           taken);
        *first = base;
        return 0;
    }
    for (int i = 0; i < TRIES; i++) {
        /* By chance, so that clusters that start at the same time do not meet. */
        uint32_t random;
        auth_random(&random, sizeof(random));
        unsigned at = PORT_FIRST + random % (PORT_LAST - PORT_FIRST - count);
        if (!taken_port(at, count)) {
            *first = at;
            return 0;
        }
    }
    return err_set(err, -ERR_BUSY,
                   "found no %u free ports in a row between %u and %u: give "
                   "--port-base",
                   count, PORT_FIRST, PORT_LAST);
}
