/* SPDX-License-Identifier: GPL-3.0-or-later */
/* DebugFlags on a node: more lines about the subsystems that are chosen, at the level info, each
 * with the name of its flag. */
#pragma once

#include "conf/conf_debug.h"
#include "rpc/rpc.h"
#include "slurmd/node/slurmd.h"

#define slurmd_debug(d, id, ...)                                                                   \
    (debug_wants((d), CONF_DEBUG_##id) ? debug_log(CONF_DEBUG_##id, __VA_ARGS__) : (void)0)

/* Of slurm.conf, or of 'scontrol setdebugflags nodes=' since it was read. */
uint64_t debug_flags(const struct slurmd *d);
bool debug_wants(const struct slurmd *d, enum conf_debug flag);
void debug_log(enum conf_debug flag, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Answers RPC_SET_DEBUG_FLAGS. */
void debug_set_flags(struct slurmd *d, const struct rpc_request *r);
/* The configuration has been read again: its flags hold. */
void debug_forget_flags(struct slurmd *d);
