/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/say.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"
#include "base/text.h"
#include "rpc/client.h"

static int level;
static bool raw_lines, hurry;
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

static void say(const char *prefix, const char *fmt, va_list ap)
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
    if (!hurry || takes_line())
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
        say(prefix, fmt, ap);                                                                      \
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
    say("srun: error: ", fmt, ap);
    va_end(ap);
}

const char *say_last_error(void)
{
    return last_error;
}
