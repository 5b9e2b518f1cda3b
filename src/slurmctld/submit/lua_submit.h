/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * job_submit.lua: the site's script, which checks each job before it is accepted, and each change
 * of a job. It runs in the controller's thread, limited in instructions and memory, and cannot
 * open files. Available libraries: base, coroutine, math, string, table and utf8, and clock and
 * date of os. Each call starts from the loaded script; global variables keep their values.
 */
#pragma once

#include "base/err.h"
#include "control/env.h"

#define LUA_SUBMIT_STEPS 20000000     /* instructions per call: some tenths of a second */
#define LUA_SUBMIT_MEMORY (64u << 20) /* bytes */

struct lua_submit;

/* Returns NULL and -ERR_CONFIG if the file is unreadable, does not compile, or has no
 * slurm_job_submit(); the text names file and line. Without Lua in this build: -ERR_NOT_SUPPORTED.
 */
struct lua_submit *lua_submit_open(const char *path, struct err *err);
void lua_submit_close(struct lua_submit *l);
/* Whether the file differs from the one that was read. */
bool lua_submit_is_stale(const struct lua_submit *l);
/* The present state of the file no longer counts as stale. */
void lua_submit_seen(struct lua_submit *l);

/* Returns 0, or a code of err.def with a text for the user if the job is refused. A script that
 * fails refuses with -ERR_GENERIC, and *fault describes the failure, with file and line (otherwise
 * empty). When its memory is used up, the same script is asked once more without the variables that
 * it has kept; if that suffices, *l is the new one from then on. */
int lua_submit_ask(struct lua_submit **l, struct env_submit *ask, struct str *fault,
                   struct err *err);
