/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/stream_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/lines.h"
#include "base/mem.h"
#include "slurmstepd/stream/journal.h"
#include "slurmstepd/stream/stream.h"

struct stream_file {
    struct stream *stream;
    struct lines *lines;
    struct str left;       /* labelled bytes that are not written yet */
    struct loop_fd *watch; /* while the file accepts no bytes */
    int fd;                /* -1: not open yet, or failed */
    bool is_set, is_broken, has_ended;
};

static void on_writable(void *ctx, int fd, unsigned ready);

/* A regular file accepts all bytes at once. */
static void flush_file(struct stream_file *f)
{
    size_t done = 0;

    while (done < f->left.len && !f->is_broken) {
        ssize_t n = write(f->fd, f->left.data + done, f->left.len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) {
            f->is_broken = true;
            journal_error(f->stream->step, "step %s, task %u: standard %s cannot be written: %s",
                          f->stream->step->name, f->stream->task,
                          f->stream->number == 1 ? "output" : "error", strerror(errno));
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (f->is_broken)
        str_clear(&f->left);
    else
        str_consume(&f->left, done);
    if (!f->left.len && f->watch)
        loop_fd_free(take_ptr(f->watch));
    else if (f->left.len && !f->watch)
        f->watch = loop_fd_new(f->stream->step->loop, f->fd, LOOP_WRITE, on_writable, f);
}

static void on_writable(void *ctx, int fd, unsigned ready)
{
    struct stream_file *f = ctx;

    flush_file(f);
    stream_pump(f->stream);
    if (stream_drained(f->stream))
        f->stream->step->life->check(f->stream->step);
}

static void on_lines(void *ctx, const void *data, size_t len)
{
    struct stream_file *f = ctx;

    str_append(&f->left, data, len);
    flush_file(f);
}

struct stream_file *stream_file_new(struct stream *s, uint32_t tasks)
{
    struct stream_file *f = mem_new(struct stream_file);

    *f = (struct stream_file){.stream = s, .fd = -1};
    f->lines = lines_new(&(struct lines_options){
        .tasks = tasks, .label = true, .single = true, .task = s->task, .out = on_lines, .ctx = f});
    return f;
}

void stream_file_free(struct stream_file *f)
{
    if (!f)
        return;
    if (f->watch)
        loop_fd_free(take_ptr(f->watch));
    if (f->fd >= 0)
        close(take_fd(&f->fd));
    lines_free(f->lines);
    str_done(&f->left);
    free(f);
}

void stream_file_set(struct stream_file *f, int fd)
{
    f->is_set = true;
    f->fd = fd;
    f->is_broken = fd < 0;
    if (fd >= 0)
        fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    stream_pump(f->stream);
}

bool stream_file_is_set(const struct stream_file *f)
{
    return f->is_set;
}

bool stream_file_has_room(const struct stream_file *f)
{
    return f->is_set && !f->left.len;
}

void stream_file_write(struct stream_file *f, const void *data, size_t len)
{
    lines_add(f->lines, f->stream->task, data, len);
}

bool stream_file_end(struct stream_file *f)
{
    if (f->is_set && !f->has_ended) {
        f->has_ended = true;
        lines_end(f->lines, f->stream->task);
    }
    return f->is_set && !f->left.len;
}

size_t stream_file_left(const struct stream_file *f)
{
    return f->left.len;
}
