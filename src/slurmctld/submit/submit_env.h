/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls the site's job_submit plugins. The site's job_submit.lua is a file that may change: it is
 * read on first use, and again after a change. If the new version is unusable, the last usable
 * version stays in force; without one every job is refused.
 */
#pragma once

#include <sys/types.h>

#include "slurmctld/core/ctld.h"
#include "slurmctld/submit/lua_submit.h"

void submit_env_init(struct env *env);
void submit_env_begin(struct ctld *c); /* loads the plugins of the configuration in force again */
void submit_env_done(struct ctld *c);
/* Checks that the plugins of a configuration are usable: they exist, and the script loads. Any
 * thread. */
int submit_env_check(const struct conf *conf, struct err *err);

struct lua_site {
    char *path;
    uid_t owner; /* allowed owner besides root */
    struct lua_submit *script;
};

/* Does not read the file yet. */
void submit_lua_init(struct lua_site *l, const char *path, uid_t owner);
void submit_lua_done(struct lua_site *l);
int submit_lua_ask(struct lua_site *l, struct env_submit *ask, struct err *err);
