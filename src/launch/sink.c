/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

struct sink {
    struct loop *loop;
    struct sink_events events;
    char *name;
    int fd;
    bool own_fd;    /* opened here: must be closed */
    bool is_socket; /* uses MSG_DONTWAIT in place of O_NONBLOCK */
    bool may_block; /* O_NONBLOCK is not possible: write only as much as fits for sure */
    bool broken, above_high;
    struct loop_fd *watch; /* while bytes are waiting */
    struct str queue;
    size_t done; /* written bytes of the queue */
};

/* The number of bytes that a writable pipe or terminal takes without blocking. */
#define SURE_BYTES 4096

/*
 * O_NONBLOCK is a property of the open file, which srun shares with the shell and other programs;
 * set on a terminal it would break them. Opening the same pipe or terminal again gives an own open
 * file.
 */
static void make_nonblocking(struct sink *s)
{
    char path[64];
    struct stat st;
    int fd;

    if (fstat(s->fd, &st) < 0 || S_ISREG(st.st_mode))
        return;
    if (S_ISSOCK(st.st_mode)) {
        s->is_socket = true;
        return;
    }
    snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
    fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY | O_APPEND);
    if (fd < 0) {
        s->may_block = true;
        return;
    }
    s->fd = fd;
    s->own_fd = true;
}

struct sink *sink_of_fd(struct loop *l, int fd, const char *name, const struct sink_events *events)
{
    struct sink *s = mem_new(struct sink);

    s->loop = l;
    s->events = *events;
    s->name = mem_strdup(name);
    s->fd = fd;
    make_nonblocking(s);
    return s;
}

int sink_of_file(struct loop *l, const char *path, const char *stream, bool append,
                 const struct sink_events *events, struct sink **out, struct err *err)
{
    int fd = open(
        path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_APPEND | (append ? 0 : O_TRUNC), 0666);
    struct sink *s;

    if (fd < 0)
        return err_set(err, -ERR_OPEN_IO, "Could not open %s file %s: %s", stream, path,
                       strerror(errno));
    s = mem_new(struct sink);
    s->loop = l;
    s->events = *events;
    s->name = mem_strdup(path);
    s->fd = fd;
    s->own_fd = true;
    *out = s;
    return 0;
}

static void break_off(struct sink *s, int code)
{
    struct err why = {0};

    s->broken = true;
    s->above_high = false;
    str_done(&s->queue);
    s->done = 0;
    loop_fd_free(s->watch);
    s->watch = NULL;
    err_set(&why, -code, "Unable to write to %s: %s", s->name, strerror(code));
    s->events.on_broken(s->events.ctx, &why);
}

/* Returns the number of bytes written, 0 if the descriptor would block, or -errno. */
static ssize_t write_some(struct sink *s, const void *data, size_t len)
{
    ssize_t n;

    do {
        if (s->is_socket)
            n = send(s->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
        else
            n = write(s->fd, data, s->may_block && len > SURE_BYTES ? SURE_BYTES : len);
    } while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno == EAGAIN ? 0 : -errno;
    return n;
}

static void on_writable(void *ctx, int fd, unsigned ready)
{
    struct sink *s = ctx;
    ssize_t n = write_some(s, s->queue.data + s->done, sink_backlog(s));

    (void)fd;
    (void)ready;
    if (n < 0) {
        break_off(s, (int)-n);
        return;
    }
    s->done += (size_t)n;
    if (s->done * 2 > s->queue.len) { /* moves each byte only once, even for a slow reader */
        str_consume(&s->queue, s->done);
        s->done = 0;
    }
    if (s->queue.len == 0) {
        loop_fd_free(s->watch);
        s->watch = NULL;
    }
    if (s->queue.len == 0 || (s->above_high && sink_backlog(s) < SINK_LOW)) {
        s->above_high = false;
        s->events.on_drained(s->events.ctx);
    }
}

void sink_write(struct sink *s, const void *data, size_t len)
{
    const char *bytes = data;

    if (s->broken)
        return;
    while (len > 0 && s->queue.len == 0 && !s->may_block) {
        ssize_t n = write_some(s, bytes, len);

        if (n < 0) {
            break_off(s, (int)-n);
            return;
        }
        if (n == 0)
            break;
        bytes += n;
        len -= (size_t)n;
    }
    if (len == 0)
        return;
    str_append(&s->queue, bytes, len);
    if (sink_backlog(s) > SINK_HIGH)
        s->above_high = true;
    if (s->watch == NULL)
        s->watch = loop_fd_new(s->loop, s->fd, LOOP_WRITE, on_writable, s);
}

void sink_move(struct sink *s, int fd, const char *name)
{
    bool waited = s->queue.len > 0;

    loop_fd_free(s->watch);
    s->watch = NULL;
    if (s->own_fd)
        close(s->fd);
    free(s->name);
    s->name = mem_strdup(name);
    s->fd = fd;
    s->own_fd = true;
    s->is_socket = s->may_block = s->above_high = false;
    while (!s->broken && sink_backlog(s) > 0) {
        ssize_t n = write_some(s, s->queue.data + s->done, sink_backlog(s));

        if (n <= 0)
            break_off(s, n < 0 ? (int)-n : EIO);
        else
            s->done += (size_t)n;
    }
    str_done(&s->queue);
    s->done = 0;
    if (waited && !s->broken)
        s->events.on_drained(s->events.ctx);
}

size_t sink_backlog(const struct sink *s)
{
    return s->queue.len - s->done;
}

void sink_take_rest(struct sink *s, struct str *out)
{
    if (sink_backlog(s) > 0)
        str_append(out, s->queue.data + s->done, sink_backlog(s));
    sink_drop(s);
}

void sink_drop(struct sink *s)
{
    s->broken = true;
    str_done(&s->queue);
    s->done = 0;
    loop_fd_free(s->watch);
    s->watch = NULL;
}

void sink_free(struct sink *s)
{
    if (s == NULL)
        return;
    loop_fd_free(s->watch);
    if (s->own_fd)
        close(s->fd);
    str_done(&s->queue);
    free(s->name);
    free(s);
}
