/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/trust.h"
#include "conf/conf_internal.h"
#include "conf/conf_plugin.h"

#define SITE_NAME_MAX 64

struct plugin {
    enum conf_key_id key;
    const char *value;
    const char *same; /* the plugin used instead; NULL: the default, with a warning */
};

static const struct plugin plugins[] = {
#define SAME(member, value) {CONF_KEY_##member, value, value},
#define ALIAS(member, value, same) {CONF_KEY_##member, value, same},
#define OTHER(member, value) {CONF_KEY_##member, value, NULL},
#include "conf/conf_plugin.def"
#undef SAME
#undef ALIAS
#undef OTHER
};
#define PLUGINS (sizeof(plugins) / sizeof(plugins[0]))

bool conf_plugin_is(size_t key)
{
    for (size_t i = 0; i < PLUGINS; i++)
        if (plugins[i].key == key)
            return true;
    return false;
}

/* Accepts "cgroup" for "task/cgroup". */
static bool name_is(const char *full, const char *text, size_t len)
{
    const char *slash = strchr(full, '/');

    return (strlen(full) == len && !strncasecmp(full, text, len)) ||
           (slash && strlen(slash + 1) == len && !strncasecmp(slash + 1, text, len));
}

static const struct plugin *plugin_find(size_t key, const char *text, size_t len)
{
    for (size_t i = 0; i < PLUGINS; i++)
        if (plugins[i].key == key && name_is(plugins[i].value, text, len))
            return &plugins[i];
    return NULL;
}

/* Lists the valid names, for the message about an unknown name. */
static void list_known_names(size_t key, struct str *out)
{
    for (size_t i = 0; i < PLUGINS; i++)
        if (plugins[i].key == key && plugins[i].same)
            str_printf(out, "%s%s", out->len ? ", " : "", plugins[i].value);
}

/* Whether each name of the list takes effect separately, so that known names are kept. */
static bool is_list_of_plugins(size_t key)
{
    return key == CONF_KEY_cli_filter_plugins || key == CONF_KEY_job_submit_plugins ||
           key == CONF_KEY_task_plugin;
}

/* Checks one name of a key's list. Returns the name to be used, or NULL for the default. */
static const char *name_check(struct conf_loader *l, size_t key, const char *name, size_t len)
{
    const struct conf_key *k = &conf_keys[key];
    const char *used = is_list_of_plugins(key) ? "those that are" : *k->def ? k->def : "none";
    struct conf_place at = l->priv->written[key].at;
    const struct plugin *p = plugin_find(key, name, len);

    if (p && p->same)
        return p->same;
    if (p)
        conf_warn(l, at, "%s=%.*s: this plugin is not built in; using %s", k->name, (int)len, name,
                  used);
    else {
        _cleanup_str_ struct str known = STR_INIT;
        list_known_names(key, &known);
        conf_warn(l, at, "%s=%.*s: unknown plugin; using %s (built in: %s)", k->name, (int)len,
                  name, used, known.len ? str_cstr(&known) : "none");
    }
    return NULL;
}

/* Checks the names of a key, separated by commas: if one is unavailable, the default applies. */
static void key_check(struct conf_loader *l, size_t key, const char **member)
{
    const char *name = *member, *used = NULL;
    bool fallback = false;

    while (*name) {
        size_t len = strcspn(name, ",");
        if (len) {
            const char *found = name_check(l, key, name, len);
            used = found;
            fallback |= !found;
        }
        name += len;
        name += *name == ',';
    }
    if (fallback || !used)
        used = *conf_keys[key].def ? conf_keys[key].def : NULL;
    *member = used;
}

static bool is_name(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!isalnum((unsigned char)text[i]) && text[i] != '_' && text[i] != '-')
            return false;
    return len > 0 && len < SITE_NAME_MAX;
}

/* Handles "job_submit/NAME" of a site's plugin, whose file the controller searches for. */
static const char *site_plugin(struct conf_loader *l, size_t key, const char *name, size_t len)
{
    static const char prefix[] = "job_submit/";
    size_t skip = sizeof prefix - 1;

    if (key != CONF_KEY_job_submit_plugins)
        return NULL;
    if (len > skip && strncasecmp(name, prefix, skip) == 0) {
        name += skip;
        len -= skip;
    }
    return is_name(name, len) ? arena_printf(&l->priv->arena, "%s%.*s", prefix, (int)len, name)
                              : NULL;
}

static bool is_none(const char *full)
{
    const char *slash = strchr(full, '/');

    return slash && !strcmp(slash, "/none");
}

/* Replaces the list by full names, in the same order. */
static void filters_check(struct conf_loader *l, size_t key, const char **member)
{
    _cleanup_str_ struct str all = STR_INIT;

    for (const char *name = *member; *name;) {
        size_t len = strcspn(name, ",");
        bool known = !len || plugin_find(key, name, len);
        const char *used = known ? NULL : site_plugin(l, key, name, len);
        if (len && !used)
            used = name_check(l, key, name, len);
        if (used && !is_none(used))
            str_printf(&all, "%s%s", all.len ? "," : "", used);
        name += len;
        name += *name == ',';
    }
    const char *otherwise = *conf_keys[key].def ? conf_keys[key].def : NULL;
    *member = all.len ? arena_strdup(&l->priv->arena, str_cstr(&all)) : otherwise;
}

void conf_plugin_check(struct conf_loader *l)
{
    for (size_t i = 0; i < PLUGINS; i++) {
        size_t key = plugins[i].key;
        const char **member = (const char **)(void *)((char *)l->conf + conf_keys[key].offset);
        if (i > 0 && plugins[i - 1].key == key)
            continue; /* rows of a key are adjacent */
        if (l->priv->written[key].text && *member)
            (is_list_of_plugins(key) ? filters_check : key_check)(l, key, member);
    }
}

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
