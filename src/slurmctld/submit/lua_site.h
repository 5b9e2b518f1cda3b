/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The site's job_submit.lua as a file that may change: read when it is first asked, and again when
 * it has changed; one that cannot be read leaves the last one that could, and without that every
 * job is refused. */
#pragma once

#include <sys/types.h>

#include "slurmctld/submit/lua_submit.h"

struct lua_site {
    char *path;
    uid_t owner; /* besides root */
    struct lua_submit *script;
};

void lua_site_init(struct lua_site *l, const char *path, uid_t owner); /* reads nothing yet */
void lua_site_done(struct lua_site *l);
/* Whether the script could be used now: it is there, compiles and begins. */
int lua_site_check(const char *path, uid_t owner, struct err *err);
int lua_site_ask(struct lua_site *l, struct env_submit *ask, struct err *err);
