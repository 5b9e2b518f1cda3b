/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cmd/srun/say.h"

#include <stdarg.h>
#include <unistd.h>

#include "base/path.h"
#include "base/str.h"

static int level;
static bool raw_lines;

void say_level(int verbose)
{
    level = verbose;
}

void say_raw(bool raw)
{
    raw_lines = raw;
}

static void say(const char *prefix, const char *fmt, va_list ap)
{
    struct str line = STR_INIT;

    str_puts(&line, prefix);
    str_vprintf(&line, fmt, ap);
    str_puts(&line, raw_lines ? "\r\n" : "\n");
    path_write_all(STDERR_FILENO, line.data, line.len);
    str_done(&line);
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

SAY(say_error, -1, "srun: error: ")
SAY(say_info, 0, "srun: ")
SAY(say_verbose, 1, "srun: ")
SAY(say_debug, 2, "srun: debug: ")
SAY(say_stepd_error, -1, "slurmstepd: error: ")
