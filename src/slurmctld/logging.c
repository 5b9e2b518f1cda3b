/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "slurmctld"
#include <string.h>

#include "slurmctld/ctld.h"

void logging_open(struct ctld *c, const struct conf *conf, bool starting)
{
    const struct ctld_options *o = c->options;
    const char *file = o->log_file ? o->log_file : conf->slurmctld_log_file;
    unsigned level = c->debug_given ? c->debug : conf->slurmctld_debug + o->verbose;
    if (level > LOG_LVL_DEBUG3)
        level = LOG_LVL_DEBUG3;
    struct log_options options = {
        .program = "slurmctld",
        .file = file,
        .file_level = (enum log_level)level,
        .time = log_parse_time(conf->log_time_format),
        /* Until it lets go of the terminal a daemon tells errors there. */
        .stderr_level = o->foreground ? (enum log_level)level
                        : starting    ? (o->verbose ? (enum log_level)level : LOG_LVL_ERROR)
                                      : LOG_LVL_QUIET,
        .syslog_level = log_syslog_level(conf->slurmctld_syslog_debug, file, o->foreground,
                                         (enum log_level)level),
    };
    int rc = log_open(&options);
    if (rc == 0)
        return;
    options.file = NULL;
    options.syslog_level =
        log_syslog_level(conf->slurmctld_syslog_debug, false, o->foreground, (enum log_level)level);
    if (starting)
        log_open(&options);
    log_error(
        "cannot open %s '%s': %s: logging to %s; create its directory, writable for SlurmUser "
        "%s, or set another file",
        o->log_file ? "the log file" : "SlurmctldLogFile", file, strerror(-rc),
        !starting       ? "the former file"
        : o->foreground ? "standard error"
                        : "syslog",
        conf->slurm_user);
}
