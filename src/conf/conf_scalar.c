/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>
#include <strings.h>

#include "conf/conf_internal.h"

static const struct conf_alias old_keys[] = {
#define OLD(key, now) {key, now, NULL},
#define GONE(key, why) {key, NULL, why},
#include "conf/conf_old.def"
#undef OLD
#undef GONE
};

static const struct conf_alias *old_find(const char *key)
{
    for (size_t i = 0; i < sizeof(old_keys) / sizeof(old_keys[0]); i++)
        if (!strcasecmp(old_keys[i].old, key))
            return &old_keys[i];
    return NULL;
}

/* SlurmctldHost and its predecessors form a list, which conf_check() builds. */
static bool take_host(struct conf_loader *l, const char *key, struct conf_value v)
{
    struct {
        const char *name;
        struct conf_value *to;
    } const old[] = {
        {"ControlMachine", &l->control[0]},
        {"BackupController", &l->control[1]},
        {"ControlAddr", &l->control_addr[0]},
        {"BackupAddr", &l->control_addr[1]},
    };

    if (!strcasecmp(key, "SlurmctldHost")) {
        vec_push(&l->hosts, v);
        return true;
    }
    for (size_t i = 0; i < sizeof(old) / sizeof(old[0]); i++) {
        if (strcasecmp(key, old[i].name) != 0)
            continue;
        if (old[i].to->text)
            conf_warn(l, v.at, "%s is given again (first on line %d); this one holds", old[i].name,
                      old[i].to->at.line);
        *old[i].to = v;
        return true;
    }
    return false;
}

static void warn_unknown(struct conf_loader *l, const char *key, struct conf_place at)
{
    static const char *const others[] = {"SlurmctldHost", "NodeName", "PartitionName", "DownNodes",
                                         "NodeSet"};
    unsigned distance = CONF_NEAR;
    const char *near = conf_key_near(conf_keys, CONF_KEYS, key, &distance);

    if (conf_key_find(conf_node_keys, CONF_NODE_KEYS, key) >= 0 ||
        conf_key_find(conf_part_keys, CONF_PART_KEYS, key) >= 0) {
        conf_warn(l, at, "%s is ignored: it belongs on a NodeName or PartitionName line", key);
        return;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct conf_key one = {.name = others[i]};
        const char *nearer = conf_key_near(&one, 1, key, &distance);
        if (nearer)
            near = nearer;
    }
    if (near)
        conf_warn(l, at, "unknown key %s is ignored; did you mean %s?", key, near);
    else
        conf_warn(l, at, "unknown key %s is ignored", key);
}

/* Whether each line of the key adds a program. */
static bool is_accumulated(long id)
{
    return id == CONF_KEY_prolog || id == CONF_KEY_epilog || id == CONF_KEY_prolog_slurmctld ||
           id == CONF_KEY_epilog_slurmctld;
}

void conf_scalar_take(struct conf_loader *l, const char *key, const char *value,
                      struct conf_place at)
{
    struct conf_value v = {.text = value, .at = at};
    const struct conf_alias *old;
    long id = conf_key_find(conf_keys, CONF_KEYS, key);

    if (id < 0) {
        if (take_host(l, key, v))
            return;
        old = old_find(key);
        if (!old) {
            warn_unknown(l, key, at);
            return;
        }
        if (!old->now) {
            conf_warn(l, at, "%s is a key of an earlier release and is ignored: %s", old->old,
                      old->why);
            return;
        }
        conf_warn(l, at, "%s is now called %s", old->old, old->now);
        id = conf_key_find(conf_keys, CONF_KEYS, old->now);
    }
    struct conf_value *written = &l->priv->written[id];
    if (written->text && *written->text && *value && is_accumulated(id)) {
        written->text = arena_printf(&l->priv->arena, "%s\n%s", written->text, value);
        return;
    }
    if (written->text)
        conf_warn(l, at, "%s is given again (first at %s:%d); this one holds", conf_keys[id].name,
                  written->at.file, written->at.line);
    *written = v;
}

/* A key without effect causes a warning only if its value differs from the actual behaviour;
 * conf_plugin_check() does this for plugins. */
static void warn_effect(struct conf_loader *l, size_t id, const struct conf *defaults)
{
    const struct conf_key *key = &conf_keys[id];
    const struct conf_value *v = &l->priv->written[id];

    if (key->effect || conf_plugin_is(id) || !strcasecmp(v->text, key->def) ||
        conf_value_equal(key, l->conf, defaults))
        return;
    conf_warn_no_effect(l, v->at, key->name, NULL);
}

int conf_scalar_finish(struct conf_loader *l, struct err *err)
{
    struct conf defaults = {0};

    conf_value_defaults(conf_keys, CONF_KEYS, &defaults);
    conf_value_defaults(conf_keys, CONF_KEYS, l->conf);
    for (size_t i = 0; i < CONF_KEYS; i++) {
        const struct conf_value *v = &l->priv->written[i];
        if (!v->text)
            continue;
        int rc = conf_go_on(l, conf_value_parse(&conf_keys[i], v, l->conf, err), err);
        if (rc < 0)
            return rc;
        warn_effect(l, i, &defaults);
    }
    conf_plugin_check(l);
    return 0;
}
