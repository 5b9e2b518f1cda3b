/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmstepd/journal.h"

#include <stdarg.h>

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
