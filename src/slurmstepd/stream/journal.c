/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/stream/journal.h"

#include <stdarg.h>

#include "slurmstepd/stream/say.h"

#define LOG_ROOM "slurmstepd"
#include "base/log.h"

void journal_error(const struct step *step, const char *fmt, ...)
{
    struct log_options options = {.program = "slurmstepd",
                                  .file = step->log_file,
                                  .file_level = LOG_LVL_ERROR,
                                  .syslog_level = step->log_file ? LOG_LVL_QUIET : LOG_LVL_ERROR};
    _cleanup_str_ struct str line = STR_INIT;
    va_list ap;

    if (log_open(&options))
        return;
    va_start(ap, fmt);
    str_vprintf(&line, fmt, ap);
    va_end(ap);
    log_error("%s", str_cstr(&line));
    log_close();
}

bool journal_tells(const struct step *step, enum log_level level)
{
    return level <= step->debug_level;
}

void journal_tell(struct step *step, enum log_level level, const char *fmt, ...)
{
    const char *kind = level <= LOG_LVL_ERROR ? "error: " : level >= LOG_LVL_DEBUG ? "debug: " : "";
    _cleanup_str_ struct str line = STR_INIT;
    va_list ap;

    if (!journal_tells(step, level))
        return;
    str_printf(&line, "slurmstepd: %s%s: ", kind, step->node);
    va_start(ap, fmt);
    str_vprintf(&line, fmt, ap);
    va_end(ap);
    str_putc(&line, '\n');
    if (step_is_starting(step))
        str_puts(&step->told, str_cstr(&line));
    else
        say_to_step(step, str_cstr(&line));
}

void journal_begin(struct step *step)
{
    if (step->told.len)
        say_to_step(step, str_cstr(&step->told));
    str_done(&step->told);
}
