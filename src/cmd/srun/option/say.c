/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/text.h"
#include "cli/opt.h"
#include "rpc/client.h"

#define QUEUE_MAX (256u << 10)

static int level;
static bool raw_lines, hurry;
static struct loop *loop; /* NULL: lines are written at once, however long stderr takes */
static struct sink *sink; /* of the first line on; NULL: none yet */
static struct sink_events sink_events;
static unsigned lost;
static char last_error[512];

static void tell_backoff(const char *why)
{
    say_verbose("%s: waiting, then asking again", why);
}

void say_level(int verbose)
{
    level = verbose;
    rpc_on_backoff(tell_backoff);
}

void say_raw(bool raw)
{
    raw_lines = raw;
}

void say_hurry(void)
{
    hurry = true;
}

static bool takes_line(void)
{
    struct pollfd to = {.fd = STDERR_FILENO, .events = POLLOUT};

    return poll(&to, 1, 0) != 0;
}

void say_from(struct loop *l, const struct sink_events *events)
{
    loop = l;
    sink_events = *events;
}

bool say_is_empty(void)
{
    return sink == NULL || hurry || sink_backlog(sink) == 0;
}

void say_forget(void)
{
    sink_free(take_ptr(sink));
}

void say_finish(void)
{
    _cleanup_str_ struct str left = STR_INIT;

    loop = NULL;
    if (sink != NULL && !hurry)
        sink_take_rest(sink, &left);
    say_forget();
    path_write_all(STDERR_FILENO, left.data, left.len);
}

/* Whoever does not read gets the first lines, and how many more there were. */
static void queue_line(const struct str *line)
{
    _cleanup_str_ struct str note = STR_INIT;

    if (sink == NULL)
        sink = sink_of_fd(loop, STDERR_FILENO, "stderr", &sink_events);
    if (sink_backlog(sink) + line->len > QUEUE_MAX) {
        lost++;
        return;
    }
    if (lost > 0) {
        str_printf(&note, "srun: error: %u messages were lost while nobody read stderr%s\n", lost,
                   raw_lines ? "\r" : "");
        sink_write(sink, note.data, note.len);
        lost = 0;
    }
    sink_write(sink, line->data, line->len);
}

static void print_line(const char *prefix, const char *fmt, va_list ap)
{
    _cleanup_str_ struct str text = STR_INIT, line = STR_INIT;

    str_vprintf(&text, fmt, ap);
    str_puts(&line, prefix);
    for (const char *s = str_cstr(&text);;) { /* lines are kept, controls within them are not */
        size_t len = strcspn(s, "\n");

        text_escape_n(s, len, &line);
        str_puts(&line, raw_lines ? "\r\n" : "\n");
        if (!s[len] || !s[len + 1])
            break;
        s += len + 1;
    }
    if (loop != NULL)
        queue_line(&line);
    else if (!hurry || takes_line())
        path_write_all(STDERR_FILENO, line.data, line.len);
}

#define SAY(name, at, prefix)                                                                      \
    void name(const char *fmt, ...)                                                                \
    {                                                                                              \
        va_list ap;                                                                                \
                                                                                                   \
        if (level < (at))                                                                          \
            return;                                                                                \
        va_start(ap, fmt);                                                                         \
        print_line(prefix, fmt, ap);                                                               \
        va_end(ap);                                                                                \
    }

SAY(say_info, 0, "srun: ")
SAY(say_verbose, 1, "srun: ")
SAY(say_debug, 2, "srun: debug:  ")
SAY(say_stepd_error, -1, "slurmstepd: error: ")

void say_error(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(last_error, sizeof(last_error), fmt, ap);
    va_end(ap);
    va_start(ap, fmt);
    print_line("srun: error: ", fmt, ap);
    va_end(ap);
}

const char *say_last_error(void)
{
    return last_error;
}

void say_exit_with_status(int status, const char *text)
{
    say_error("%s", text);
    exit(opt_exit_status("SLURM_EXIT_ERROR", status));
}

void say_exit_with_error(const char *text)
{
    say_exit_with_status(1, text);
}

void say_exit_with_bad_value(const char *text)
{
    say_exit_with_status(OPT_STATUS_BAD_VALUE, text);
}
