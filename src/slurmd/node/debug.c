/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "slurmd/node/debug.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "proto/ctl.pb-c.h"

#define LOG_ROOM "slurmd"
#include "base/log.h"

uint64_t debug_flags(const struct slurmd *d)
{
    return d->debug_flags_given ? d->debug_flags : d->conf->debug;
}

bool debug_wants(const struct slurmd *d, enum conf_debug flag)
{
    return debug_flags(d) >> flag & 1;
}

void debug_log(enum conf_debug flag, const char *fmt, ...)
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

void debug_set_flags(struct slurmd *d, const struct rpc_request *r)
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

void debug_forget_flags(struct slurmd *d)
{
    d->debug_flags_given = false;
}
