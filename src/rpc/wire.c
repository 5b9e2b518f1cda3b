/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "rpc/wire.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "rpc/channel.h"
#include "rpc/dial.h"
#include "rpc/mint.h"
#include "rpc/rpc.h"

#define READ_CHUNK (64u << 10)
#define BUSY_PAUSE_MS 5 /* pause while a local socket's queue is full */

int64_t rpc_wire_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void rpc_wire_close(struct rpc_wire *w)
{
    if (w->fd >= 0)
        close(take_fd(&w->fd));
    rpc_channel_free(take_ptr(w->channel));
    str_done(&w->in);
    str_done(&w->records);
    str_done(&w->plain);
    w->plain_pos = 0;
}

bool rpc_wire_has_bytes(const struct rpc_wire *w)
{
    char byte;

    if (w->plain_pos < w->plain.len)
        return true;
    return w->fd >= 0 && recv(w->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

/* Waits until the descriptor is ready, or 'first' (whose owner may be NULL) has input. Returns 0,
 * -ECANCELED, -ERR_TIMEOUT or -errno. */
static int wait_for(int fd, short events, const struct rpc_wire *first, int64_t deadline_ms)
{
    struct pollfd p[] = {{.fd = fd, .events = events},
                         {.fd = first ? first->fd : -1, .events = POLLIN}};

    for (;;) {
        int64_t left = deadline_ms - rpc_wire_now_ms();
        int rc;

        if (deadline_ms == RPC_NO_DEADLINE)
            left = -1;
        else if (left < 0)
            left = 0;
        rc = poll(p, 2, left > 3600000 ? 3600000 : (int)left);
        if (rc > 0 && p[1].revents) {
            assert(first); /* poll() ignores a descriptor of -1 */
            if (rpc_wire_has_bytes(first))
                return -ECANCELED;
            p[1].fd = -1; /* its peer has closed */
        }
        if (rc > 0 && p[0].revents)
            return 0;
        if (rc < 0 && errno != EINTR)
            return -errno;
        if (rc == 0 && deadline_ms <= rpc_wire_now_ms())
            return -ERR_TIMEOUT;
    }
}

int rpc_wire_wait(struct rpc_wire *w, int64_t deadline_ms)
{
    if (w->plain_pos < w->plain.len)
        return 0;
    return wait_for(w->fd, POLLIN, w->first, deadline_ms);
}

void rpc_wire_sleep(int64_t ms)
{
    wait_for(-1, 0, NULL, rpc_wire_now_ms() + ms);
}

static int check_trusted(int fd, const uid_t *trusted, size_t count, struct err *err)
{
    struct auth_identity who;
    int rc = auth_peer(fd, &who, err);

    if (rc < 0 || who.uid == 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        if (who.uid == trusted[i])
            return 0;
    return err_set(err, -ERR_AUTH, "the server there runs as uid %u and is not to be trusted",
                   (unsigned)who.uid);
}

int rpc_wire_open_local(struct rpc_wire *w, const char *path, const uid_t *trusted, size_t count,
                        int64_t deadline_ms, struct err *err)
{
    int fd, rc;

    while ((fd = rpc_net_connect_unix(path)) == -EAGAIN && rpc_wire_now_ms() < deadline_ms)
        rpc_wire_sleep(BUSY_PAUSE_MS);
    if (fd < 0)
        return err_set(err, fd, "%s", strerror(-fd));
    rc = check_trusted(fd, trusted, count, err);
    if (rc < 0) {
        close(fd);
        return rc;
    }
    w->fd = fd;
    return 0;
}

int rpc_wire_open_tcp(struct rpc_wire *w, const char *host, uint16_t port, int64_t deadline_ms,
                      struct err *err)
{
    struct rpc_addr addrs[RPC_NET_ADDRESSES_MAX];
    struct rpc_tries tries;
    int64_t patience_ms;
    int i, rc = -ENOENT, n = rpc_net_resolve(host, port, false, addrs, err);

    if (n < 0)
        return n;
    rpc_tries_init(&tries, n, deadline_ms);
    while (rc != -ECANCELED && (i = rpc_tries_next(&tries, rpc_wire_now_ms(), &patience_ms)) >= 0) {
        bool pending;
        int fd = rpc_net_connect(&addrs[i], 0, &pending);
        if (fd < 0) {
            rc = fd;
            continue;
        }
        rc = pending ? wait_for(fd, POLLOUT, w->first, rpc_wire_now_ms() + patience_ms) : 0;
        if (rc == 0 && pending)
            rc = rpc_net_connected(fd);
        if (rc == 0) {
            rpc_net_reset_on_close(fd);
            w->fd = fd;
            return 0;
        }
        close(fd);
        if (rc == -ERR_TIMEOUT)
            rpc_tries_note_timeout(&tries);
    }
    return err_set(err, rc, "%s", rc == -ERR_TIMEOUT ? strerror(ETIMEDOUT) : err_text(rc));
}

bool rpc_wire_is_fresh(const struct rpc_wire *w)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};

    return w->fd >= 0 && !w->records.len && w->plain_pos == w->plain.len && poll(&p, 1, 0) == 0;
}

/* A close by the other side is not a failure here: data received before may explain it. */
static int send_all(struct rpc_wire *w, const struct str *out, int64_t deadline_ms, struct err *err)
{
    size_t pos = 0;
    int rc;

    while (pos < out->len) {
        ssize_t n = send(w->fd, out->data + pos, out->len - pos, MSG_NOSIGNAL);
        if (n >= 0) {
            pos += (size_t)n;
        } else if (errno == EAGAIN) {
            rc = wait_for(w->fd, POLLOUT, w->first, deadline_ms);
            if (rc < 0)
                return err_set(err, rc, "%s", err_text(rc));
        } else if (errno == EPIPE || errno == ECONNRESET) {
            w->unread = true;
            return 0;
        } else if (errno != EINTR) {
            return err_set(err, -errno, "%s", strerror(errno));
        }
    }
    return 0;
}

/* Like recv(), but waits. Returns the number of bytes, 0 at the end, or negative with err. */
static ssize_t receive_some(struct rpc_wire *w, void *to, size_t max, int64_t deadline_ms,
                            struct err *err)
{
    for (;;) {
        ssize_t n = recv(w->fd, to, max, 0);
        int rc;

        if (n >= 0)
            return n;
        if (errno == ECONNRESET) {
            /* A local socket is reset only if the peer closes it with unread data of ours. */
            w->unread = w->unread || !w->sealed;
            return 0;
        }
        if (errno == EAGAIN) {
            rc = wait_for(w->fd, POLLIN, w->first, deadline_ms);
            if (rc < 0)
                return err_set(err, rc, "%s", err_text(rc));
        } else if (errno != EINTR) {
            return err_set(err, -errno, "%s", strerror(errno));
        }
    }
}

/* Like receive_some(), appended to w->records. */
static ssize_t receive_records(struct rpc_wire *w, int64_t deadline_ms, struct err *err)
{
    ssize_t n;

    str_reserve(&w->records, READ_CHUNK);
    n = receive_some(w, w->records.data + w->records.len, READ_CHUNK, deadline_ms, err);
    if (n > 0)
        w->records.len += (size_t)n;
    return n;
}

/* Like receive_some(), but returns decrypted bytes, some of which may have arrived with the end of
   the handshake. */
static ssize_t receive_plain(struct rpc_wire *w, void *to, size_t max, int64_t deadline_ms,
                             struct err *err)
{
    for (bool first = true; w->plain_pos == w->plain.len; first = false) {
        size_t plain;
        ssize_t n = first ? 1 : receive_records(w, deadline_ms, err);
        int taken;

        if (n <= 0)
            return n;
        taken =
            rpc_channel_unseal(w->channel, (uint8_t *)w->records.data, w->records.len, &plain, err);
        if (taken < 0)
            return taken;
        str_clear(&w->plain);
        w->plain_pos = 0;
        str_append(&w->plain, w->records.data, plain);
        str_consume(&w->records, (size_t)taken);
    }
    if (max > w->plain.len - w->plain_pos)
        max = w->plain.len - w->plain_pos;
    memcpy(to, w->plain.data + w->plain_pos, max);
    w->plain_pos += max;
    return (ssize_t)max;
}

/* Performs the handshake of an encrypted channel. The request is sent only after the peer has
   proved that it knows the key. */
static int shake_hands(struct rpc_wire *w, const struct rpc_minted *minted, int64_t deadline_ms,
                       struct err *err)
{
    _cleanup_str_ struct str hello = STR_INIT;
    struct rpc_channel *ch = rpc_channel_call(&minted->channel, rpc_minted_jwt(minted), &hello);
    int rc = send_all(w, &hello, deadline_ms, err), taken = 0;

    while (rc == 0 && taken == 0) {
        ssize_t n = receive_records(w, deadline_ms, err);
        if (n == 0)
            rc = err_set(err, -ECONNRESET, "%s", err_text(ERR_CLOSED));
        else if (n < 0)
            rc = (int)n;
        else
            taken = rpc_channel_answered(ch, (uint8_t *)w->records.data, w->records.len, err);
        if (taken < 0)
            rc = taken;
    }
    if (rc < 0) {
        rpc_channel_free(ch);
        return rc;
    }
    str_consume(&w->records, (size_t)taken);
    w->channel = ch;
    return 0;
}

int rpc_wire_send(struct rpc_wire *w, const struct rpc_header *h, const struct rpc_minted *minted,
                  const void *body, int64_t deadline_ms, struct err *err)
{
    _cleanup_str_ struct str out = STR_INIT, sealed = STR_INIT;
    int rc = 0;

    w->sealed = h->token_len != 0;
    w->unread = false;
    if (w->sealed)
        rpc_seal_answers(&w->answers, &minted->answers, true);
    if (minted && (rpc_encryption() || rpc_minted_jwt(minted)) && !w->channel)
        rc = shake_hands(w, minted, deadline_ms, err);
    if (rc < 0)
        return rc;
    rpc_frame_append(&out, h, minted ? minted->token : NULL, body);
    if (!w->channel)
        return send_all(w, &out, deadline_ms, err);
    str_reserve(&sealed, rpc_channel_sealed_size(out.len));
    rpc_channel_seal(w->channel, (uint8_t *)out.data, out.len, (uint8_t *)sealed.data);
    sealed.len = rpc_channel_sealed_size(out.len);
    return send_all(w, &sealed, deadline_ms, err);
}

/* Fills the buffer to 'want' bytes; the buffer grows as bytes arrive. */
static int fill_buffer(struct rpc_wire *w, size_t want, int64_t deadline_ms, struct err *err)
{
    while (w->in.len < want) {
        size_t chunk = want - w->in.len < READ_CHUNK ? want - w->in.len : READ_CHUNK;
        ssize_t n;

        str_reserve(&w->in, chunk);
        n = w->channel ? receive_plain(w, w->in.data + w->in.len, chunk, deadline_ms, err)
                       : receive_some(w, w->in.data + w->in.len, chunk, deadline_ms, err);
        if (n == 0)
            return err_set(err, -ERR_CLOSED, "%s", err_text(ERR_CLOSED));
        if (n < 0)
            return (int)n;
        w->in.len += (size_t)n;
        w->in.data[w->in.len] = '\0';
    }
    return 0;
}

/* Receives the next frame; *body is valid until the next call. */
static int receive_frame(struct rpc_wire *w, struct rpc_header *h, const uint8_t **body,
                         int64_t deadline_ms, struct err *err)
{
    int rc;

    str_clear(&w->in);
    rc = fill_buffer(w, RPC_HEADER_SIZE, deadline_ms, err);
    if (rc == 0)
        rc = rpc_header_unpack((const uint8_t *)w->in.data, RPC_BODY_MAX, h, err);
    if (rc == 0)
        rc = fill_buffer(w, RPC_HEADER_SIZE + h->token_len + (size_t)h->body_len, deadline_ms, err);
    if (rc == 0)
        *body = (const uint8_t *)w->in.data + RPC_HEADER_SIZE + h->token_len;
    if (rc == 0)
        rc = rpc_seal_check_answer(w->sealed ? &w->answers : NULL, h, *body,
                                   w->in.data + RPC_HEADER_SIZE, err);
    return rc;
}

int rpc_wire_answer(struct rpc_wire *w, const struct rpc_header *request, struct rpc_header *h,
                    const uint8_t **body, int64_t deadline_ms, struct err *err)
{
    int rc = receive_frame(w, h, body, deadline_ms, err);

    if (rc == -ERR_CLOSED && w->unread)
        return err_set(err, -ECONNRESET, "%s", err_text(ERR_CLOSED));
    if (rc < 0)
        return rc;
    /* Replies to a refused connection, and to a frame with an invalid header, have no request id.
     */
    if ((h->flags & (RPC_FLAG_REPLY | RPC_FLAG_ERROR)) == (RPC_FLAG_REPLY | RPC_FLAG_ERROR) &&
        (h->id == request->id || h->id == 0))
        return rpc_error_unpack(*body, h->body_len, err);
    if (!(h->flags & RPC_FLAG_REPLY) || h->flags & ~(RPC_FLAG_REPLY | RPC_FLAG_MORE) ||
        h->id != request->id || h->rpc != request->rpc)
        return err_set(err, -ERR_PROTOCOL, "an answer that does not belong to the request");
    return 0;
}

int rpc_wire_exchange(struct rpc_wire *w, uint16_t rpc, const ProtobufCMessage *request,
                      const uint8_t **body, size_t *len, int64_t deadline_ms, struct err *err)
{
    struct rpc_header h = {.version = RPC_VERSION, .rpc = rpc, .id = 1}, answer;
    _cleanup_str_ struct str packed = STR_INIT;

    pb_pack(request, &packed);
    h.body_len = (uint32_t)packed.len;
    int rc = rpc_wire_send(w, &h, NULL, packed.data, deadline_ms, err);
    if (rc == 0)
        rc = rpc_wire_answer(w, &h, &answer, body, deadline_ms, err);
    if (rc == 0)
        *len = answer.body_len;
    return rc;
}
