/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The site's job_submit.lua, as control/ asks it. It lies beside slurm.conf, is read when it is
 * first asked, and again when it has changed; one that cannot be read leaves the last one that
 * could, and without that every job is refused. */
#define LOG_ROOM "slurmctld"
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/trust.h"
#include "slurmctld/ctld.h"
#include "slurmctld/lua_submit.h"

#define SCRIPT "job_submit.lua"

static bool asks(void *ctx)
{
    const struct ctld *c = ctx;
    return str_eq(control_conf(c->control)->job_submit_plugins, "job_submit/lua");
}

static char *script_path(const struct ctld *c)
{
    const char *slash = strrchr(c->conf_path, '/');
    return mem_printf("%.*s%s", slash ? (int)(slash - c->conf_path + 1) : 0, c->conf_path, SCRIPT);
}

static struct lua_submit *open_script(struct ctld *c, struct err *err)
{
    _cleanup_free_ char *path = script_path(c);
    const uid_t owners[] = {control_conf(c->control)->slurm_uid};
    int rc = trust_check(path, owners, 1, err);
    if (rc == -ENOENT)
        err_set(err, -ERR_CONFIG, "%s is not there", path);
    return rc == 0 ? lua_submit_open(path, err) : NULL;
}

static int refresh(struct ctld *c, struct err *err)
{
    struct err why = {0};
    if (c->lua && !lua_submit_is_stale(c->lua))
        return 0;
    struct lua_submit *next = open_script(c, &why);
    if (next) {
        lua_submit_close(c->lua);
        c->lua = next;
        log_info("job_submit: %s is read", SCRIPT);
        return 0;
    }
    if (c->lua) { /* told once for each version of the file */
        log_error("job_submit: %s; the one before it serves", why.text);
        lua_submit_seen(c->lua);
        return 0;
    }
    log_error("job_submit: %s; no job is taken", why.text);
    return err_set(err, why.code, "the site's job_submit script cannot be used: %s", why.text);
}

static int submit(void *ctx, struct env_submit *ask, struct err *err)
{
    struct ctld *c = ctx;
    _cleanup_str_ struct str fault = STR_INIT;
    int rc = refresh(c, err);
    if (rc != 0)
        return rc;
    rc = lua_submit_ask(c->lua, ask, &fault, err);
    if (fault.len)
        log_error("job_submit: %s", str_cstr(&fault));
    return rc;
}

void submit_env_init(struct env *env)
{
    env->asks_submit = asks;
    env->submit = submit;
}

void submit_env_done(struct ctld *c)
{
    lua_submit_close(c->lua);
    c->lua = NULL;
}
