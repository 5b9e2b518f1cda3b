/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/tunnel.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"

#define CHUNK 32768

struct stream {
    struct tunnel *tunnel;
    uint32_t id;
    int fd;                /* -1: opened when look() accepts the beginning */
    struct loop_fd *watch; /* NULL while fd is -1 */
    struct str held;       /* bytes from the other side that are not written yet */
    size_t room;           /* number of bytes that the other side accepts at present */
    size_t taken;          /* bytes written but not yet acknowledged */
    bool looked_at;        /* look() has accepted its beginning */
    bool answered;         /* the remote end has sent something */
    /* The other side has closed it: the held bytes are written, then it is closed. */
    bool over;
};

struct tunnel {
    struct loop *loop;
    struct tunnel_events events;
    VEC(struct stream *) streams;
    uint32_t next_id;
};

struct tunnel *tunnel_new(struct loop *l, const struct tunnel_events *events)
{
    struct tunnel *t = mem_new(struct tunnel);

    t->loop = l;
    t->events = *events;
    return t;
}

static void drop_stream(struct stream *s)
{
    struct tunnel *t = s->tunnel;

    for (size_t i = 0; i < t->streams.len; i++)
        if (t->streams.data[i] == s) {
            vec_remove(&t->streams, i);
            break;
        }
    if (s->watch != NULL)
        loop_fd_free(s->watch);
    if (s->fd >= 0)
        close(s->fd);
    str_done(&s->held);
    free(s);
}

void tunnel_free(struct tunnel *t)
{
    if (t == NULL)
        return;
    while (t->streams.len > 0)
        drop_stream(vec_last(&t->streams));
    vec_done(&t->streams);
    free(t);
}

size_t tunnel_count(const struct tunnel *t)
{
    return t->streams.len;
}

static void send_tunnel_data(struct tunnel *t, uint32_t id, Pb__TunnelData *m)
{
    m->id = id;
    t->events.send(t->events.ctx, m);
}

static void send_stream_end(struct tunnel *t, uint32_t id)
{
    Pb__TunnelData m = PB__TUNNEL_DATA__INIT;

    m.has_over = m.over = true;
    send_tunnel_data(t, id, &m);
}

/* Ends a stream whose local end has closed, or for which the other side has violated the
   protocol. */
static void end_stream(struct stream *s)
{
    if (!s->over)
        send_stream_end(s->tunnel, s->id);
    drop_stream(s);
}

static bool has_stream_room(const struct tunnel *t)
{
    return t->events.has_room == NULL || t->events.has_room(t->events.ctx);
}

static bool may_read(const struct stream *s)
{
    return !s->over && s->room > 0 && has_stream_room(s->tunnel);
}

static void set_events(struct stream *s)
{
    bool reads = may_read(s), writes = s->held.len > 0 && s->looked_at;

    if (s->watch != NULL)
        loop_fd_events(s->watch, (reads ? LOOP_READ : 0) | (writes ? LOOP_WRITE : 0));
}

/* Acknowledges written bytes when half of the window is free, not after every write. */
static void tell_taken(struct stream *s)
{
    Pb__TunnelData m = PB__TUNNEL_DATA__INIT;

    if (s->over || s->taken < TUNNEL_WINDOW / 2)
        return;
    m.has_taken = true;
    m.taken = (uint32_t)s->taken;
    s->taken = 0;
    send_tunnel_data(s->tunnel, s->id, &m);
}

/* Writes held bytes. False: the stream is freed. */
static bool write_held(struct stream *s)
{
    while (s->held.len > 0 && s->looked_at) {
        ssize_t n = send(s->fd, s->held.data, s->held.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            end_stream(s);
            return false;
        }
        str_consume(&s->held, (size_t)n);
        s->taken += (size_t)n;
    }
    if (s->over && s->held.len == 0) {
        drop_stream(s);
        return false;
    }
    tell_taken(s);
    set_events(s);
    return true;
}

static void read_some(struct stream *s)
{
    static uint8_t buffer[CHUNK];
    Pb__TunnelData m = PB__TUNNEL_DATA__INIT;
    ssize_t n = recv(s->fd, buffer, s->room < CHUNK ? s->room : CHUNK, 0);

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n <= 0) {
        end_stream(s);
        return;
    }
    m.has_data = true;
    m.data = (ProtobufCBinaryData){(size_t)n, buffer};
    s->room -= (size_t)n;
    send_tunnel_data(s->tunnel, s->id, &m);
    set_events(s);
}

static void on_ready(void *ctx, int fd, unsigned ready)
{
    struct stream *s = ctx;

    (void)fd;
    if (ready & LOOP_WRITE && !write_held(s))
        return;
    if (ready & LOOP_READ && may_read(s))
        read_some(s);
    else
        set_events(s);
}

void tunnel_drained(struct tunnel *t)
{
    vec_foreach (&t->streams, s)
        set_events(*s);
}

static struct stream *add_stream(struct tunnel *t, uint32_t id, int fd)
{
    struct stream *s = mem_new(struct stream);

    s->tunnel = t;
    s->id = id;
    s->fd = fd;
    s->room = TUNNEL_WINDOW;
    if (fd >= 0)
        s->watch = loop_fd_new(t->loop, fd, LOOP_READ, on_ready, s);
    vec_push(&t->streams, s);
    return s;
}

static struct stream *find_stream(struct tunnel *t, uint32_t id)
{
    vec_foreach (&t->streams, s)
        if ((*s)->id == id)
            return *s;
    return NULL;
}

/* Any local user may connect, so most connections may be idle: a new one replaces the oldest one
 * that has had no answer. */
static void make_room(struct tunnel *t)
{
    if (t->streams.len < TUNNEL_MOST)
        return;
    vec_foreach (&t->streams, s)
        if (!(*s)->answered) {
            end_stream(*s);
            return;
        }
}

void tunnel_take(struct tunnel *t, int fd)
{
    Pb__TunnelData m = PB__TUNNEL_DATA__INIT;

    make_room(t);
    if (t->streams.len >= TUNNEL_MOST) {
        close(fd);
        return;
    }
    do
        t->next_id++;
    while (find_stream(t, t->next_id) != NULL);
    /* The reply comes from a peer that we chose. */
    add_stream(t, t->next_id, fd)->looked_at = true;
    m.has_opens = m.opens = true;
    send_tunnel_data(t, t->next_id, &m);
}

static void on_opens(struct tunnel *t, uint32_t id)
{
    bool may, looks = t->events.look != NULL;
    int fd = -1;

    make_room(t);
    may = t->events.open != NULL && t->streams.len < TUNNEL_MOST && find_stream(t, id) == NULL;
    if (may && !looks)
        fd = t->events.open(t->events.ctx);
    if (!may || (!looks && fd < 0))
        send_stream_end(t, id);
    else
        add_stream(t, id, fd)->looked_at = !looks;
}

/* Passes the beginning to look(). False: the stream is freed. */
static bool look_at(struct stream *s)
{
    struct tunnel *t = s->tunnel;
    enum tunnel_look look = t->events.look(t->events.ctx, &s->held);

    if (look == TUNNEL_MORE && s->held.len <= TUNNEL_HEAD_MOST && !s->over)
        return true;
    s->looked_at = true;
    if (look == TUNNEL_PASS)
        s->fd = t->events.open(t->events.ctx);
    if (s->fd >= 0) {
        s->answered = true;
        s->watch = loop_fd_new(t->loop, s->fd, LOOP_READ, on_ready, s);
        return true;
    }
    end_stream(s);
    return false;
}

static void on_data(struct stream *s, const Pb__TunnelData *m)
{
    if (m->data.len > TUNNEL_WINDOW || s->held.len + s->taken + m->data.len > TUNNEL_WINDOW) {
        end_stream(s);
        return;
    }
    str_append(&s->held, m->data.data, m->data.len);
    s->answered = s->answered || s->looked_at;
    if (s->looked_at || look_at(s))
        write_held(s);
}

void tunnel_message(struct tunnel *t, const Pb__TunnelData *m)
{
    struct stream *s;

    if (m->has_opens && m->opens) {
        on_opens(t, m->id);
        return;
    }
    s = find_stream(t, m->id);
    if (s == NULL || s->over) /* the stream has ended here meanwhile */
        return;
    if (m->has_taken) {
        size_t room = s->room + m->taken;

        s->room = room < TUNNEL_WINDOW ? room : TUNNEL_WINDOW;
        set_events(s);
    }
    if (m->has_over && m->over) {
        s->over = true;
        if (s->looked_at || look_at(s))
            write_held(s);
    } else if (m->has_data) {
        on_data(s, m);
    }
}
