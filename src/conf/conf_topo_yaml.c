/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts topology.yaml to lines of topology.conf, each with its place in the file. A line with
 * the name of a topology precedes the lines of its switches, blocks, rings or toruses. */
#include <string.h>

#include "conf/conf_topo_yaml.h"

struct item { /* a switch, a block or a ring */
    struct conf_place at;
    const char *name, *nodes, *children;
};

struct topology {
    struct conf_place at, sizes_at;
    const char *name, *sizes;
    const char *kind; /* "tree", "block", "ring", "torus3d", "flat"; NULL: not set yet */
    const struct conf_topo_words *words; /* NULL: flat */
    bool is_default;
    VEC(struct item) items;
    struct conf_topo_lines toruses;
};

static int read_item_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                         const yaml_node_t *value, struct err *err)
{
    struct topology *t = ctx;
    struct item *item = &vec_last(&t->items);
    if (strcmp(key, t->words->unit) == 0)
        return conf_yaml_words(y, value, &item->name, err);
    if (strcmp(key, "nodes") == 0)
        return conf_yaml_words(y, value, &item->nodes, err);
    if (strcmp(key, "children") == 0 && strcmp(t->kind, "tree") == 0)
        return conf_yaml_words(y, value, &item->children, err);
    return conf_fail(at, err, "unknown key %s of a %s", key, t->words->unit);
}

static int read_item(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct topology *t = ctx;
    struct item item = {.at = conf_yaml_place(y, node)};
    vec_push(&t->items, item);
    int rc = conf_yaml_mapping(y, node, read_item_key, t, err);
    if (rc == 0 && !vec_last(&t->items).name)
        rc = conf_fail(item.at, err, "an item without %s:", t->words->unit);
    return rc;
}

/* Reads the value of "tree:", "block:", "ring:" or "torus3d:". */
static int read_kind_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                         const yaml_node_t *value, struct err *err)
{
    struct topology *t = ctx;
    bool is_torus = strcmp(t->kind, "torus3d") == 0;
    if (strcmp(key, t->words->units) == 0 && is_torus)
        return conf_yaml_sequence(y, value, conf_torus_read_yaml, &t->toruses, err);
    if (strcmp(key, t->words->units) == 0)
        return conf_yaml_sequence(y, value, read_item, t, err);
    if (strcmp(key, "block_sizes") == 0 && strcmp(t->kind, "block") == 0) {
        t->sizes_at = at;
        return conf_yaml_words(y, value, &t->sizes, err);
    }
    return conf_fail(at, err, "unknown key %s of a %s topology", key, t->kind);
}

static int read_flat_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                         const yaml_node_t *value, struct err *err)
{
    if (strcmp(key, "alpha_step_rank") != 0)
        return conf_fail(at, err, "unknown key %s of a flat topology", key);
    bool is_set;
    int rc = conf_yaml_bool(y, key, value, &is_set, err);
    if (rc == 0)
        conf_warn_no_effect(y->l, at, key, "topology.yaml");
    return rc;
}

/* Returns the words of that kind; NULL: unknown. */
static const struct conf_topo_words *find_words(const char *key)
{
    for (enum conf_topo kind = CONF_TOPO_FLAT + 1; conf_topo_words(kind); kind++)
        if (strcmp(key, conf_topo_words(kind)->kind) == 0)
            return conf_topo_words(kind);
    return NULL;
}

static int read_kind(struct conf_yaml *y, struct topology *t, const char *key, struct conf_place at,
                     const yaml_node_t *value, struct err *err)
{
    bool is_flat = strcmp(key, "flat") == 0, has_options = value->type == YAML_MAPPING_NODE;
    if (is_flat && !has_options) {
        bool is_set;
        int rc = conf_yaml_bool(y, key, value, &is_set, err);
        if (rc != 0 || !is_set)
            return rc;
    }
    if (t->kind)
        return conf_fail(at, err, "key %s: the topology is a %s already", key, t->kind);
    t->words = find_words(key);
    t->kind = is_flat ? "flat" : t->words->kind;
    if (is_flat)
        return has_options ? conf_yaml_mapping(y, value, read_flat_key, t, err) : 0;
    return conf_yaml_mapping(y, value, read_kind_key, t, err);
}

static int read_name(struct conf_yaml *y, struct topology *t, const yaml_node_t *value,
                     struct err *err)
{
    t->name = conf_yaml_text(value);
    if (!t->name || !*t->name || t->name[strcspn(t->name, "[],:=\"\\# \t\n")])
        return conf_fail(conf_yaml_place(y, value), err, "topology: expected one name");
    return 0;
}

static int read_topology_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                             const yaml_node_t *value, struct err *err)
{
    struct topology *t = ctx;
    if (strcmp(key, "topology") == 0)
        return read_name(y, t, value, err);
    if (strcmp(key, "cluster_default") == 0)
        return conf_yaml_bool(y, key, value, &t->is_default, err);
    if (strcmp(key, "flat") == 0 || find_words(key))
        return read_kind(y, t, key, at, value, err);
    return conf_fail(at, err, "unknown key %s", key);
}

/* --- lines of topology.conf ------------------------------------------------------------------- */

static int take_topology(struct conf_yaml *y, const struct topology *t, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;
    str_printf(&line, "TopologyConf=%s:%s%s", t->name, t->kind, t->is_default ? ":default" : "");
    int rc = conf_yaml_line(y, &line, t->at, err);
    for (size_t i = 0; i < t->items.len && rc == 0; i++) {
        const struct item *item = &t->items.data[i];
        str_printf(&line, CONF_TOPO_PREFIX "%s=%s", t->words->key, item->name);
        if (item->nodes)
            str_printf(&line, " Nodes=%s", item->nodes);
        if (item->children)
            str_printf(&line, " Switches=%s", item->children);
        rc = conf_yaml_line(y, &line, item->at, err);
    }
    for (size_t i = 0; i < t->toruses.list.len && rc == 0; i++) {
        str_puts(&line, t->toruses.list.data[i].text);
        rc = conf_yaml_line(y, &line, t->toruses.list.data[i].at, err);
    }
    if (rc == 0 && t->sizes && *t->sizes) {
        str_printf(&line, CONF_TOPO_PREFIX "BlockSizes=%s", t->sizes);
        rc = conf_yaml_line(y, &line, t->sizes_at, err);
    }
    return rc;
}

static int read_topology(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    (void)ctx;
    struct topology t = {.at = conf_yaml_place(y, node)};
    int rc = conf_yaml_mapping(y, node, read_topology_key, &t, err);
    if (rc == 0 && !t.name)
        rc = conf_fail(t.at, err, "a topology without a name: add 'topology: NAME'");
    if (rc == 0 && !t.kind)
        rc =
            conf_fail(t.at, err,
                      "topology %s: expected tree:, block:, ring:, torus3d: or flat: true", t.name);
    if (rc == 0)
        rc = take_topology(y, &t, err);
    vec_done(&t.items);
    vec_done(&t.toruses.list);
    return rc;
}

static int take_document(struct conf_yaml *y, const yaml_node_t *root, struct err *err)
{
    return root->type == YAML_SEQUENCE_NODE
               ? conf_yaml_sequence(y, root, read_topology, NULL, err)
               : conf_fail(conf_yaml_place(y, root), err, "expected '- topology: NAME'");
}

int conf_topo_read_yaml(struct conf_loader *l, const char *path, struct err *err)
{
    return conf_yaml_read(l, path, take_document, err);
}
