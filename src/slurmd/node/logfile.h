/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The daemon's log: where it goes, by SlurmdLogFile, SlurmdDebug and the command line; and
 * DebugFlags, more lines about the subsystems that are chosen, at the level info, each with the
 * name of its flag.
 */
#pragma once

#include "base/log.h"
#include "conf/conf_debug.h"
#include "rpc/rpc.h"
#include "slurmd/node/slurmd.h"

/* Opens; called again, follows a changed configuration or a file that was moved away. */
int logfile_open(struct slurmd *d, struct err *err);
/* SlurmdDebug, in place of what the configuration or 'scontrol setdebug' said. */
void logfile_set_level(struct slurmd *d, uint32_t level);
enum log_level logfile_level(const struct slurmd *d);
void logfile_detach(struct slurmd *d); /* nothing to the terminal any more */

/* The flags are those of slurm.conf, or of 'scontrol setdebugflags nodes=' since it was read. */
#define slurmd_debug(d, id, ...)                                                                   \
    (logfile_wants((d), CONF_DEBUG_##id) ? logfile_log_debug(CONF_DEBUG_##id, __VA_ARGS__)         \
                                         : (void)0)
bool logfile_wants(const struct slurmd *d, enum conf_debug flag);
void logfile_log_debug(enum conf_debug flag, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Answers RPC_SET_DEBUG_FLAGS. */
void logfile_set_flags(struct slurmd *d, const struct rpc_request *r);

/* The configuration has been read again: its flags hold. */
void logfile_forget_flags(struct slurmd *d);
