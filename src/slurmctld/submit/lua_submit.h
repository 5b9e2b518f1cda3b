/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job_submit.lua: the site's script that is asked about each job before it is taken, and about each
 * change of one. It runs in the controller's own thread, bounded in instructions and memory, and
 * can open nothing: of the libraries it has base, coroutine, math, string, table and utf8, and of
 * os the clock and the date. Each question starts from the script as it was loaded; what it keeps
 * in global variables it keeps.
 */
#pragma once

#include "base/err.h"
#include "control/env.h"

#define LUA_SUBMIT_STEPS 20000000     /* instructions of a question: some tenths of a second */
#define LUA_SUBMIT_MEMORY (64u << 20) /* bytes */

struct lua_submit;

/* NULL and -ERR_CONFIG: it cannot be read, does not compile, or has no slurm_job_submit(). The
 * text names file and line. Without Lua in this build: -ERR_NOT_SUPPORTED, which says so. */
struct lua_submit *lua_submit_open(const char *path, struct err *err);
void lua_submit_close(struct lua_submit *l);
/* Whether the file is another one than was read. */
bool lua_submit_is_stale(const struct lua_submit *l);
void lua_submit_seen(struct lua_submit *l); /* it is not stale for being as it is now */

/* 0; or it is refused: a code of err.def with the text for the user. A script that fails refuses,
 * with -ERR_GENERIC, and *fault has what happened, by file and line (else empty). */
int lua_submit_ask(struct lua_submit *l, struct env_submit *ask, struct str *fault,
                   struct err *err);
