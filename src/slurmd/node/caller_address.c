/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/caller_address.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#define CLAIMED_MAX 4

/* Whether a local socket can be bound to the address. */
static bool is_of_this_host(const char *addr)
{
    struct sockaddr_in in = {.sin_family = AF_INET};
    struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
    bool old = inet_pton(AF_INET, addr, &in.sin_addr) == 1;
    _cleanup_close_ int fd = -1;

    if (!old && inet_pton(AF_INET6, addr, &in6.sin6_addr) != 1)
        return false;
    fd = socket(old ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && !(old ? bind(fd, (struct sockaddr *)&in, sizeof(in))
                            : bind(fd, (struct sockaddr *)&in6, sizeof(in6)));
}

/* peer is "10.0.0.1:4711", "[::1]:4711", or a local caller. A local caller listens on this host,
 * and its tasks are told the address that it claims. */
char *caller_address(const char *peer, char *const *claimed, size_t count)
{
    const char *from = peer[0] == '[' ? peer + 1 : peer;
    const char *end = peer[0] == '[' ? strchr(peer, ']') : strrchr(peer, ':');

    if (end)
        return mem_strndup(from, (size_t)(end - from));
    for (size_t i = 0; i < count && i < CLAIMED_MAX; i++)
        if (is_of_this_host(claimed[i]))
            return mem_strdup(claimed[i]);
    return mem_strdup("127.0.0.1");
}
