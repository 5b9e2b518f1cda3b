/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls a function of burst_buffer.lua in a child process of the helper, because the script may
 * block, start programs and be killed. Return value and log go through a pipe, which the helper
 * reads after the process has ended.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "proto/script.pb-c.h"

#define BURST_LUA_PIPE (1 << 20)      /* wanted size of the pipe in bytes */
#define BURST_LUA_OUTPUT (512u << 10) /* maximum bytes of a return value */
#define BURST_LUA_LOG (128u << 10)    /* maximum bytes of log output */

/* In the child process: calls the function, and returns the exit status. */
int burst_lua_run(const Pb__ScriptRun *m, int report);
/* Reads what the process has written: e->output and e->log, in the arena. Returns the error
 * message of the function, or NULL. */
const char *scriptwire_read_burst(int report, Pb__ScriptEnded *e, struct arena *arena);
/* Checks that the script is readable and has all functions; runs its top level. */
int burst_lua_check(const char *path, struct err *err);
