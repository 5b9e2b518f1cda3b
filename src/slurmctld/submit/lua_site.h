/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The site's job_submit.lua as a file that may change: read on first use, and again after a
 * change. If the new version is unusable, the last usable version stays in force; without one
 * every job is refused. */
#pragma once

#include <sys/types.h>

#include "slurmctld/submit/lua_submit.h"

struct lua_site {
    char *path;
    uid_t owner; /* allowed owner besides root */
    struct lua_submit *script;
};

/* Does not read the file yet. */
void lua_site_init(struct lua_site *l, const char *path, uid_t owner);
void lua_site_done(struct lua_site *l);
/* Checks that the script is usable now: it exists, compiles and runs its top level. */
int lua_site_check(const char *path, uid_t owner, struct err *err);
int lua_site_ask(struct lua_site *l, struct env_submit *ask, struct err *err);
