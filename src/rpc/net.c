/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/un.h>
#include <unistd.h>

#include "auth/auth.h"
#include "base/str.h"
#include "rpc/rpc.h"

#define ABSTRACT_PREFIX "@sluice-"
#define ABSTRACT_RANDOM 16 /* random bytes in an abstract name */

static struct {
    uint32_t idle_sec, every_sec, probes;
} keepalive = {60, 15, 4};

void rpc_addr_format(const struct rpc_addr *a, char out[RPC_ADDR_TEXT_MAX])
{
    char ip[INET6_ADDRSTRLEN] = "?";
    const struct sockaddr_in *in4 = (const struct sockaddr_in *)&a->ss;
    const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&a->ss;
    const struct sockaddr_un *sun = (const struct sockaddr_un *)&a->ss;

    if (a->ss.ss_family == AF_UNIX) {
        snprintf(out, RPC_ADDR_TEXT_MAX, "@%s", sun->sun_path + 1);
    } else if (a->ss.ss_family == AF_INET6) {
        inet_ntop(AF_INET6, &in6->sin6_addr, ip, sizeof(ip));
        snprintf(out, RPC_ADDR_TEXT_MAX, "[%s]:%u", ip, ntohs(in6->sin6_port));
    } else {
        inet_ntop(AF_INET, &in4->sin_addr, ip, sizeof(ip));
        snprintf(out, RPC_ADDR_TEXT_MAX, "%s:%u", ip, ntohs(in4->sin_port));
    }
}

bool rpc_is_abstract(const char *name)
{
    size_t digits = RPC_ABSTRACT_SIZE - sizeof(ABSTRACT_PREFIX);

    return str_starts(name, ABSTRACT_PREFIX) && strlen(name) == RPC_ABSTRACT_SIZE - 1 &&
           strspn(name + strlen(ABSTRACT_PREFIX), "0123456789abcdef") == digits;
}

void rpc_net_name_abstract(char name[RPC_ABSTRACT_SIZE])
{
    uint8_t random[ABSTRACT_RANDOM];
    size_t len = (size_t)snprintf(name, RPC_ABSTRACT_SIZE, ABSTRACT_PREFIX);

    auth_random(random, sizeof(random));
    for (size_t i = 0; i < sizeof(random); i++)
        len += (size_t)snprintf(name + len, RPC_ABSTRACT_SIZE - len, "%02x", random[i]);
}

/* In the kernel's form the first byte is NUL instead of "@". */
static void resolve_abstract(const char *name, struct rpc_addr *out)
{
    struct sockaddr_un *sun = (struct sockaddr_un *)&out->ss;

    memset(out, 0, sizeof(*out));
    sun->sun_family = AF_UNIX;
    memcpy(sun->sun_path + 1, name + 1, strlen(name) - 1);
    out->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name));
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

    if (host && rpc_is_abstract(host)) {
        resolve_abstract(host, out);
        return 1;
    }
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

/* Whether the socket is connected to itself. A connect to a port of this host on which nobody
 * listens can get that same port as its source port. */
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

/* Returns a connected socket, or -errno. */
static int connect_unix(const struct sockaddr *to, socklen_t len)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    if (connect(fd, to, len) < 0) {
        int e = errno;
        close(fd);
        return -e;
    }
    return fd;
}

/* The kernel's default for UNIX sockets is far smaller than for TCP; only root may exceed the
   system limit. */
static void enlarge_send_buffer(int fd)
{
    int room = RPC_SESSION_HIGH;

    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
}

/* After the creator of an abstract name has gone, any process can listen under the same name, so
   the owner is checked. */
static int connect_abstract(const struct rpc_addr *to, uid_t owner)
{
    struct auth_identity who;
    int fd = connect_unix((const struct sockaddr *)&to->ss, to->len);

    if (fd >= 0 && (auth_peer(fd, &who, NULL) < 0 || (who.uid != owner && who.uid != 0))) {
        close(fd);
        return -EACCES;
    }
    if (fd >= 0)
        enlarge_send_buffer(fd);
    return fd;
}

int rpc_net_connect(const struct rpc_addr *to, uid_t owner, bool *pending)
{
    int fd;

    if (to->ss.ss_family == AF_UNIX) {
        *pending = false;
        return connect_abstract(to, owner ? owner : geteuid());
    }
    if (owner)
        setfsuid(owner); /* the kernel records this uid as the owner of a new socket */
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

    if (strlen(path) >= sizeof(sun.sun_path))
        return -ENAMETOOLONG;
    memcpy(sun.sun_path, path, strlen(path) + 1);
    return connect_unix((const struct sockaddr *)&sun, sizeof(sun));
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
