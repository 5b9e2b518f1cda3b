/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "slurmstepd/stream/srun.h"
#include "slurmstepd/stream/stream_file.h"
#include "slurmstepd/stream/watch.h"

#define EVERY_TASK 0xffffffffu
#define INPUT_HELD_MAX (1u << 20) /* bytes held per task; then srun is asked to pause */
/* Milliseconds between reads from a paused srun, so that its signals get through. */
#define INPUT_TRICKLE_MS 500

static void on_readable(void *ctx, int fd, unsigned ready);

static void set_nonblocking(int fd)
{
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void stream_open(struct stream *s, struct task *t, uint32_t number, int fd)
{
    s->step = t->step;
    s->task = t->id;
    s->local = t->local;
    s->number = number;
    s->fd = fd;
    s->ended = false;
    set_nonblocking(fd);
    s->watch = loop_fd_new(s->step->loop, fd, LOOP_READ, on_readable, s);
}

static bool has_stream_room(const struct stream *s)
{
    return s->file ? stream_file_has_room(s->file) : srun_has_room(s->step);
}

static void send_data(struct stream *s, const void *data, size_t len)
{
    if (s->file)
        stream_file_write(s->file, data, len);
    else
        srun_send_data(s->step, s->task, s->number, data, len);
}

/* Sends end of file; false while the file has not accepted all earlier bytes. */
static bool send_end(struct stream *s)
{
    if (s->file)
        return stream_file_end(s->file);
    srun_send_data(s->step, s->task, s->number, NULL, 0);
    return true;
}

static void close_fd(struct stream *s)
{
    if (s->watch)
        loop_fd_free(take_ptr(s->watch));
    if (s->fd >= 0)
        close(take_fd(&s->fd));
}

/* Passes on held bytes as far as there is space, then end of file. */
static void forward_data(struct stream *s)
{
    size_t done = 0;

    while (done < s->held.len && has_stream_room(s)) {
        size_t part = s->held.len - done;

        if (part > STREAM_CHUNK)
            part = STREAM_CHUNK;
        send_data(s, s->held.data + done, part);
        done += part;
    }
    if (done == s->held.len)
        str_done(&s->held);
    else
        str_consume(&s->held, done);
    if (s->fd < 0 && !s->held.len && !s->ended && send_end(s)) {
        s->ended = true;
        watch_data(s, NULL, 0);
    }
}

/* Lets the kernel hold what srun does not read: a pipe is enlarged when bytes wait in it, so that
 * this process needs no memory. Returns false if that is impossible, or for a terminal. */
static bool is_deep(struct stream *s)
{
    if (!s->deep && !s->shallow)
        s->deep = fcntl(s->fd, F_SETPIPE_SZ, STREAM_HELD_MAX) >= (int)STREAM_HELD_MAX;
    s->shallow = !s->deep;
    return s->deep;
}

static bool is_full(struct stream *s)
{
    return s->held.len >= STREAM_HELD_MAX || (!has_stream_room(s) && is_deep(s));
}

/* Reads once. Returns false at end of file or if nothing is available. */
static bool read_stream_once(struct stream *s)
{
    char chunk[STREAM_CHUNK];
    size_t want = s->cut && s->left < sizeof(chunk) ? s->left : sizeof(chunk);
    ssize_t n;

    n = want ? read(s->fd, chunk, want) : 0;
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && !s->cut)))
        return false;
    if (n <= 0) { /* a terminal whose last user has gone returns EIO */
        close_fd(s);
        loop_child_look(s->step->loop); /* so that both ends are sent to srun in one packet */
        forward_data(s);
        return false;
    }
    s->left -= s->cut ? (size_t)n : 0;
    watch_data(s, chunk, (size_t)n);
    if (!s->held.len && has_stream_room(s))
        send_data(s, chunk, (size_t)n);
    else
        str_append(&s->held, chunk, (size_t)n);
    if (s->cut && !s->left)
        close_fd(s);
    forward_data(s);
    return s->fd >= 0;
}

/* The same, but limited by the space in srun's connection. */
static bool read_stream(struct stream *s)
{
    if (!is_full(s))
        return read_stream_once(s);
    if (s->watch)
        loop_fd_free(take_ptr(s->watch));
    return false;
}

static void on_readable(void *ctx, int fd, unsigned ready)
{
    struct stream *s = ctx;

    read_stream(s);
    if (stream_drained(s))
        s->step->life->check(s->step);
}

void stream_pump(struct stream *s)
{
    if (s->ended)
        return;
    forward_data(s);
    if (s->fd >= 0 && !s->watch && !is_full(s))
        s->watch = loop_fd_new(s->step->loop, s->fd, LOOP_READ, on_readable, s);
}

/* Returns the number of bytes written and not yet read: never too few; too many for a terminal,
   which does not report it. */
static size_t count_waiting(const struct stream *s)
{
    int bytes = 0;

    if (s->fd >= 0 && isatty(s->fd))
        return STREAM_HELD_MAX;
    return s->fd >= 0 && !ioctl(s->fd, FIONREAD, &bytes) && bytes > 0 ? (size_t)bytes : 0;
}

/* Another process that is not part of the step may have the pipe, and write without end. */
void stream_cut(struct stream *s)
{
    s->cut = true;
    s->left = count_waiting(s);
    if (!s->left)
        close_fd(s);
    while (s->fd >= 0 && read_stream(s))
        ;
    stream_pump(s);
}

void stream_say(struct stream *s, const char *line)
{
    for (size_t left = count_waiting(s); left && s->fd >= 0 && read_stream_once(s);)
        left -= left < STREAM_CHUNK ? left : STREAM_CHUNK;
    watch_data(s, line, strlen(line));
    if (s->held.len || (s->file && !has_stream_room(s))) {
        str_puts(&s->held, line);
        forward_data(s);
    } else {
        send_data(s, line, strlen(line));
    }
}

size_t stream_left(const struct stream *s)
{
    return s->held.len + (s->file ? stream_file_left(s->file) : 0) +
           (s->fd < 0 ? 0
            : s->cut  ? s->left
                      : count_waiting(s));
}

bool stream_drained(const struct stream *s)
{
    return s->ended;
}

void stream_done(struct stream *s)
{
    close_fd(s);
    str_done(&s->held);
    tail_done(&s->tail);
    stream_file_free(take_ptr(s->file));
    s->ended = true;
}

static bool inputs_are_full(const struct step *step, size_t limit)
{
    for (size_t i = 0; i < step->task_count; i++)
        if (step->tasks[i].in.held.len > limit)
            return true;
    return false;
}

static void pause_input(struct step *step, bool paused)
{
    step->input_paused = paused;
    if (step->srun)
        rpc_session_pause(step->srun, paused);
    watch_pause_input(step, paused);
}

static void on_trickle(void *ctx)
{
    struct step *step = ctx;

    if (step->input_paused)
        pause_input(step, false); /* the next message decides again */
}

/* Pauses and resumes srun and watchers according to the task that holds the most input. */
static void balance_pipe(struct step *step)
{
    bool full = inputs_are_full(step, step->input_paused ? INPUT_HELD_MAX / 4 : INPUT_HELD_MAX);

    if (full == step->input_paused)
        return;
    pause_input(step, full);
    if (!full)
        return;
    if (!step->input_timer)
        step->input_timer = loop_timer_new(step->loop, on_trickle, step);
    loop_timer_set(step->input_timer, INPUT_TRICKLE_MS);
}

void stream_input_done(struct task *t)
{
    if (t->in.watch)
        loop_fd_free(take_ptr(t->in.watch));
    if (t->in.fd >= 0)
        close(take_fd(&t->in.fd));
    str_done(&t->in.held);
    balance_pipe(t->step);
}

static void on_writable(void *ctx, int fd, unsigned ready)
{
    struct task *t = ctx;
    struct input *in = &t->in;
    size_t done = 0;

    while (done < in->held.len) {
        ssize_t n = write(in->fd, in->held.data + done, in->held.len - done);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n < 0) { /* the task has closed its input */
            stream_input_done(t);
            return;
        }
        done += (size_t)n;
    }
    str_consume(&in->held, done);
    if (!in->held.len && in->eof) {
        stream_input_done(t);
        return;
    }
    if (!in->held.len && in->watch)
        loop_fd_free(take_ptr(in->watch));
    else if (in->held.len && !in->watch)
        in->watch = loop_fd_new(t->step->loop, in->fd, LOOP_WRITE, on_writable, t);
    balance_pipe(t->step);
}

void stream_input_open(struct task *t, int fd)
{
    t->in.fd = fd;
    set_nonblocking(fd);
}

void stream_input(struct task *t, const void *data, size_t len)
{
    static const char end_of_file = 4; /* Ctrl-D */

    if (t->in.fd < 0 || t->in.eof)
        return;
    if (len)
        str_append(&t->in.held, data, len);
    else if (t->is_pty)
        str_append(&t->in.held, &end_of_file, 1);
    t->in.eof = !len;
    on_writable(t, t->in.fd, LOOP_WRITE);
}

void stream_take_input(struct step *step, const Pb__IoData *m)
{
    const void *data = m->has_data ? m->data.data : NULL;
    size_t len = m->has_data ? m->data.len : 0;

    if (m->stream != 0)
        return;
    for (size_t i = 0; i < step->task_count; i++)
        if (m->task == EVERY_TASK || m->task == step->tasks[i].id)
            stream_input(&step->tasks[i], data, len);
}

void stream_resize(struct step *step, const Pb__WindowSize *m)
{
    struct winsize size = {.ws_row = (unsigned short)m->rows, .ws_col = (unsigned short)m->columns};

    for (size_t i = 0; i < step->task_count; i++)
        if (step->tasks[i].is_pty && step->tasks[i].out.fd >= 0)
            ioctl(step->tasks[i].out.fd, TIOCSWINSZ, &size);
}

bool stream_is_stuck(struct drain *d, size_t left, int64_t now_ms, int64_t patience_ms)
{
    if (left != d->left) {
        d->left = left;
        d->moved_at_ms = now_ms;
    }
    return now_ms - d->moved_at_ms >= patience_ms;
}
