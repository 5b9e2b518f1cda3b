/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Replaces lua_submit.c in a build without Lua. */
#include "slurmctld/submit/lua_submit.h"

struct lua_submit *lua_submit_open(const char *path, struct err *err)
{
    err_set(err, -ERR_NOT_SUPPORTED,
            "%s: this slurmctld was built without Lua 5.4; build it with liblua5.4-dev, or take "
            "JobSubmitPlugins=lua out of slurm.conf",
            path);
    return NULL;
}

void lua_submit_close(struct lua_submit *l)
{
}

bool lua_submit_is_stale(const struct lua_submit *l)
{
    return false;
}

void lua_submit_seen(struct lua_submit *l)
{
}

int lua_submit_ask(struct lua_submit **l, struct env_submit *ask, struct str *fault,
                   struct err *err)
{
    return err_set(err, -ERR_NOT_SUPPORTED, "%s", err_text(ERR_NOT_SUPPORTED));
}
