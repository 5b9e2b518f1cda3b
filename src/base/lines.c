/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/lines.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

struct lines {
    struct lines_options options;
    uint32_t first, count; /* the range of tasks with stored lines */
    int width;             /* digits of the largest task number */
    struct str *pending;   /* per task: its incomplete line */
    struct str out;        /* output of the present call */
    uint32_t open_task;    /* direct: the task whose incomplete line ends the output */
    bool open;             /* direct: the output does not end with a newline */
    bool *continued;       /* per task: a part of its long line has been passed on */
};

#define LABEL_SIZE 16    /* "4294967295: " */
#define LABEL_CHUNK 4096 /* bytes labelled at a time */

struct lines *lines_new(const struct lines_options *options)
{
    struct lines *m = mem_new(struct lines);

    m->options = *options;
    m->width = 1;
    for (uint32_t n = options->tasks > 0 ? options->tasks - 1 : 0; n >= 10; n /= 10)
        m->width++;
    m->first = options->single ? options->task : 0;
    m->count = options->single ? 1 : options->tasks;
    m->pending = mem_new_array(struct str, m->count);
    m->continued = mem_new_array(bool, m->count);
    return m;
}

void lines_free(struct lines *m)
{
    if (m == NULL)
        return;
    for (uint32_t i = 0; i < m->count; i++)
        str_done(&m->pending[i]);
    free(m->pending);
    free(m->continued);
    str_done(&m->out);
    free(m);
}

static void send_out(struct lines *m)
{
    if (m->out.len > 0)
        m->options.out(m->options.ctx, m->out.data, m->out.len);
    str_clear(&m->out);
}

/* Adds a label before each line, except if it continues a line ('within'); returns whether the
 * last line is incomplete. Works byte by byte, since most lines are short and function calls per
 * line would take longer. */
static void put_labelled(struct lines *m, uint32_t task, const char *data, size_t len, bool *within)
{
    char label[LABEL_SIZE];
    size_t width = (size_t)snprintf(label, sizeof(label), "%*u: ", m->width, task);
    bool open = *within;

    while (len > 0) {
        size_t some = len < LABEL_CHUNK ? len : LABEL_CHUNK;
        const char *end = data + some;

        str_reserve(&m->out, some * (width + 1)); /* every byte may be a line */
        char *to = m->out.data + m->out.len;
        while (data < end) {
            if (!open)
                to = mempcpy(to, label, width);
            do {
                open = *data != '\n';
                *to++ = *data++;
            } while (open && data < end);
        }
        *to = '\0';
        m->out.len = (size_t)(to - m->out.data);
        len -= some;
    }
    *within = open;
}

/* Passes on every piece at once; adds a label at each start of a line, and where the task changes
   inside a line. */
static void add_direct(struct lines *m, uint32_t task, const char *data, size_t len)
{
    if (!m->options.label) {
        m->options.out(m->options.ctx, data, len);
        return;
    }
    if (m->open && m->open_task != task) {
        str_putc(&m->out, '\n');
        m->open = false;
    }
    put_labelled(m, task, data, len, &m->open);
    m->open_task = task;
    send_out(m);
}

/* The bytes end with a newline, or are a part of a line that is too long. */
static void put_lines(struct lines *m, uint32_t task, const char *data, size_t len)
{
    if (m->options.label)
        put_labelled(m, task, data, len, &m->continued[task - m->first]);
    else
        str_append(&m->out, data, len);
}

void lines_add(struct lines *m, uint32_t task, const void *bytes, size_t len)
{
    const char *data = bytes;
    const char *last;
    struct str *pending;
    size_t whole;

    if (task - m->first >= m->count || len == 0)
        return;
    if (m->options.direct) {
        add_direct(m, task, data, len);
        return;
    }
    pending = &m->pending[task - m->first];
    last = memrchr(data, '\n', len);
    whole = last != NULL ? (size_t)(last - data) + 1 : 0;
    if (whole > 0) {
        if (pending->len > 0) {
            const char *first = memchr(data, '\n', len);
            size_t rest = (size_t)(first - data) + 1;

            str_append(pending, data, rest);
            put_lines(m, task, pending->data, pending->len);
            str_clear(pending);
            data += rest;
            len -= rest;
            whole -= rest;
        }
        put_lines(m, task, data, whole);
    }
    str_append(pending, data + whole, len - whole);
    if (pending->len >= LINES_PENDING_MAX) {
        put_lines(m, task, pending->data, pending->len);
        str_clear(pending);
    }
    send_out(m);
}

void lines_end(struct lines *m, uint32_t task)
{
    uint32_t i = task - m->first;

    if (i >= m->count)
        return;
    if (m->options.direct) {
        if (m->options.label && m->open && m->open_task == task) {
            str_putc(&m->out, '\n');
            m->open = false;
        }
    } else if (m->pending[i].len > 0 || m->continued[i]) {
        put_lines(m, task, m->pending[i].data, m->pending[i].len);
        if (m->options.label)
            str_putc(&m->out, '\n');
        m->continued[i] = false;
        str_done(&m->pending[i]);
    }
    send_out(m);
}
