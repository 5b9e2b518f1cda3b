/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/attempt/events.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/crc32c.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/vec.h"

#define FILE_MAX (256u << 20)
/* Bytes; a longer file is rewritten if half of it is acknowledged. */
#define COMPACT_SIZE (4u << 20)

static const char magic[8] = "SLUIEVT1";

struct header { /* Little-endian, as are the records; a record is length, checksum and bytes. */
    char magic[8];
    uint64_t first_seq; /* records with smaller numbers are acknowledged */
    uint32_t crc;
    uint32_t zero;
};

struct record {
    uint32_t len, crc;
};

struct events {
    char *path;
    int fd;
    VEC(Pb__NodeEvent *) queue;
    VEC(Pb__NodeEvent *) report;
    size_t flushed, sent; /* number of events of the queue, from its front */
    uint64_t next_seq;
    struct str unwritten;
    size_t file_size, live; /* bytes of the file, and of the records still queued */
};

static void header_make(uint64_t first_seq, struct header *h)
{
    memset(h, 0, sizeof(*h));
    memcpy(h->magic, magic, sizeof(magic));
    h->first_seq = htole64(first_seq);
    h->crc = htole32(crc32c(0, h, offsetof(struct header, crc)));
}

static void append_record(const Pb__NodeEvent *event, struct str *out)
{
    size_t at = out->len;
    struct record r = {0};

    str_append(out, &r, sizeof(r));
    pb_pack(&event->base, out);
    r.len = htole32((uint32_t)(out->len - at - sizeof(r)));
    r.crc = htole32(crc32c(0, out->data + at + sizeof(r), out->len - at - sizeof(r)));
    memcpy(out->data + at, &r, sizeof(r));
}

/* Reads records up to the first incomplete one; returns the length of the valid part. */
static size_t parse_event_file(struct events *e, const struct str *text, uint64_t first_seq)
{
    size_t at = sizeof(struct header);

    while (text->len - at >= sizeof(struct record)) {
        const uint8_t *data = (const uint8_t *)text->data + at + sizeof(struct record);
        struct record r;
        Pb__NodeEvent *event;

        memcpy(&r, text->data + at, sizeof(r));
        r.len = le32toh(r.len);
        if (r.len > text->len - at - sizeof(r) || crc32c(0, data, r.len) != le32toh(r.crc))
            break;
        event = pb_unpack(&pb__node_event__descriptor, data, r.len);
        if (!event || (event->seq >= first_seq && event->seq < e->next_seq)) {
            if (event)
                pb__node_event__free_unpacked(event, NULL);
            break;
        }
        if (event->seq >= first_seq) {
            vec_push(&e->queue, event);
            e->next_seq = event->seq + 1;
        } else {
            pb__node_event__free_unpacked(event, NULL);
        }
        at += sizeof(r) + r.len;
    }
    return at;
}

static size_t record_size(const Pb__NodeEvent *event)
{
    return sizeof(struct record) + pb__node_event__get_packed_size(event);
}

static int load_events(struct events *e, uint64_t first_seq, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct header h, good;
    int rc = path_read_file(e->path, FILE_MAX, &text, err);

    if (rc)
        return rc;
    e->next_seq = first_seq;
    if (text.len < sizeof(h)) {
        header_make(first_seq, &h);
        e->file_size = sizeof(h);
        if (ftruncate(e->fd, 0) || pwrite(e->fd, &h, sizeof(h), 0) != sizeof(h))
            return err_set(err, -errno, "cannot write %s: %s", e->path, strerror(errno));
        return 0;
    }
    memcpy(&h, text.data, sizeof(h));
    header_make(le64toh(h.first_seq), &good);
    if (memcmp(&h, &good, sizeof(h)) != 0)
        return err_set(err, -ERR_STORE_DAMAGED,
                       "%s is damaged: remove it, with the other files of this spool directory",
                       e->path);
    e->next_seq = le64toh(h.first_seq);
    e->file_size = parse_event_file(e, &text, e->next_seq);
    e->flushed = e->queue.len;
    vec_foreach (&e->queue, p)
        e->live += record_size(*p);
    if (ftruncate(e->fd, (off_t)e->file_size))
        return err_set(err, -errno, "cannot shorten %s: %s", e->path, strerror(errno));
    return 0;
}

int events_open(const char *path, uint64_t first_seq, struct events **out, struct err *err)
{
    struct events *e = mem_new(struct events);
    int rc;

    e->path = mem_strdup(path);
    e->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    rc = e->fd < 0 ? err_set(err, -errno, "cannot open %s: %s", path, strerror(errno))
                   : load_events(e, first_seq, err);
    if (rc) {
        events_close(e);
        return rc;
    }
    *out = e;
    return 0;
}

void events_close(struct events *e)
{
    if (!e)
        return;
    vec_foreach (&e->queue, p)
        pb__node_event__free_unpacked(*p, NULL);
    vec_done(&e->queue);
    vec_done(&e->report);
    str_done(&e->unwritten);
    if (e->fd >= 0)
        close(e->fd);
    free(e->path);
    free(e);
}

void events_push(struct events *e, const Pb__NodeEvent *event)
{
    _cleanup_str_ struct str bytes = STR_INIT;
    Pb__NodeEvent *copy;

    pb_pack(&event->base, &bytes);
    copy = pb_unpack(&pb__node_event__descriptor, bytes.data, bytes.len);
    copy->seq = e->next_seq++;
    vec_push(&e->queue, copy);
    append_record(copy, &e->unwritten);
    e->live += record_size(copy);
}

int events_flush(struct events *e, struct err *err)
{
    while (e->unwritten.len) {
        ssize_t n = pwrite(e->fd, e->unwritten.data, e->unwritten.len, (off_t)e->file_size);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_set(err, -errno, "cannot write %s: %s", e->path, strerror(errno));
        e->file_size += (size_t)n;
        str_consume(&e->unwritten, (size_t)n);
    }
    e->flushed = e->queue.len;
    return 0;
}

size_t events_take_unsent(struct events *e, Pb__NodeEvent ***list)
{
    assert(e->sent <= e->flushed && e->flushed <= e->queue.len); /* on disk before it is sent */
    vec_clear(&e->report);
    while (e->sent < e->flushed && e->report.len < EVENTS_REPORT_MAX)
        vec_push(&e->report, e->queue.data[e->sent++]);
    *list = e->report.data;
    return e->report.len;
}

void events_resend(struct events *e)
{
    e->sent = 0;
}

/* Rewrites the file with the remaining events. A failure leaves the old file, which is only longer.
 * A partly written record at its end also keeps the old file, because the rest of the record must
 * follow there. */
static void compact_file(struct events *e)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct header h;
    int fd;

    if (e->unwritten.len)
        return;
    header_make(e->queue.len ? e->queue.data[0]->seq : e->next_seq, &h);
    if (!e->queue.len) {
        if (pwrite(e->fd, &h, sizeof(h), 0) == sizeof(h) && !ftruncate(e->fd, sizeof(h)))
            e->file_size = sizeof(h);
        return;
    }
    str_append(&text, &h, sizeof(h));
    for (size_t i = 0; i < e->flushed; i++)
        append_record(e->queue.data[i], &text);
    fd = path_write_open(e->path, text.data, text.len, 0600, NULL);
    if (fd < 0)
        return;
    close(e->fd);
    e->fd = fd;
    e->file_size = text.len;
}

void events_ack(struct events *e, uint64_t seq, events_fn *forget, void *ctx)
{
    size_t count = 0;

    while (count < e->flushed && e->queue.data[count]->seq <= seq)
        count++;
    for (size_t i = 0; i < count; i++) {
        forget(ctx, e->queue.data[i]);
        e->live -= record_size(e->queue.data[i]);
        pb__node_event__free_unpacked(e->queue.data[i], NULL);
    }
    if (!count)
        return;
    memmove(e->queue.data, e->queue.data + count,
            (e->queue.len - count) * sizeof(e->queue.data[0]));
    e->queue.len -= count;
    e->flushed -= count;
    e->sent -= count < e->sent ? count : e->sent;
    assert(e->queue.len || !e->live);
    if ((!e->queue.len && e->file_size > sizeof(struct header)) ||
        (e->file_size > COMPACT_SIZE && e->file_size / 2 > e->live))
        compact_file(e);
}

void events_each(const struct events *e, events_fn *fn, void *ctx)
{
    for (size_t i = 0; i < e->queue.len; i++)
        fn(ctx, e->queue.data[i]);
}
