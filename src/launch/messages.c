/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launch/messages.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"

#define QUEUE_MAX (256u << 10)

static struct loop *loop; /* NULL: lines are written at once, however long stderr takes */
static const char *program;
static struct sink *sink; /* of the first line on; NULL: none yet */
static struct sink_events sink_events;
static bool hurry;
static unsigned lost;
static struct str first; /* lines for the begin of the queue */

void messages_hurry(void)
{
    hurry = true;
}

bool messages_are_empty(void)
{
    return sink == NULL || hurry || sink_backlog(sink) == 0;
}

void messages_forget(void)
{
    sink_free(take_ptr(sink));
}

static bool stderr_takes_bytes(int wait_ms)
{
    struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};

    int count;

    do
        count = poll(&to, 1, wait_ms);
    while (count < 0 && errno == EINTR);
    return count != 0;
}

/* A reader that falls behind gets the first lines, and the number of the lines that were dropped.
 */
static void queue_lines(const struct str *lines, const char *end)
{
    _cleanup_str_ struct str note = STR_INIT;

    if (sink == NULL)
        sink = sink_of_fd(loop, STDERR_FILENO, "stderr", &sink_events);
    if (sink_backlog(sink) + lines->len > QUEUE_MAX) {
        lost++;
        return;
    }
    if (lost > 0) {
        str_printf(&note, "%s: error: %u messages were lost while nobody read stderr%s", program,
                   lost, end);
        sink_write(sink, note.data, note.len);
        lost = 0;
    }
    sink_write(sink, lines->data, lines->len);
}

void messages_queue(struct loop *l, const char *name, const struct sink_events *events)
{
    loop = l;
    program = name;
    sink_events = *events;
    if (first.len > 0)
        queue_lines(&first, "\n");
    str_done(&first);
}

static void write_first_lines(void)
{
    path_write_all(STDERR_FILENO, first.data, first.len);
    str_done(&first);
}

void messages_write(const struct str *lines, const char *end)
{
    if (first.len > 0)
        write_first_lines();
    if (loop != NULL)
        queue_lines(lines, end);
    else if (!hurry || stderr_takes_bytes(0))
        path_write_all(STDERR_FILENO, lines->data, lines->len);
}

/* As much at a time as a pipe that takes bytes takes without blocking. Returns the number of bytes
 * that were written. */
static size_t write_within(const struct str *lines, int64_t wait_ms)
{
    int64_t end_ms = loop_mono_ms() + wait_ms;
    size_t done = 0;

    while (done < lines->len) {
        size_t len = lines->len - done < PIPE_BUF ? lines->len - done : PIPE_BUF;
        int64_t left_ms = end_ms - loop_mono_ms();

        if (!stderr_takes_bytes(left_ms > 0 ? (int)left_ms : 0) ||
            path_write_all(STDERR_FILENO, lines->data + done, len) < 0)
            break;
        done += len;
    }
    return done;
}

void messages_write_within(const struct str *lines, int64_t wait_ms)
{
    write_within(lines, wait_ms);
}

void messages_write_first(const struct str *lines)
{
    size_t done = write_within(lines, 0);

    if (done == lines->len)
        return;
    if (first.len == 0)
        atexit(write_first_lines);
    str_append(&first, lines->data + done, lines->len - done);
}

void messages_finish(int64_t wait_ms)
{
    _cleanup_str_ struct str rest = STR_INIT;

    loop = NULL;
    if (sink != NULL && !hurry)
        sink_take_rest(sink, &rest);
    messages_forget();
    if (wait_ms < 0)
        path_write_all(STDERR_FILENO, rest.data, rest.len);
    else
        messages_write_within(&rest, wait_ms);
}
