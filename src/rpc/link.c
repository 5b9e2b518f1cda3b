/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/mem.h"
#include "base/str.h"

#define READ_SIZE 16384
#define KEEP_ROOM (1u << 16) /* larger buffers are freed after use */

struct rpc_link {
    int fd;
    bool closed, paused;
    bool *freed;         /* points to a flag that rpc_link_free() sets while a callback runs */
    struct arena **body; /* the memory of the message passed to the callback */
    struct loop_fd *watch;
    struct str in, out;
    struct rpc_link_events events;
};

static void on_ready(void *ctx, int fd, unsigned ready);

struct rpc_link *rpc_link_new(struct loop *loop, int fd, const struct rpc_link_events *events)
{
    struct rpc_link *l = mem_new(struct rpc_link);

    l->fd = fd;
    l->events = *events;
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    l->watch = loop_fd_new(loop, fd, LOOP_READ, on_ready, l);
    return l;
}

void rpc_link_free(struct rpc_link *l)
{
    if (!l)
        return;
    if (l->freed)
        *l->freed = true;
    if (l->watch)
        loop_fd_free(l->watch);
    close(l->fd);
    str_done(&l->in);
    str_done(&l->out);
    free(l);
}

size_t rpc_link_backlog(const struct rpc_link *l)
{
    return l->out.len;
}

bool rpc_link_is_hung_up(const struct rpc_link *l)
{
    struct pollfd p = {.fd = l->fd};

    return l->closed || (poll(&p, 1, 0) == 1 && p.revents & (POLLHUP | POLLERR));
}

static void shut_link(struct rpc_link *l, const struct err *why)
{
    if (l->closed)
        return;
    l->closed = true;
    loop_fd_free(take_ptr(l->watch));
    l->events.on_close(l->events.ctx, l, why);
}

static void set_events(struct rpc_link *l)
{
    loop_fd_events(l->watch, (l->paused ? 0 : LOOP_READ) | (l->out.len ? LOOP_WRITE : 0));
}

void rpc_link_pause(struct rpc_link *l, bool pause)
{
    if (l->closed || l->paused == pause)
        return;
    l->paused = pause;
    set_events(l);
}

/* Returns 0, or an error that means that the peer is gone. */
static int flush_link(struct rpc_link *l, struct err *err)
{
    size_t done = 0;

    while (done < l->out.len) {
        ssize_t n = send(l->fd, l->out.data + done, l->out.len - done, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0)
            return err_set(err, -errno, "cannot write: %s", strerror(errno));
        done += (size_t)n;
    }
    str_consume(&l->out, done);
    set_events(l);
    if (!l->out.len && l->out.room > KEEP_ROOM)
        str_done(&l->out);
    return 0;
}

void rpc_link_send(struct rpc_link *l, enum rpc_number rpc, bool reply, uint64_t id,
                   const ProtobufCMessage *body)
{
    struct rpc_header h = {.version = RPC_VERSION,
                           .rpc = (uint16_t)rpc,
                           .flags = reply ? RPC_FLAG_REPLY : 0,
                           .id = id};
    size_t len = protobuf_c_message_get_packed_size(body);
    uint8_t header[RPC_HEADER_SIZE];

    if (l->closed || len > RPC_LINK_BODY_MAX)
        return;
    h.body_len = (uint32_t)len;
    rpc_header_pack(&h, header);
    str_append(&l->out, header, sizeof(header));
    pb_pack(body, &l->out);
    flush_link(l, NULL); /* the reading side reports a broken connection */
}

struct arena *rpc_link_keep_body(struct rpc_link *l)
{
    return take_ptr(*l->body);
}

void rpc_link_free_body(struct arena **body)
{
    if (*body)
        arena_done(*body);
    free(take_ptr(*body));
}

static int deliver_frame(struct rpc_link *l, const struct rpc_header *h, const uint8_t *body,
                         struct err *err)
{
    const struct rpc_info *info = rpc_find(h->rpc);
    _cleanup_(rpc_link_free_body) struct arena *arena = mem_new(struct arena);
    ProtobufCMessage *message;
    bool reply = h->flags & RPC_FLAG_REPLY;

    arena_init(arena, (size_t)h->body_len * RPC_ARENA_FACTOR + RPC_ARENA_EXTRA);
    if (!info || info->who != RPC_WHO_LOCAL || h->token_len || (h->flags & ~RPC_FLAG_REPLY))
        return err_set(err, -ERR_PROTOCOL, "message %u does not belong on a local link", h->rpc);
    message = arena_unpack(arena, reply ? info->reply : info->request, body, h->body_len);
    if (!message)
        return err_set(err, -ERR_PROTOCOL, "malformed %s", info->name);
    l->body = &arena;
    l->events.on_message(l->events.ctx, l, h, message);
    return 0;
}

/* Delivers every complete frame. Returns 1 if a callback freed the link. */
static int parse_frames(struct rpc_link *l, struct err *err)
{
    bool freed = false;
    size_t done = 0;
    int rc = 0;

    l->freed = &freed;
    while (l->in.len - done >= RPC_HEADER_SIZE) {
        const uint8_t *at = (const uint8_t *)l->in.data + done;
        struct rpc_header h;

        rc = rpc_header_unpack(at, RPC_LINK_BODY_MAX, &h, err);
        if (rc || l->in.len - done < RPC_HEADER_SIZE + (size_t)h.body_len)
            break;
        rc = deliver_frame(l, &h, at + RPC_HEADER_SIZE, err);
        if (freed)
            return 1;
        if (rc)
            break;
        done += RPC_HEADER_SIZE + h.body_len;
    }
    l->freed = NULL;
    str_consume(&l->in, done);
    if (!l->in.len && l->in.room > KEEP_ROOM)
        str_done(&l->in);
    return rc;
}

/* Appends available input. Returns 0 if all of it was read, 1 if more may be available. */
static int read_more(struct rpc_link *l, struct err *err)
{
    ssize_t n;

    str_reserve(&l->in, READ_SIZE);
    n = recv(l->fd, l->in.data + l->in.len, READ_SIZE, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n < 0)
        return err_set(err, -errno, "cannot read: %s", strerror(errno));
    if (n == 0)
        return err_set(err, -ERR_CLOSED, "%s", err_text(ERR_CLOSED));
    l->in.len += (size_t)n;
    l->in.data[l->in.len] = '\0';
    return n == READ_SIZE;
}

static void on_ready(void *ctx, int fd, unsigned ready)
{
    struct rpc_link *l = ctx;
    struct err why = {0};
    int rc = 0, more = 0;

    if (ready & LOOP_WRITE && l->out.len)
        rc = flush_link(l, &why);
    if (!rc && ready & LOOP_READ) {
        more = read_more(l, &why);
        rc = more < 0 ? more : parse_frames(l, &why);
        if (rc == 1)
            return;
    }
    if (rc < 0)
        shut_link(l, &why);
}
