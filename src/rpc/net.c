/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/un.h>
#include <unistd.h>

#include "rpc/rpc.h"
static struct {
    uint32_t idle_sec, every_sec, probes;
} keepalive = {60, 15, 4};

void rpc_addr_format(const struct rpc_addr *a, char out[RPC_ADDR_TEXT_MAX])
{
    char ip[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)&a->ss;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->ss;

    if (a->ss.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
        snprintf(out, RPC_ADDR_TEXT_MAX, "[%s]:%u", ip, ntohs(in6->sin6_port));
    } else {
        inet_ntop(AF_INET, &in4->sin_addr, ip, sizeof(ip));
        snprintf(out, RPC_ADDR_TEXT_MAX, "%s:%u", ip, ntohs(in4->sin_port));
    }
}

int rpc_net_resolve(const char *host, uint16_t port, bool numeric, struct rpc_addr *out,
                    struct err *err)
{
    struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV | (numeric ? AI_NUMERICHOST : 0) | (host ? 0 : AI_PASSIVE),
    };
    struct addrinfo *list = NULL;
    char service[8];
    int rc, count = 0;

    snprintf(service, sizeof(service), "%u", port);
    rc = getaddrinfo(host, service, &hints, &list);
    if (rc != 0)
        return err_set(err, rc == EAI_SYSTEM ? -errno : -ENOENT, "%s: %s", host ? host : "*",
                       rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
    for (struct addrinfo *a = list; a && count < RPC_NET_ADDRESSES_MAX; a = a->ai_next) {
        if (a->ai_addrlen > sizeof(out[0].ss))
            continue;
        memcpy(&out[count].ss, a->ai_addr, a->ai_addrlen);
        out[count++].len = a->ai_addrlen;
    }
    freeaddrinfo(list);
    return count ? count : err_set(err, -ENOENT, "%s: no address", host ? host : "*");
}

/* A socket that connects to a port of this host where nobody listens can, by chance, be given that
 * very port and meet itself. */
static bool is_self(int fd)
{
    struct rpc_addr here = {.len = sizeof(here.ss)}, there = {.len = sizeof(there.ss)};
    char here_text[RPC_ADDR_TEXT_MAX], there_text[RPC_ADDR_TEXT_MAX];

    if (getsockname(fd, (struct sockaddr *)&here.ss, &here.len) < 0 ||
        getpeername(fd, (struct sockaddr *)&there.ss, &there.len) < 0)
        return false;
    rpc_addr_format(&here, here_text);
    rpc_addr_format(&there, there_text);
    return strcmp(here_text, there_text) == 0;
}

int rpc_net_connect(const struct rpc_addr *to, uid_t owner, bool *pending)
{
    int fd;

    if (owner)
        setfsuid(owner); /* what the kernel names as the owner of a socket that is made now */
    fd = socket(to->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (owner) {
        int e = errno;

        setfsuid(geteuid());
        errno = e;
    }
    if (fd < 0)
        return -errno;
    rpc_net_tune(fd);
    *pending = false;
    if (connect(fd, (const struct sockaddr *)&to->ss, to->len) < 0) {
        int e = errno;
        if (e != EINPROGRESS && e != EINTR) {
            close(fd);
            return -e;
        }
        *pending = true;
    } else if (is_self(fd)) {
        close(fd);
        return -ECONNREFUSED;
    }
    return fd;
}

int rpc_net_connect_unix(const char *path)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int fd;

    if (strlen(path) >= sizeof(sun.sun_path))
        return -ENAMETOOLONG;
    memcpy(sun.sun_path, path, strlen(path) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0) {
        int e = errno;
        close(fd);
        return -e;
    }
    return fd;
}

int rpc_net_connected(int fd)
{
    int e = 0;
    socklen_t len = sizeof(e);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &e, &len) < 0)
        return -errno;
    if (e == 0 && is_self(fd))
        return -ECONNREFUSED;
    return -e;
}

void rpc_set_keepalive(uint32_t idle_sec, uint32_t every_sec, uint32_t probes)
{
    keepalive.idle_sec = idle_sec ? idle_sec : keepalive.idle_sec;
    keepalive.every_sec = every_sec ? every_sec : keepalive.every_sec;
    keepalive.probes = probes ? probes : keepalive.probes;
}

void rpc_net_tune(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, (int)keepalive.idle_sec},
        {IPPROTO_TCP, TCP_KEEPINTVL, (int)keepalive.every_sec},
        {IPPROTO_TCP, TCP_KEEPCNT, (int)keepalive.probes},
    };

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        setsockopt(fd, options[i].level, options[i].name, &options[i].value,
                   sizeof(options[i].value));
}

void rpc_net_reset_on_close(int fd)
{
    struct linger now = {.l_onoff = 1};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}
