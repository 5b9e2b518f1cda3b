/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts resources.yaml to lines of the configuration, each with its place in the file. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "conf/conf_hres_file.h"
#include "conf/conf_license.h"
#include "conf/conf_yaml.h"

struct layer {
    struct conf_place at;
    const char *nodes, *count;
    struct str base;
};

struct resource {
    struct conf_place at;
    const char *name, *mode, *topology;
    bool has_layers;
    struct str variables;
    VEC(struct layer) layers;
};

/* A list of name and number pairs, as "NAME:NUMBER,...". */
struct amounts {
    const char *what; /* name of the list's key, for messages */
    struct str *out;
    uint64_t most; /* maximum value */
    bool are_variables;
    const char *name, *value;
};

static void free_resource(struct resource *r)
{
    vec_foreach (&r->layers, layer)
        str_done(&layer->base);
    vec_done(&r->layers);
    str_done(&r->variables);
}

/* --- values ----------------------------------------------------------------------------------- */

static int read_word(struct conf_yaml *y, const char *key, const yaml_node_t *value,
                     const char *expected, const char **out, struct err *err)
{
    const char *text = conf_yaml_text(value);
    if (!text)
        return conf_fail(conf_yaml_place(y, value), err, "%s: expected %s, not a list", key,
                         expected);
    if (!*text)
        return conf_fail(conf_yaml_place(y, value), err, "%s: expected %s", key, expected);
    if (strlen(text) > CONF_HRES_NAME_MAX)
        return conf_fail(conf_yaml_place(y, value), err,
                         "%s '%.20s...' has %zu characters, %d are allowed: expected %s", key, text,
                         strlen(text), CONF_HRES_NAME_MAX, expected);
    *out = arena_strdup(&y->l->scratch, text);
    return 0;
}

static int read_name(struct conf_yaml *y, const char *key, const yaml_node_t *value,
                     const char **out, struct err *err)
{
    int rc = read_word(y, key, value, "a name", out, err);
    if (rc == 0 && !conf_hres_is_name(*out))
        return conf_fail(conf_yaml_place(y, value), err, "%s '%s': expected " CONF_HRES_NAME_FORM,
                         key, *out);
    return rc;
}

static int read_number(struct conf_yaml *y, const char *key, const yaml_node_t *value,
                       bool may_be_unlimited, uint64_t most, const char **out, struct err *err)
{
    char expected[80];
    uint64_t number = 0;
    snprintf(expected, sizeof expected, "a whole number of 0 to %llu%s", (unsigned long long)most,
             may_be_unlimited ? ", or -1 for no limit" : "");
    int rc = read_word(y, key, value, expected, out, err);
    if (rc == 0 && (conf_hres_parse_count(*out, may_be_unlimited, &number) != 0 ||
                    (number > most && number != CONF_HRES_UNLIMITED)))
        return conf_fail(conf_yaml_place(y, value), err, "%s '%s': expected %s", key, *out,
                         expected);
    return rc;
}

/* Whether the list has an item with that name. */
static bool has_amount(const struct str *list, const char *name)
{
    size_t len = strlen(name);
    for (const char *at = list->len ? list->data : ""; *at;
         at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, len) == 0 && at[len] == ':')
            return true;
    return false;
}

/* A variable must not look like a number, because a request may have either. */
static int read_amount_name(struct conf_yaml *y, struct amounts *a, const yaml_node_t *value,
                            struct err *err)
{
    int rc = read_name(y, "name", value, &a->name, err);
    if (rc != 0 || !a->are_variables)
        return rc;
    if (!a->name[strspn(a->name, "0123456789")])
        return conf_fail(conf_yaml_place(y, value), err,
                         "name '%s': the name of a variable must not be a number", a->name);
    if (has_amount(a->out, a->name))
        return conf_fail(conf_yaml_place(y, value), err, "variable %s is defined twice", a->name);
    return 0;
}

static int read_amount_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                           const yaml_node_t *value, struct err *err)
{
    struct amounts *a = ctx;
    if (strcmp(key, "name") == 0)
        return read_amount_name(y, a, value, err);
    if (strcmp(key, "value") == 0)
        return read_number(y, key, value, false, a->most, &a->value, err);
    return conf_fail(at, err, "unknown key '%s' of %s: expected name or value", key, a->what);
}

static int read_amount(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct amounts *a = ctx;
    a->name = a->value = NULL;
    int rc = conf_yaml_mapping(y, node, read_amount_key, a, err);
    if (rc < 0)
        return rc;
    if (!a->name || !a->value)
        return conf_fail(conf_yaml_place(y, node), err, "an item of %s lacks its %s", a->what,
                         a->name ? "value" : "name");
    str_printf(a->out, "%s%s:%s", a->out->len ? "," : "", a->name, a->value);
    return 0;
}

/* Variables are counts of requests; base amounts are parts of layers' counts. */
static int read_amounts(struct conf_yaml *y, const char *what, const yaml_node_t *node,
                        bool are_variables, struct str *out, struct err *err)
{
    struct amounts a = {.what = what,
                        .out = out,
                        .are_variables = are_variables,
                        .most = are_variables ? CONF_LICENSE_COUNT_MAX : CONF_HRES_COUNT_MAX};
    if (node->type == YAML_SCALAR_NODE && *conf_yaml_text(node))
        return conf_fail(conf_yaml_place(y, node), err, "%s: expected a list of '- name: value'",
                         what);
    return conf_yaml_sequence(y, node, read_amount, &a, err);
}

/* --- layers ----------------------------------------------------------------------------------- */

static int read_nodes(struct conf_yaml *y, const yaml_node_t *value, const char **out,
                      struct err *err)
{
    _cleanup_hostlist_ struct hostlist *list = NULL;
    struct err inner = {0};
    int rc = conf_yaml_words(y, value, out, err);
    if (rc < 0)
        return rc;
    if (!**out)
        return conf_fail(conf_yaml_place(y, value), err, "nodes: expected names of nodes");
    if (hostlist_parse(*out, &list, &inner) < 0 || !hostlist_count(list))
        return conf_fail(conf_yaml_place(y, value), err, "nodes: %s",
                         inner.code ? inner.text : "expected names of nodes");
    return 0;
}

static int read_layer_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                          const yaml_node_t *value, struct err *err)
{
    struct layer *layer = ctx;
    if (strcmp(key, "nodes") == 0)
        return read_nodes(y, value, &layer->nodes, err);
    if (strcmp(key, "count") == 0)
        return read_number(y, key, value, true, CONF_HRES_COUNT_MAX, &layer->count, err);
    if (strcmp(key, "base") == 0)
        return read_amounts(y, key, value, false, &layer->base, err);
    return conf_fail(at, err, "unknown key '%s' of a layer: expected nodes, count or base", key);
}

static int read_layer(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct resource *r = ctx;
    if (r->layers.len == CONF_HRES_LAYERS_MAX)
        return conf_fail(conf_yaml_place(y, node), err, "resource %s: more than %d layers", r->name,
                         CONF_HRES_LAYERS_MAX);
    vec_push(&r->layers, ((struct layer){.at = conf_yaml_place(y, node)}));
    struct layer *layer = &vec_last(&r->layers);
    int rc = conf_yaml_mapping(y, node, read_layer_key, layer, err);
    if (rc == 0 && (!layer->nodes || !layer->count))
        rc = conf_fail(layer->at, err, "a layer of %s lacks its %s", r->name,
                       layer->nodes ? "count" : "nodes");
    return rc;
}

/* --- resources -------------------------------------------------------------------------------- */

static int read_mode(struct conf_yaml *y, const yaml_node_t *value, const char **out,
                     struct err *err)
{
    int rc = read_word(y, "mode", value, "MODE_1, MODE_2 or MODE_3", out, err);
    if (rc == 0 && strcmp(*out, "MODE_1") != 0 && strcmp(*out, "MODE_2") != 0 &&
        strcmp(*out, "MODE_3") != 0)
        return conf_fail(conf_yaml_place(y, value), err,
                         "mode '%s': expected MODE_1, MODE_2 or MODE_3", *out);
    return rc;
}

static int read_resource_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                             const yaml_node_t *value, struct err *err)
{
    struct resource *r = ctx;
    if (strcmp(key, "resource") == 0)
        return read_name(y, key, value, &r->name, err);
    if (!r->name)
        return conf_fail(at, err, "key '%s': expected 'resource: NAME' first", key);
    if (strcmp(key, "mode") == 0)
        return read_mode(y, value, &r->mode, err);
    if (strcmp(key, "topology") == 0)
        return read_name(y, key, value, &r->topology, err);
    if (strcmp(key, "variables") == 0)
        return read_amounts(y, key, value, true, &r->variables, err);
    if (strcmp(key, "layers") == 0) {
        r->has_layers = true;
        return conf_yaml_sequence(y, value, read_layer, r, err);
    }
    return conf_fail(
        at, err, "unknown key '%s' of resource %s: expected mode, topology, variables or layers",
        key, r->name);
}

/* Takes the equivalent lines. */
static int take_resource(struct conf_yaml *y, const struct resource *r, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;
    str_printf(&line, CONF_HRES_PREFIX "%s Mode=%s", r->name, r->mode);
    if (r->topology)
        str_printf(&line, " Topology=%s", r->topology);
    if (r->variables.len)
        str_printf(&line, " Variables=%s", r->variables.data);
    int rc = conf_yaml_line(y, &line, r->at, err);
    for (size_t i = 0; i < r->layers.len && rc == 0; i++) {
        const struct layer *layer = &r->layers.data[i];
        str_printf(&line, CONF_HRES_PREFIX "%s Nodes=%s Count=%s", r->name, layer->nodes,
                   layer->count);
        if (layer->base.len)
            str_printf(&line, " Base=%s", layer->base.data);
        rc = conf_yaml_line(y, &line, layer->at, err);
    }
    return rc;
}

static int read_resource(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct resource r = {.at = conf_yaml_place(y, node)};
    int rc = conf_yaml_mapping(y, node, read_resource_key, &r, err);
    if (rc == 0 && !r.name)
        rc = conf_fail(r.at, err, "an item without a key: expected 'resource: NAME'");
    if (rc == 0 && !r.mode)
        rc = conf_fail(r.at, err, "resource %s lacks its mode: expected MODE_1, MODE_2 or MODE_3",
                       r.name);
    if (rc == 0 && !r.layers.len)
        rc = conf_fail(r.at, err, "resource %s has no layers: expected a list of nodes and counts",
                       r.name);
    if (rc == 0)
        rc = take_resource(y, &r, err);
    free_resource(&r);
    return rc;
}

static int read_root(struct conf_yaml *y, const yaml_node_t *root, struct err *err)
{
    bool bare = root->type == YAML_SCALAR_NODE && !*conf_yaml_text(root);
    if (bare || (root->type == YAML_SEQUENCE_NODE &&
                 root->data.sequence.items.start == root->data.sequence.items.top)) {
        conf_warn(y->l, (struct conf_place){y->file, 1}, "the file has no resources");
        return 0;
    }
    if (root->type != YAML_SEQUENCE_NODE)
        return conf_fail(conf_yaml_place(y, root), err, "expected '- resource: NAME'");
    return conf_yaml_sequence(y, root, read_resource, NULL, err);
}

int conf_hres_read(struct conf_loader *l, const char *path, struct err *err)
{
    const char *slash = strrchr(path, '/');
    if (l->scope != CONF_FULL || !slash)
        return 0;
    _cleanup_free_ char *file = mem_printf("%.*s/resources.yaml", (int)(slash - path), path);
    return access(file, F_OK) == 0 ? conf_yaml_read(l, file, read_root, err) : 0;
}
