/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The daemon's log: its destination, by SlurmdLogFile, SlurmdDebug and the command line; and
 * DebugFlags, which add lines at level info about selected subsystems, each with the name of its
 * flag.
 */
#pragma once

#include "base/log.h"
#include "conf/conf_words.h"
#include "rpc/rpc.h"
#include "slurmd/node/slurmd.h"

/* Opens the log. A further call applies a changed configuration, and reopens a rotated file. */
int logfile_open(struct slurmd *d, struct err *err);
/* Sets the level, overriding the configuration or an earlier 'scontrol setdebug'. */
void logfile_set_level(struct slurmd *d, uint32_t level);
enum log_level logfile_level(const struct slurmd *d);
void logfile_detach(struct slurmd *d); /* stops logging to the terminal */

/* The flags are those of slurm.conf, or of a later 'scontrol setdebugflags nodes='. */
#define slurmd_debug(d, id, ...)                                                                   \
    (logfile_wants((d), CONF_DEBUG_##id) ? logfile_log_debug(CONF_DEBUG_##id, __VA_ARGS__)         \
                                         : (void)0)
bool logfile_wants(const struct slurmd *d, enum conf_debug flag);
void logfile_log_debug(enum conf_debug flag, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Answers RPC_SET_DEBUG_FLAGS. */
void logfile_set_flags(struct slurmd *d, const struct rpc_request *r);

/* The configuration has been read again: its flags take effect. */
void logfile_forget_flags(struct slurmd *d);
