/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/trust.h"
#include "conf/conf_internal.h"
#include "conf/conf_submit.h"

#define SCRIPT "job_submit/lua"

/* NULL: not found in any directory. */
static char *find_file(const char *dirs, const char *name)
{
    while (*dirs) {
        size_t len = strcspn(dirs, ":");
        _cleanup_free_ char *path = mem_printf("%.*s/job_submit_%s.so", (int)len, dirs, name);
        if (len && access(path, F_OK) == 0)
            return take_ptr(path);
        dirs += len + (dirs[len] == ':');
    }
    return NULL;
}

static char *script_path(const struct conf *c)
{
    const char *slash = strrchr(c->path, '/');
    return mem_printf("%.*sjob_submit.lua", slash ? (int)(slash - c->path + 1) : 0, c->path);
}

static int find_plugin(const struct conf *c, struct conf_submit *s, struct err *err)
{
    const char *name = strchr(s->plugin, '/') + 1;
    int rc = 0;

    if (str_eq(s->plugin, SCRIPT)) {
        s->path = script_path(c);
        return 0; /* the script may appear and change while the controller runs */
    }
    _cleanup_free_ char *dirs = conf_plugin_dirs(c);
    s->path = find_file(dirs, name);
    if (!s->path)
        return err_set(
            err, -ERR_CONFIG,
            "%s: there is no job_submit_%s.so in PluginDir=%s: put it there, or take the "
            "name out of the line",
            s->place, name, dirs);
    if (s->path[0] != '/')
        rc = err_set(err, -ERR_CONFIG, "PluginDir=%s is not an absolute path", dirs);
    if (rc == 0)
        rc = trust_check(s->path, &c->slurm_uid, 1, err);
    return rc < 0 ? err_prefix(err, "%s", s->place) : 0;
}

int conf_submit_list(const struct conf *c, struct conf_submits *out, struct err *err)
{
    const struct conf_place at = c->priv->written[CONF_KEY_job_submit_plugins].at;
    const char *list = c->job_submit_plugins;

    while (list && *list) {
        size_t len = strcspn(list, ",");
        struct conf_submit s = {.plugin = mem_strndup(list, len)};
        s.place =
            mem_printf("%s:%d: JobSubmitPlugins=%s", at.file, at.line, strchr(s.plugin, '/') + 1);
        vec_push(out, s);
        int rc = find_plugin(c, &out->data[out->len - 1], err);
        if (rc < 0) {
            conf_submits_done(out);
            return rc;
        }
        list += len + (list[len] == ',');
    }
    return 0;
}

void conf_submits_done(struct conf_submits *s)
{
    vec_foreach (s, one) {
        free(one->plugin);
        free(one->path);
        free(one->place);
    }
    vec_done(s);
}

int conf_submit_check(const struct conf *c, struct err *err)
{
    struct conf_submits all = {0};
    int rc = conf_submit_list(c, &all, err);

    conf_submits_done(&all);
    return rc;
}
