/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/logfile.h"

#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"

static enum log_level find_louder_level(uint32_t level, unsigned verbose)
{
    unsigned sum = level + verbose;

    return sum > LOG_LVL_DEBUG3 ? LOG_LVL_DEBUG3 : (enum log_level)sum;
}

enum log_level logfile_level(const struct slurmd *d)
{
    return d->debug_given ? (enum log_level)d->debug
                          : find_louder_level(d->conf->slurmd_debug, d->verbose);
}

int logfile_open(struct slurmd *d, struct err *err)
{
    enum log_level level = logfile_level(d);
    const char *named = d->log_file_given ? d->log_file_given : d->conf->slurmd_log_file;
    _cleanup_free_ char *file = named ? path_expand(named, d->host, d->name) : NULL;
    struct log_options options = {.program = "slurmd",
                                  .file = file,
                                  .file_level = level,
                                  .time = log_parse_time(d->conf->log_time_format)};
    int rc;

    options.stderr_level = d->foreground ? level : d->terminal ? LOG_LVL_ERROR : LOG_LVL_QUIET;
    options.syslog_level =
        log_syslog_level(d->conf->slurmd_syslog_debug, file, d->foreground, level);
    rc = log_open(&options);
    if (rc)
        return err_set(err, rc,
                       "cannot open %s '%s': %s: create its directory, writable for the user of "
                       "slurmd, or set another file",
                       d->log_file_given ? "the log file" : "SlurmdLogFile", file, strerror(-rc));
    free(d->log_file);
    d->log_file = take_ptr(file);
    return 0;
}

void logfile_detach(struct slurmd *d)
{
    d->terminal = false;
    log_set_stderr(LOG_LVL_QUIET);
}
