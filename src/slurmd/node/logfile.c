/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/logfile.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "conf/conf_words.h"
#include "proto/ctl.pb-c.h"
#include "rpc/reply.h"
#include "rpc/rpc.h"
#include "slurmd/node/slurmd.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

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

void logfile_set_level(struct slurmd *d, uint32_t level)
{
    d->debug_given = true;
    d->debug = find_louder_level(level, d->verbose);
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

/* Returns the flags of slurm.conf, or of a later 'scontrol setdebugflags nodes='. */
static uint64_t debug_flags(const struct slurmd *d)
{
    return d->debug_flags_given ? d->debug_flags : d->conf->debug;
}

bool logfile_wants(const struct slurmd *d, enum conf_debug flag)
{
    return debug_flags(d) >> flag & 1;
}

void logfile_log_debug(enum conf_debug flag, const char *fmt, ...)
{
    _cleanup_str_ struct str name = STR_INIT;
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    conf_debug_format(UINT64_C(1) << flag, &name);
    log_info("%s: %s", str_cstr(&name), text);
}

void logfile_set_flags(struct slurmd *d, const struct rpc_request *r)
{
    const Pb__DebugFlagsRequest *ask = (const Pb__DebugFlagsRequest *)r->body;
    _cleanup_str_ struct str text = STR_INIT;
    Pb__Empty done = PB__EMPTY__INIT;
    uint64_t flags = debug_flags(d);

    struct err err = {0};
    if (conf_debug_change(ask->change, ask->n_change, &flags, &err) != 0) {
        rpc_reply_error(d->server, r->call, err.code, err.text);
        return;
    }
    d->debug_flags_given = true;
    d->debug_flags = flags;
    conf_debug_format(flags, &text);
    log_info("debug flags set to '%s' by uid %u (%s)", str_cstr(&text), r->who.uid, r->peer);
    rpc_reply(d->server, r->call, &done.base);
}

void logfile_forget_flags(struct slurmd *d)
{
    d->debug_flags_given = false;
}
