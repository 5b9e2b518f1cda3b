/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "store/store_test_proxy.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PAIRS 16
#define CHUNK 65536

struct pair {
    int fd[STORE_PROXY_WAYS]; /* indexed by the sender: the store, the server */
};

static struct {
    pthread_t thread;
    int listener, wake[2];
    struct sockaddr_un to;
    char path[108];
    struct pair pairs[PAIRS];
    size_t count;
    pthread_mutex_t lock; /* protects the members below */
    bool armed;
    enum store_proxy_way way;
    size_t left, passed[STORE_PROXY_WAYS], cuts;
} proxy = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void die_of(const char *what)
{
    fprintf(stderr, "test proxy: %s: %s\n", what, strerror(errno));
    abort();
}

static void set_address(struct sockaddr_un *out, const char *dir, const char *name)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (snprintf(out->sun_path, sizeof(out->sun_path), "%s/%s", dir, name) >=
        (int)sizeof(out->sun_path))
        die_of(dir);
}

/* Returns how many of these bytes may pass; *cut: the connection is cut after them. */
static size_t count_allowed(enum store_proxy_way way, size_t len, bool *cut)
{
    pthread_mutex_lock(&proxy.lock);
    if (proxy.armed && proxy.way == way) {
        *cut = len >= proxy.left;
        len = *cut ? proxy.left : len;
        proxy.left -= len;
        proxy.armed = !*cut;
        proxy.cuts += *cut;
    }
    proxy.passed[way] += len;
    pthread_mutex_unlock(&proxy.lock);
    return len;
}

static bool pass_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n < 0)
            return false;
        data += n;
        len -= (size_t)n;
    }
    return true;
}

/* Returns false if the pair has ended. */
static bool pass_data(struct pair *p, enum store_proxy_way way)
{
    static char data[CHUNK];
    ssize_t n = recv(p->fd[way], data, sizeof(data), 0);
    if (n <= 0)
        return false;
    bool cut = false;
    size_t len = count_allowed(way, (size_t)n, &cut);
    return pass_all(p->fd[!way], data, len) && !cut;
}

static void pair_close(size_t i)
{
    close(proxy.pairs[i].fd[0]);
    close(proxy.pairs[i].fd[1]);
    proxy.pairs[i] = proxy.pairs[--proxy.count];
}

static void pair_accept(void)
{
    int from = accept4(proxy.listener, NULL, NULL, SOCK_CLOEXEC);
    int to = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (from < 0 || to < 0)
        die_of("accept");
    if (proxy.count == PAIRS || connect(to, (struct sockaddr *)&proxy.to, sizeof(proxy.to))) {
        close(from);
        close(to);
        return;
    }
    proxy.pairs[proxy.count++] = (struct pair){{from, to}};
}

static void *serve_pairs(void *arg)
{
    for (;;) {
        struct pollfd p[2 + 2 * PAIRS] = {{.fd = proxy.wake[0], .events = POLLIN},
                                          {.fd = proxy.listener, .events = POLLIN}};
        size_t pairs = proxy.count;
        for (size_t i = 0; i < 2 * pairs; i++)
            p[2 + i] = (struct pollfd){.fd = proxy.pairs[i / 2].fd[i % 2], .events = POLLIN};
        if (poll(p, 2 + 2 * pairs, -1) < 0)
            die_of("poll");
        if (p[0].revents)
            return NULL;
        /* Descending, so that closing a pair moves none that is still to be visited. */
        for (size_t i = pairs; i-- > 0;)
            if ((p[2 + 2 * i].revents && !pass_data(&proxy.pairs[i], STORE_PROXY_UP)) ||
                (p[3 + 2 * i].revents && !pass_data(&proxy.pairs[i], STORE_PROXY_DOWN)))
                pair_close(i);
        if (p[1].revents)
            pair_accept();
    }
}

void store_test_proxy_start(const char *dir, const char *server_dir, const char *name)
{
    struct sockaddr_un own;
    set_address(&proxy.to, server_dir, name);
    set_address(&own, dir, name);
    snprintf(proxy.path, sizeof(proxy.path), "%s", own.sun_path);
    proxy.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (proxy.listener < 0 || pipe(proxy.wake) ||
        bind(proxy.listener, (struct sockaddr *)&own, sizeof(own)) || listen(proxy.listener, 8) ||
        pthread_create(&proxy.thread, NULL, serve_pairs, NULL))
        die_of(own.sun_path);
}

void store_test_proxy_stop(void)
{
    if (write(proxy.wake[1], "", 1) != 1)
        die_of("stop");
    pthread_join(proxy.thread, NULL);
    while (proxy.count > 0)
        pair_close(0);
    close(proxy.listener);
    close(proxy.wake[0]);
    close(proxy.wake[1]);
    unlink(proxy.path);
}

void store_test_proxy_cut(enum store_proxy_way way, size_t after)
{
    pthread_mutex_lock(&proxy.lock);
    proxy.armed = true;
    proxy.way = way;
    proxy.left = after;
    pthread_mutex_unlock(&proxy.lock);
}

size_t store_test_proxy_passed(enum store_proxy_way way)
{
    pthread_mutex_lock(&proxy.lock);
    size_t n = proxy.passed[way];
    pthread_mutex_unlock(&proxy.lock);
    return n;
}

size_t store_test_proxy_cuts(void)
{
    pthread_mutex_lock(&proxy.lock);
    size_t n = proxy.cuts;
    pthread_mutex_unlock(&proxy.lock);
    return n;
}
