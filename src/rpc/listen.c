/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The listening sockets of a server. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <utlist.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/trust.h"
#include "rpc/server_priv.h"

#define BACKLOG 4096
#define ACCEPTS_PER_EVENT 64
#define SHORT_PAUSE_MS                                                                             \
    100 /* no connection can be accepted without descriptors: retry after this time */

static void on_accept_again(void *ctx)
{
    struct rpc_server *s = ctx;
    struct rpc_listener *l;

    DL_FOREACH(s->listeners, l)
    loop_fd_events(l->watch, LOOP_READ);
}

/* Descriptors or memory are exhausted: without a pause the pending connection would wake the loop
   endlessly. */
static void pause_accepting(struct rpc_server *s, int e)
{
    struct rpc_listener *l;
    char why[128];

    DL_FOREACH(s->listeners, l)
    loop_fd_events(l->watch, 0);
    if (!s->accept_timer)
        s->accept_timer = loop_timer_new(s->opt.loop, on_accept_again, s);
    loop_timer_set(s->accept_timer, SHORT_PAUSE_MS);
    snprintf(why, sizeof(why), "a connection cannot be accepted: %s", strerror(e));
    rpc_server_refused(s, "listener", why);
}

static void on_acceptable(void *ctx, int fd, unsigned ready)
{
    struct rpc_listener *l = ctx;

    for (unsigned i = 0; i < ACCEPTS_PER_EVENT; i++) {
        struct rpc_addr addr = {.len = sizeof(addr.ss)};
        int got = accept4(fd, (struct sockaddr *)&addr.ss, &addr.len, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (got < 0) {
            if ((errno == EMFILE || errno == ENFILE) && rpc_quota_make_way(l->server))
                continue;
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                pause_accepting(l->server, errno);
            if (errno == EINTR || errno == ECONNABORTED)
                continue;
            return;
        }
        rpc_caller_new(l->server, got, l->local, &addr);
    }
}

static void add_listener(struct rpc_server *s, int fd, bool local, const char *path)
{
    struct rpc_listener *l = mem_new(struct rpc_listener);

    l->server = s;
    l->fd = fd;
    l->local = local;
    l->path = mem_strdup(path);
    l->watch = loop_fd_new(s->opt.loop, fd, LOOP_READ, on_acceptable, l);
    DL_APPEND(s->listeners, l);
}

void rpc_server_stop_accepting(struct rpc_server *s)
{
    struct rpc_listener *l;

    DL_FOREACH(s->listeners, l)
    loop_fd_events(l->watch, 0);
    if (s->accept_timer)
        loop_timer_free(take_ptr(s->accept_timer));
}

void rpc_server_unlisten(struct rpc_server *s)
{
    struct rpc_listener *l, *next;

    DL_FOREACH_SAFE(s->listeners, l, next)
    {
        DL_DELETE(s->listeners, l);
        loop_fd_free(l->watch);
        close(l->fd);
        if (l->path)
            unlink(l->path);
        free(l->path);
        free(l);
    }
    if (s->accept_timer)
        loop_timer_free(take_ptr(s->accept_timer));
}

/* Returns a bound and listening socket, or -errno. */
static int listen_on(const struct rpc_addr *a)
{
    int on = 1;
    _cleanup_close_ int fd = socket(a->ss.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->ss.ss_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    rpc_net_tune(fd); /* accepted ones inherit it */
    if (bind(fd, (const struct sockaddr *)&a->ss, a->len) < 0 || listen(fd, BACKLOG) < 0)
        return -errno;
    return take_fd(&fd);
}

static uint16_t port_of(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } own = {0};
    socklen_t len = sizeof(own);

    if (getsockname(fd, &own.any, &len) < 0)
        return 0;
    return ntohs(own.any.sa_family == AF_INET6 ? own.v6.sin6_port : own.v4.sin_port);
}

static int listen_error(int rc, const char *addr, uint16_t port, struct err *err)
{
    return err_set(err, rc, "cannot listen on %s:%u: %s%s", addr ? addr : "*", port, strerror(-rc),
                   rc == -EADDRINUSE ? "; is another daemon running there?" : "");
}

/* Listens on every address: IPv4 and IPv6 use separate sockets and the same port. A host without
 * one of the two families is served on the other. */
static int listen_any(struct rpc_server *s, uint16_t port, struct err *err)
{
    struct rpc_addr v4 = {.len = sizeof(struct sockaddr_in)};
    struct rpc_addr v6 = {.len = sizeof(struct sockaddr_in6)};
    int fd4, fd6;

    ((struct sockaddr_in *)&v4.ss)->sin_family = AF_INET;
    ((struct sockaddr_in *)&v4.ss)->sin_port = htons(port);
    fd4 = listen_on(&v4);
    if (fd4 == -EADDRINUSE)
        return listen_error(fd4, NULL, port, err);
    if (fd4 >= 0 && port == 0)
        port = port_of(fd4);
    ((struct sockaddr_in6 *)&v6.ss)->sin6_family = AF_INET6;
    ((struct sockaddr_in6 *)&v6.ss)->sin6_port = htons(port);
    fd6 = listen_on(&v6);
    if (fd4 < 0 && fd6 < 0)
        return listen_error(fd4, NULL, port, err);
    if (fd4 >= 0)
        add_listener(s, fd4, false, NULL);
    if (fd6 >= 0)
        add_listener(s, fd6, false, NULL);
    return port ? port : port_of(fd6);
}

int rpc_server_listen_tcp(struct rpc_server *s, const char *addr, uint16_t port, struct err *err)
{
    struct rpc_addr addrs[RPC_NET_ADDRESSES_MAX];
    int n, fd;

    if (!addr)
        return listen_any(s, port, err);
    n = rpc_net_resolve(addr, port, false, addrs, err);
    if (n < 0)
        return err_prefix(err, "cannot listen on %s:%u", addr, port);
    fd = listen_on(&addrs[0]);
    if (fd < 0)
        return listen_error(fd, addr, port, err);
    add_listener(s, fd, false, NULL);
    return port_of(fd);
}

int rpc_server_listen_abstract(struct rpc_server *s, char name[RPC_ABSTRACT_SIZE], struct err *err)
{
    struct rpc_addr addr;
    int fd;

    rpc_net_name_abstract(name);
    rpc_net_resolve(name, 0, true, &addr, NULL);
    fd = listen_on(&addr);
    if (fd < 0)
        return err_set(err, fd, "cannot listen on %s: %s", name, strerror(-fd));
    add_listener(s, fd, true, NULL);
    return 0;
}

/* Checks that the directory of the path exists and that only the daemons' users can create names
   in it. */
static int check_parent(const struct rpc_server *s, const char *path, struct err *err)
{
    _cleanup_free_ char *dir = mem_strdup(path);
    char *slash = strrchr(dir, '/');
    struct stat st;
    int rc;

    if (path[0] != '/' || !slash)
        return err_set(err, -ERR_CONFIG, "%s: the path of a socket must be absolute", path);
    *(slash == dir ? slash + 1 : slash) = '\0';
    rc = path_mkdirs(dir, 0755, err);
    if (rc < 0)
        return rc;
    if (stat(dir, &st) < 0)
        return err_set(err, -errno, "%s: %s", dir, strerror(errno));
    if (st.st_uid != 0 && st.st_uid != geteuid() && st.st_uid != s->opt.admin_uid &&
        st.st_uid != s->opt.node_uid)
        return err_set(err, -ERR_CONFIG,
                       "%s: belongs to uid %u, who could put a socket of their own in place of a "
                       "daemon's; run: chown root %s",
                       dir, (unsigned)st.st_uid, dir);
    if (st.st_mode & 022)
        return err_set(err, -ERR_CONFIG,
                       "%s: mode %04o: others may write there, and could put a socket of their "
                       "own in place of a daemon's; run: chmod go-w %s",
                       dir, (unsigned)(st.st_mode & 07777), dir);
    if (geteuid() == 0)
        return trust_check(dir, (uid_t[]){s->opt.admin_uid, s->opt.node_uid}, 2, err);
    return 0;
}

int rpc_server_listen_here(struct rpc_server *s, const struct conf *conf, const char *name,
                           struct err *err)
{
    struct err first = {0};

    for (size_t i = 0; i < conf->socket_dir_count; i++) {
        _cleanup_free_ char *path = conf_socket_path(conf, i, name);
        struct err why = {0};
        int rc = rpc_server_listen_unix(s, path, 0666, &why);
        if (rc >= 0)
            return (int)i;
        first = i ? first : why;
    }
    return err_set(err, first.code,
                   "cannot create a socket in the socket directory '%s' (%s): start the daemon as "
                   "root, create the directory for the daemon's user, or set "
                   "AuthInfo=socketdir=DIR",
                   conf->socket_dirs[0], first.text);
}

int rpc_server_listen_unix(struct rpc_server *s, const char *path, mode_t mode, struct err *err)
{
    struct sockaddr_un sun = {.sun_family = AF_UNIX};
    int rc = check_parent(s, path, err);

    if (rc < 0)
        return rc;
    /* No daemon's socket name has this suffix; a leftover file of a killed daemon is replaced. */
    _cleanup_free_ char *temp = mem_printf("%s~", path);
    if (strlen(temp) >= sizeof(sun.sun_path))
        return err_set(err, -ENAMETOOLONG,
                       "%s: the path of a socket has at most %zu bytes; set "
                       "AuthInfo=socketdir=DIR to a shorter one",
                       path, sizeof(sun.sun_path) - 1 - (strlen(temp) - strlen(path)));
    memcpy(sun.sun_path, temp, strlen(temp) + 1);
    _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    unlink(temp);
    if (bind(fd, (struct sockaddr *)&sun, sizeof(sun)) < 0)
        return err_set(err, -errno, "%s: %s", temp, strerror(errno));
    /* Nobody can connect before listen(), so the mode takes effect before the first connection. */
    if (chmod(temp, mode) < 0 || listen(fd, BACKLOG) < 0 || rename(temp, path) < 0) {
        rc = err_set(err, -errno, "%s: %s", path, strerror(errno));
        unlink(temp);
        return rc;
    }
    add_listener(s, take_fd(&fd), true, path);
    return 0;
}
