/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/option/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "cli/opt.h"
#include "launch/messages.h"
#include "rpc/client.h"

static int level;
static bool raw_lines;
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

static void print_line(const char *prefix, const char *fmt, va_list ap)
{
    _cleanup_str_ struct str text = STR_INIT, line = STR_INIT;
    const char *end = raw_lines ? "\r\n" : "\n";

    str_vprintf(&text, fmt, ap);
    str_puts(&line, prefix);
    for (const char *s = str_cstr(&text);;) { /* lines are kept, controls within them are not */
        size_t len = strcspn(s, "\n");

        text_escape_n(s, len, &line);
        str_puts(&line, end);
        if (!s[len] || !s[len + 1])
            break;
        s += len + 1;
    }
    messages_write(&line, end);
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
