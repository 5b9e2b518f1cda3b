/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A call of a function of burst_buffer.lua, in a process of its own that the helper has forked: the
 * script may wait, start programs and be killed. What it returns and logs is left in a pipe, whose
 * other end the helper reads when the process has ended.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/script.pb-c.h"

#define BURST_LUA_PIPE (1 << 20)      /* bytes that the pipe should hold */
#define BURST_LUA_OUTPUT (512u << 10) /* bytes of what a function returns */
#define BURST_LUA_LOG (128u << 10)    /* bytes that it may log */

/* In that process: calls the function, and returns the exit status. */
int burst_lua_run(const Pb__ScriptRun *m, int report);
/* What the process has left: e->output and e->log, in the arena. The error message of the function,
 * or NULL. */
const char *burst_lua_read_report(int report, Pb__ScriptEnded *e, struct arena *arena);
/* Whether the script can be read and has all functions; it is run as far as its top level. */
int burst_lua_check(const char *path, struct err *err);
