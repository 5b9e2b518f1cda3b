/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Converts "toruses:" of topology.yaml to lines: a torus, then its regions and its placements. */
#include <string.h>

#include "conf/conf_topo_yaml.h"

struct reader { /* reads an item of a list, which becomes a line */
    struct conf_topo_lines *lines;
    const char *name, *nodes, *dims, *anchor, *seed, *spacing;
    const yaml_node_t *regions, *placements;
    struct conf_place regions_at;
};

/* --- x, y and z ------------------------------------------------------------------------------- */

struct axes {
    const char *key;
    long long least, value[CONF_AXES];
    bool is_set[CONF_AXES];
};

static int read_axis(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                     const yaml_node_t *value, struct err *err)
{
    struct axes *a = ctx;
    const char *names = "xyz", *axis = key[0] && !key[1] ? strchr(names, key[0]) : NULL;
    const char *text = conf_yaml_text(value);
    if (!axis)
        return conf_fail(at, err, "unknown key %s of %s: expected x, y and z", key, a->key);
    if (!text || str_parse_i64(text, a->least, CONF_NODES_MAX, &a->value[axis - names]) < 0)
        return conf_fail(conf_yaml_place(y, value), err,
                         "%s: '%s' of %s: expected a number from %lld to %d", key, text ? text : "",
                         a->key, a->least, CONF_NODES_MAX);
    a->is_set[axis - names] = true;
    return 0;
}

/* As "4x4x2". */
static int read_axes(struct conf_yaml *y, const char *key, const yaml_node_t *value,
                     long long least, const char **out, struct err *err)
{
    struct axes a = {.key = key, .least = least};
    int rc = conf_yaml_mapping(y, value, read_axis, &a, err);
    for (size_t i = 0; i < CONF_AXES && rc == 0; i++)
        if (!a.is_set[i])
            rc = conf_fail(conf_yaml_place(y, value), err, "%s without %c: expected x, y and z",
                           key, "xyz"[i]);
    if (rc == 0)
        *out = arena_printf(&y->l->scratch, "%lldx%lldx%lld", a.value[0], a.value[1], a.value[2]);
    return rc;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void add_line(struct conf_yaml *y, const struct reader *r, struct conf_place at,
                     struct str *line)
{
    vec_push(&r->lines->list,
             ((struct conf_topo_line){at, arena_strdup(&y->l->scratch, str_cstr(line))}));
}

static void put_pair(struct str *line, const char *key, const char *value)
{
    if (value)
        str_printf(line, " %s=%s", key, value);
}

/* --- regions and placements ------------------------------------------------------------------- */

static int read_region_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                           const yaml_node_t *value, struct err *err)
{
    struct reader *r = ctx;
    if (strcmp(key, "anchor") == 0)
        return read_axes(y, key, value, 0, &r->anchor, err);
    if (strcmp(key, "dims") == 0)
        return read_axes(y, key, value, 1, &r->dims, err);
    if (strcmp(key, "nodes") == 0)
        return conf_yaml_words(y, value, &r->nodes, err);
    return conf_fail(at, err, "unknown key %s of a region: expected anchor, dims and nodes", key);
}

static int read_region(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    const struct reader *torus = ctx;
    struct reader r = {.lines = torus->lines};
    struct conf_place at = conf_yaml_place(y, node);
    int rc = conf_yaml_mapping(y, node, read_region_key, &r, err);
    if (rc == 0 && (!r.anchor || !r.dims || !r.nodes))
        rc = conf_fail(at, err, "torus %s: a region without %s:", torus->name,
                       !r.anchor ? "anchor"
                       : !r.dims ? "dims"
                                 : "nodes");
    if (rc < 0)
        return rc;
    _cleanup_str_ struct str line = STR_INIT;
    str_printf(&line, CONF_TOPO_PREFIX "Region=%s Dims=%s Nodes=%s", r.anchor, r.dims, r.nodes);
    add_line(y, &r, at, &line);
    return 0;
}

static int read_placement_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                              const yaml_node_t *value, struct err *err)
{
    struct reader *r = ctx;
    if (strcmp(key, "dims") == 0)
        return read_axes(y, key, value, 1, &r->dims, err);
    if (strcmp(key, "anchor_seed") == 0)
        return read_axes(y, key, value, 0, &r->seed, err);
    if (strcmp(key, "anchor_spacing") == 0)
        return read_axes(y, key, value, 1, &r->spacing, err);
    return conf_fail(at, err,
                     "unknown key %s of a placement: expected dims, anchor_seed or anchor_spacing",
                     key);
}

static int read_placement(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    const struct reader *torus = ctx;
    struct reader r = {.lines = torus->lines};
    struct conf_place at = conf_yaml_place(y, node);
    int rc = conf_yaml_mapping(y, node, read_placement_key, &r, err);
    if (rc == 0 && !r.dims)
        rc = conf_fail(at, err, "torus %s: a placement without dims:", torus->name);
    if (rc < 0)
        return rc;
    _cleanup_str_ struct str line = STR_INIT;
    str_printf(&line, CONF_TOPO_PREFIX "Placement=%s", r.dims);
    put_pair(&line, "AnchorSeed", r.seed);
    put_pair(&line, "AnchorSpacing", r.spacing);
    add_line(y, &r, at, &line);
    return 0;
}

/* --- toruses ---------------------------------------------------------------------------------- */

static int read_torus_key(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                          const yaml_node_t *value, struct err *err)
{
    struct reader *r = ctx;
    if (strcmp(key, "name") == 0)
        return conf_yaml_words(y, value, &r->name, err);
    if (strcmp(key, "dims") == 0)
        return read_axes(y, key, value, 1, &r->dims, err);
    if (strcmp(key, "nodes") == 0)
        return conf_yaml_words(y, value, &r->nodes, err);
    if (strcmp(key, "regions") == 0) {
        r->regions = value;
        r->regions_at = at;
        return 0;
    }
    if (strcmp(key, "placements") == 0) {
        r->placements = value;
        return 0;
    }
    return conf_fail(at, err, "unknown key %s of a torus", key);
}

static int check_torus(const struct reader *r, struct conf_place at, struct err *err)
{
    if (!r->name || !*r->name)
        return conf_fail(at, err, "a torus without name:");
    if (!r->dims)
        return conf_fail(at, err, "torus %s without dims:", r->name);
    if (r->nodes && r->regions)
        return conf_fail(r->regions_at, err,
                         "torus %s has nodes: and regions:, expected one of them", r->name);
    return 0;
}

int conf_torus_read_yaml(struct conf_yaml *y, void *lines, const yaml_node_t *node, struct err *err)
{
    struct reader r = {.lines = lines};
    struct conf_place at = conf_yaml_place(y, node);
    _cleanup_str_ struct str line = STR_INIT;
    int rc = conf_yaml_mapping(y, node, read_torus_key, &r, err);
    rc = rc == 0 ? check_torus(&r, at, err) : rc;
    if (rc < 0)
        return rc;
    str_printf(&line, CONF_TOPO_PREFIX "TorusName=%s Dims=%s", r.name, r.dims);
    put_pair(&line, "Nodes", r.nodes);
    add_line(y, &r, at, &line);
    if (r.regions)
        rc = conf_yaml_sequence(y, r.regions, read_region, &r, err);
    if (rc == 0 && r.placements)
        rc = conf_yaml_sequence(y, r.placements, read_placement, &r, err);
    return rc;
}
