/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls the site's job_submit plugins for control/. A script alone runs in this thread, which it
 * can neither block nor crash; if there is a plugin in C, all plugins run in a helper process. */
#define LOG_ROOM "job_submit"
#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/trust.h"
#include "conf/conf_plugin.h"
#include "proto/submit.pb-c.h"
#include "slurmctld/core/ctld.h"
#include "slurmctld/submit/submit_env.h"
#include "slurmctld/submit/submit_line.h"
#include "slurmctld/submit/submit_wait.h"

void submit_lua_init(struct lua_site *l, const char *path, uid_t owner)
{
    *l = (struct lua_site){.path = mem_strdup(path), .owner = owner};
}

void submit_lua_done(struct lua_site *l)
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

/* Checks that the script is usable now: it exists, compiles and runs its top level. */
static int check_lua_script(const char *path, uid_t owner, struct err *err)
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

int submit_lua_ask(struct lua_site *l, struct env_submit *ask, struct err *err)
{
    _cleanup_str_ struct str fault = STR_INIT;
    int rc = refresh_script(l, err);
    if (rc != 0)
        return rc;
    rc = lua_submit_ask(&l->script, ask, &fault, err);
    if (fault.len)
        log_error("%s", str_cstr(&fault));
    return rc;
}

struct submit_env {
    bool script;         /* only the script is configured: */
    struct lua_site lua; /* otherwise the plugins run in the helper */
    char *fault;         /* NULL: none */
};

static bool has_plugins(void *ctx)
{
    return ((const struct ctld *)ctx)->submit != NULL;
}

static int ask_plugins(void *ctx, struct env_submit *ask, struct err *err)
{
    struct ctld *c = ctx;
    if (c->submit->fault)
        return err_set(err, -ERR_CONFIG, "the site's job_submit plugins cannot be used: %s",
                       c->submit->fault);
    return c->submit->script ? submit_lua_ask(&c->submit->lua, ask, err)
                             : submit_wait_ask(c, ask, err);
}

void submit_env_init(struct env *env)
{
    env->asks_submit = has_plugins;
    env->submit = ask_plugins;
    env->ask_burst = submit_wait_ask_burst;
}

static struct submit_line *line_new(struct ctld *c, const struct conf_submits *all)
{
    Pb__SubmitSetup s = PB__SUBMIT_SETUP__INIT;
    s.plugin = mem_new_array(char *, all->len);
    s.path = mem_new_array(char *, all->len);
    s.place = mem_new_array(char *, all->len);
    s.n_plugin = s.n_path = s.n_place = all->len;
    s.owner = control_conf(c->control)->slurm_uid;
    for (size_t i = 0; i < all->len; i++) {
        s.plugin[i] = all->data[i].plugin;
        s.path[i] = all->data[i].path;
        s.place[i] = all->data[i].place;
    }
    struct submit_line *line = submit_line_new(c->loop, &s, submit_wait_answer, c);
    free(s.plugin);
    free(s.path);
    free(s.place);
    return line;
}

static void env_free(struct ctld *c, bool wait)
{
    submit_line_free(take_ptr(c->submit_line), wait);
    if (!c->submit)
        return;
    submit_lua_done(&c->submit->lua);
    free(c->submit->fault);
    free(take_ptr(c->submit));
}

int submit_env_check(const struct conf *conf, struct err *err)
{
    struct conf_submits all = {0};
    int rc = conf_submit_list(conf, &all, err);
    vec_foreach (&all, one)
        if (rc == 0 && str_eq(one->plugin, "job_submit/lua")) {
            rc = check_lua_script(one->path, conf->slurm_uid, err);
            if (rc)
                err_prefix(err, "%s", one->place);
        }
    conf_submits_done(&all);
    return rc;
}

void submit_env_begin(struct ctld *c)
{
    const struct conf *conf = control_conf(c->control);
    struct conf_submits all = {0};
    struct err err = {0};
    env_free(c, false);
    int rc = conf_submit_list(conf, &all, &err);
    if (rc == 0 && all.len == 0) {
        submit_wait_again(c);
        return;
    }
    c->submit = mem_new(struct submit_env);
    if (rc < 0) { /* the file was correct when the configuration was read */
        log_error("%s; no job is taken", err.text);
        c->submit->fault = mem_strdup(err.text);
    } else if (all.len == 1 && str_eq(all.data[0].plugin, "job_submit/lua")) {
        c->submit->script = true;
        submit_lua_init(&c->submit->lua, all.data[0].path, conf->slurm_uid);
    } else {
        c->submit_line = line_new(c, &all);
    }
    conf_submits_done(&all);
    submit_wait_again(c);
}

void submit_env_done(struct ctld *c)
{
    env_free(c, true);
    submit_wait_done(c);
}
