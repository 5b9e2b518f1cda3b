/* SPDX-License-Identifier: GPL-3.0-or-later */
#define LOG_ROOM "job_submit/lua"
#include "slurmctld/submit/lua_site.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/trust.h"

void lua_site_init(struct lua_site *l, const char *path, uid_t owner)
{
    *l = (struct lua_site){.path = mem_strdup(path), .owner = owner};
}

void lua_site_done(struct lua_site *l)
{
    lua_submit_close(l->script);
    free(l->path);
    *l = (struct lua_site){0};
}

static struct lua_submit *open_script(const struct lua_site *l, struct err *err)
{
    int rc = trust_check(l->path, &l->owner, 1, err);
    if (rc == -ENOENT)
        err_set(err, -ERR_CONFIG, "%s does not exist", l->path);
    return rc == 0 ? lua_submit_open(l->path, err) : NULL;
}

int lua_site_check(const char *path, uid_t owner, struct err *err)
{
    const struct lua_site site = {.path = (char *)path, .owner = owner};
    struct err why = {0};
    struct lua_submit *script = open_script(&site, &why);
    lua_submit_close(script);
    return script ? 0 : err_set(err, why.code, "%s", why.text);
}

static int refresh_script(struct lua_site *l, struct err *err)
{
    struct err why = {0};
    if (l->script && !lua_submit_is_stale(l->script))
        return 0;
    struct lua_submit *next = open_script(l, &why);
    if (next) {
        lua_submit_close(l->script);
        l->script = next;
        log_info("%s is read", l->path);
        return 0;
    }
    if (l->script) { /* reported once per version of the file */
        log_error("%s; the one before it serves", why.text);
        lua_submit_seen(l->script);
        return 0;
    }
    log_error("%s; no job is taken", why.text);
    return err_set(err, why.code, "the site's job_submit script cannot be used: %s", why.text);
}

int lua_site_ask(struct lua_site *l, struct env_submit *ask, struct err *err)
{
    _cleanup_str_ struct str fault = STR_INIT;
    int rc = refresh_script(l, err);
    if (rc != 0)
        return rc;
    rc = lua_submit_ask(l->script, ask, &fault, err);
    if (fault.len)
        log_error("%s", str_cstr(&fault));
    return rc;
}
