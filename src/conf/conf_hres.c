/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hierarchical resources: parses their lines, checks that the layers have the shape that their mode
 * requires, and lists the changes between two configurations.
 */
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "conf/conf_hres.h"
#include "conf/conf_hres_file.h"
#include "conf/conf_internal.h"
#include "conf/conf_license.h"

static const struct conf_key hres_keys[CONF_HRES_KEYS] = {
    {"HresConf", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "a resource of resources.yaml"},
    {"Mode", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "MODE_1, MODE_2 or MODE_3"},
    {"Topology", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "the topology with the same blocks"},
    {"Variables", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "names of amounts"},
    {"Nodes", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "the nodes of a layer"},
    {"Count", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "the amount of a layer; -1: no limit"},
    {"Base", CONF_T_STR, CONF_NO_OFFSET, "", 0, 0, true, "amounts in use without jobs"},
};

const struct conf_kind conf_kind_hres = {hres_keys, CONF_HRES_KEYS, NULL, 0};

#define NAME_CHARS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."

void conf_hres_done(struct conf_hres_list *l)
{
    vec_foreach (&l->list, h) {
        vec_foreach (&h->layers, layer) {
            bitset_free(layer->node_set);
            vec_done(&layer->bases);
        }
        vec_done(&h->layers);
        vec_done(&h->variables);
    }
    vec_done(&l->list);
}

void conf_hres_summarise(const struct conf *c, struct str *out)
{
    const struct conf_hres_list *l = &c->hres;
    size_t layers = 0;
    if (!l->list.len)
        return;
    vec_foreach (&l->list, h)
        layers += h->layers.len;
    str_printf(out, "%s: %zu resource%s, %zu layer%s", l->list.data[0].file, l->list.len,
               l->list.len == 1 ? "" : "s", layers, layers == 1 ? "" : "s");
}

const struct conf_hres *conf_hres_find(const struct conf_hres_list *l, const char *name)
{
    vec_foreach (&l->list, h)
        if (str_eq(h->name, name))
            return h;
    return NULL;
}

const struct conf_hres_amount *conf_hres_find_variable(const struct conf_hres *h, const char *name)
{
    vec_foreach (&h->variables, v)
        if (str_eq(v->name, name))
            return v;
    return NULL;
}

int conf_hres_parse_count(const char *text, bool may_be_unlimited, uint64_t *out)
{
    long long number;
    if (may_be_unlimited && (strcmp(text, "-1") == 0 || str_case_eq(text, "INFINITE"))) {
        *out = CONF_HRES_UNLIMITED;
        return 0;
    }
    if (str_parse_i64(text, 0, CONF_HRES_COUNT_MAX, &number) != 0)
        return -ERR_CONFIG;
    *out = (uint64_t)number;
    return 0;
}

bool conf_hres_is_name(const char *text)
{
    size_t len = strspn(text, NAME_CHARS);
    return len && len <= CONF_HRES_NAME_MAX && !text[len] && *text != '-' &&
           !str_case_eq(text, "DEFAULT");
}

/* --- lines ------------------------------------------------------------------------------------ */

static bool has_value(const struct conf_row *row, enum conf_hres_key key)
{
    return row->value[key].text && *row->value[key].text;
}

static struct conf_place get_hres_place(const struct conf_hres *h)
{
    return (struct conf_place){h->file, h->line, h->column};
}

static struct conf_place place_of_layer(const struct conf_hres_layer *layer)
{
    return (struct conf_place){layer->file, layer->line, layer->column};
}

/* Parses "NAME:VALUE,...". */
static int read_amounts(struct conf_loader *l, const struct conf_value *v, const char *key,
                        struct conf_hres_layer *layer, struct conf_hres *h, struct err *err)
{
    words_foreach (v->text, w) {
        char *word = arena_printf(&l->priv->arena, "%.*s", (int)w.len, w.at),
             *colon = strchr(word, ':');
        struct conf_hres_amount a = {.name = word};
        if (colon)
            *colon = '\0';
        if (!colon || !conf_hres_is_name(word) ||
            conf_hres_parse_count(colon + 1, false, &a.value) != 0)
            return conf_fail(v->at, err, "%s=%s: expected NAME:VALUE,...", key, v->text);
        if (!layer && a.value > CONF_LICENSE_COUNT_MAX)
            return conf_fail(v->at, err, "variable %s of resource %s: expected at most %u", word,
                             h->name, CONF_LICENSE_COUNT_MAX);
        if (layer)
            vec_push(&layer->bases, a);
        else if (conf_hres_find_variable(h, word))
            return conf_fail(v->at, err, "variable %s of resource %s is defined twice", word,
                             h->name);
        else
            vec_push(&h->variables, a);
    }
    return 0;
}

static int check_clash(struct conf_loader *l, const char *name, struct conf_place at,
                       struct err *err)
{
    const struct conf_value *v = &l->priv->written[CONF_KEY_licenses];
    struct conf_licenses licenses;
    bool clashes = false;
    if (conf_licenses_parse(l->conf->licenses, &licenses, NULL) != 0)
        return 0; /* reported with its own key */
    vec_foreach (&licenses.list, one)
        clashes = clashes || str_eq(one->name, name);
    conf_licenses_done(&licenses);
    if (!clashes)
        return 0;
    return conf_fail(at, err,
                     "resource %s: %s:%d has Licenses=%s; a resource and a license need different "
                     "names",
                     name, v->at.file, v->at.line, l->conf->licenses);
}

static int add_resource(struct conf_loader *l, const struct conf_row *row, struct err *err)
{
    const struct conf_value *v = row->value;
    const char *name = v[CONF_HRES_NAME].text, *mode = v[CONF_HRES_MODE].text;
    const struct conf_hres *same = conf_hres_find(&l->conf->hres, name);
    if (!conf_hres_is_name(name))
        return conf_fail(row->at, err, "resource '%.80s': expected " CONF_HRES_NAME_FORM, name);
    if (same)
        return conf_fail(row->at, err, "resource %s is defined on line %d already", name,
                         same->line);
    if (l->conf->hres.list.len == CONF_HRES_MAX)
        return conf_fail(row->at, err, "resource %s: more than %d resources", name, CONF_HRES_MAX);
    if (!str_starts(mode, "MODE_") || strlen(mode) != 6 || mode[5] < '1' || mode[5] > '3')
        return conf_fail(row->at, err, "Mode=%s: expected MODE_1, MODE_2 or MODE_3", mode);
    struct conf_hres h = {
        .name = name,
        .mode = (enum conf_hres_mode)(mode[5] - '0'),
        .topology = has_value(row, CONF_HRES_TOPOLOGY) ? v[CONF_HRES_TOPOLOGY].text : NULL,
        .file = row->at.file,
        .line = row->at.line,
        .column = row->at.column};
    if (h.topology && h.mode != CONF_HRES_PER_NODE)
        return conf_fail(row->at, err, "resource %s: topology is for MODE_3, its mode is %s", name,
                         mode);
    vec_push(&l->conf->hres.list, h);
    int rc = read_amounts(l, &v[CONF_HRES_VARIABLES], "Variables", NULL,
                          &vec_last(&l->conf->hres.list), err);
    return rc == 0 ? check_clash(l, name, row->at, err) : rc;
}

static int add_layer(struct conf_loader *l, const struct conf_row *row, struct err *err)
{
    const struct conf_value *v = row->value;
    const char *name = v[CONF_HRES_NAME].text;
    struct conf_hres *h = l->conf->hres.list.len ? &vec_last(&l->conf->hres.list) : NULL;
    _cleanup_hostlist_ struct hostlist *list = NULL;
    _cleanup_str_ struct str text = STR_INIT;
    struct err inner = {0};
    struct conf_hres_layer layer = {
        .file = row->at.file, .line = row->at.line, .column = row->at.column};
    if (!h || !str_eq(h->name, name))
        return conf_fail(row->at, err, "a layer of %s: expected after Mode= of %s", name, name);
    if (!has_value(row, CONF_HRES_NODES) || !has_value(row, CONF_HRES_COUNT))
        return conf_fail(row->at, err, "a layer of %s: expected Nodes= and Count=", name);
    if (hostlist_parse(v[CONF_HRES_NODES].text, &list, &inner) < 0)
        return conf_fail(row->at, err, "Nodes=%s: %s", v[CONF_HRES_NODES].text, inner.text);
    if (conf_hres_parse_count(v[CONF_HRES_COUNT].text, true, &layer.count) != 0)
        return conf_fail(row->at, err, "Count=%s: expected a number, or -1",
                         v[CONF_HRES_COUNT].text);
    if (h->layers.len == CONF_HRES_LAYERS_MAX)
        return conf_fail(row->at, err, "resource %s: more than %d layers", name,
                         CONF_HRES_LAYERS_MAX);
    hostlist_uniq(list);
    l->conf->hres.names += hostlist_count(list);
    if (l->conf->hres.names > CONF_HRES_NAMES_MAX)
        return conf_fail(row->at, err,
                         "resource %s: the layers up to this one name nodes more than %d times",
                         name, CONF_HRES_NAMES_MAX);
    hostlist_format(list, &text);
    layer.nodes = arena_strdup(&l->priv->arena, str_cstr(&text));
    vec_push(&h->layers, layer);
    return read_amounts(l, &v[CONF_HRES_BASE], "Base", &vec_last(&h->layers), h, err);
}

/* --- shape of the layers ---------------------------------------------------------------------- */

/* Node names are numbered, including those of nodes that do not exist yet, so that a dynamic node
 * has its layers from the start. */

struct named { /* conf_index requires the name first */
    const char *name;
    uint32_t top; /* index of its largest layer so far, + 1 */
};

struct shape {
    struct conf_loader *l;
    struct conf_hres *h;
    VEC(struct named) names;
    struct conf_index index;
    struct members {
        VEC32(uint32_t) names;
        uint32_t level, parent; /* level 0: lowest layer; parent: index + 1, 0: none */
    } * of;                     /* by layer */
};

static int compare_layers(const void *a, const void *b)
{
    const struct conf_hres_layer *one = a, *other = b;
    /* 'base' is the number of names at this stage */
    size_t n = (size_t)one->base, m = (size_t)other->base;
    return n != m ? (n > m) - (n < m) : strcmp(one->nodes, other->nodes);
}

/* Sorts by the number of names, then by the names, independent of the order in the file. */
static void sort_layers(struct conf_hres *h)
{
    vec_foreach (&h->layers, layer) {
        _cleanup_hostlist_ struct hostlist *list = NULL;
        layer->base = hostlist_parse(layer->nodes, &list, NULL) == 0 ? hostlist_count(list) : 0;
    }
    qsort(h->layers.data, h->layers.len, sizeof(*h->layers.data), compare_layers);
    vec_foreach (&h->layers, layer)
        layer->base = 0;
}

static void number_names(struct shape *s)
{
    size_t total = 0;
    char buf[HOSTLIST_NAME_MAX + 1];
    for (size_t i = 0; i < s->h->layers.len; i++) {
        _cleanup_hostlist_ struct hostlist *list = NULL;
        if (hostlist_parse(s->h->layers.data[i].nodes, &list, NULL) == 0)
            total += hostlist_count(list);
    }
    conf_index_reserve(&s->index, total);
    for (size_t i = 0; i < s->h->layers.len; i++) {
        _cleanup_hostlist_ struct hostlist *list = NULL;
        if (hostlist_parse(s->h->layers.data[i].nodes, &list, NULL) != 0)
            continue;
        for (size_t k = 0; k < hostlist_count(list); k++) {
            const char *name = hostlist_nth(list, k, buf);
            long at = conf_index_find(&s->index, s->names.data, sizeof(struct named), name);
            if (at < 0) {
                at = (long)s->names.len;
                vec_push(&s->names, ((struct named){arena_strdup(&s->l->scratch, name), 0}));
                conf_index_add(&s->index, s->names.data, sizeof(struct named), (size_t)at);
            }
            vec_push(&s->of[i].names, (uint32_t)at);
        }
    }
}

static void find_nodes(struct shape *s, size_t i)
{
    struct conf_hres_layer *layer = &s->h->layers.data[i];
    size_t unknown = 0;
    const char *first = NULL;
    layer->node_set = bitset_new(s->l->conf->nodes.len);
    vec_foreach (&s->of[i].names, number) {
        const char *name = s->names.data[*number].name;
        long node = conf_find_node(s->l->conf, name);
        if (node >= 0)
            bitset_set(layer->node_set, (size_t)node);
        else if (unknown++ == 0)
            first = name;
    }
    if (unknown == 1 && !s->l->conf->max_node_count)
        conf_warn(s->l, place_of_layer(layer), "node %s of this layer of %s is not in slurm.conf",
                  first, s->h->name);
    else if (unknown && !s->l->conf->max_node_count)
        conf_warn(s->l, place_of_layer(layer),
                  "%zu nodes of this layer of %s are not in slurm.conf, the first is %s", unknown,
                  s->h->name, first);
}

static int check_same(const struct shape *s, struct err *err)
{
    for (size_t i = 1; i < s->h->layers.len; i++) {
        const struct conf_hres_layer *one = &s->h->layers.data[i - 1], *other = one + 1;
        const struct conf_hres_layer *later = one->line > other->line ? one : other;
        if (str_eq(one->nodes, other->nodes))
            return conf_fail(place_of_layer(later), err,
                             "a layer of %s has the nodes of the layer on line %d (%s)", s->h->name,
                             later == one ? other->line : one->line, one->nodes);
    }
    return 0;
}

/* Makes the layer the parent of all layers inside it that have no parent yet. */
static int join_below(struct shape *s, size_t i, struct err *err)
{
    const struct conf_hres_layer *layers = s->h->layers.data, *layer = &layers[i];
    struct members *of = &s->of[i];
    _cleanup_free_ uint32_t *inside = mem_new_array(uint32_t, s->h->layers.len + 1);
    bool bare = false;
    uint32_t level = 0;
    vec_foreach (&of->names, number) {
        uint32_t top = s->names.data[*number].top;
        bare = bare || !top;
        if (top)
            inside[top - 1]++;
    }
    for (size_t k = 0; k < i; k++) {
        if (!inside[k])
            continue;
        if (inside[k] != s->of[k].names.len)
            return conf_fail(place_of_layer(layer), err,
                             "resource %s: the layers %s and %s (line %d) overlap, and neither is "
                             "within the other: MODE_3 needs a tree",
                             s->h->name, layer->nodes, layers[k].nodes, layers[k].line);
        if (bare || (level && s->of[k].level + 1 != level))
            return conf_fail(place_of_layer(layer), err,
                             "resource %s: nodes of the layer %s differ in the number of layers "
                             "below it: MODE_3 needs a tree of uniform depth",
                             s->h->name, layer->nodes);
        level = s->of[k].level + 1;
        s->of[k].parent = (uint32_t)i + 1;
    }
    of->level = level;
    vec_foreach (&of->names, number)
        s->names.data[*number].top = (uint32_t)i + 1;
    return 0;
}

static int check_tree(struct shape *s, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->h->layers.len && rc == 0; i++)
        rc = join_below(s, i, err);
    const struct conf_hres_layer *root = &vec_last(&s->h->layers);
    for (size_t i = 0; i + 1 < s->h->layers.len && rc == 0; i++)
        if (!s->of[i].parent)
            rc = conf_fail(place_of_layer(&s->h->layers.data[i]), err,
                           "resource %s: the layer %s is not within the layer %s (line %d): MODE_3 "
                           "needs one layer that has all nodes",
                           s->h->name, s->h->layers.data[i].nodes, root->nodes, root->line);
    return rc;
}

/* Whether all names of the layer are in the other one, whose names are marked. */
static bool is_within(const struct shape *s, size_t i, const struct bitset *other)
{
    vec_foreach (&s->of[i].names, number)
        if (!bitset_test(other, *number))
            return false;
    return true;
}

/* The base use of a layer is also used in all layers around it; in mode 1 in itself only. */
static void add_bases(struct shape *s)
{
    struct conf_hres_layer *layers = s->h->layers.data;
    _cleanup_bitset_ struct bitset *names = bitset_new(s->names.len);
    bool any = false;
    vec_foreach (&s->h->layers, layer)
        vec_foreach (&layer->bases, base) {
            layer->base += base->value;
            any = true;
        }
    if (!any || s->h->mode == CONF_HRES_ONE_LAYER)
        return;
    for (size_t i = s->h->layers.len; i-- > 0;) {
        bitset_zero(names);
        vec_foreach (&s->of[i].names, number)
            bitset_set(names, *number);
        for (size_t k = 0; k < i; k++)
            if (layers[k].bases.len && is_within(s, k, names))
                vec_foreach (&layers[k].bases, base)
                    layers[i].base += base->value;
    }
}

static void warn_bases(struct shape *s)
{
    vec_foreach (&s->h->layers, layer)
        if (layer->count != CONF_HRES_UNLIMITED && layer->base > layer->count)
            conf_warn(s->l, place_of_layer(layer),
                      "resource %s: base amounts of the layer %s are %llu, its count is %llu: jobs "
                      "get none",
                      s->h->name, layer->nodes, (unsigned long long)layer->base,
                      (unsigned long long)layer->count);
}

/* --- the same layout as a network --------------------------------------------------------------
 */

/* Sets 'same' for each layer that equals a group of 'count' consecutive blocks, counted from the
 * first block as the planner joins them. Returns the first block of a group that no layer equals,
 * or NULL. */
static const struct conf_switch *mark_groups(const struct shape *s, const struct conf_network *net,
                                             size_t count, bool *same)
{
    const struct conf_switch *missing = NULL;
    _cleanup_bitset_ struct bitset *nodes = bitset_new(s->l->conf->nodes.len);
    for (size_t first = 0; first < net->switches.len; first += count) {
        bool found = false;
        bitset_zero(nodes);
        for (size_t i = first; i < first + count && i < net->switches.len; i++)
            bitset_or(nodes, net->switches.data[i].node_set);
        for (size_t i = 0; i < s->h->layers.len; i++)
            if (bitset_equal(s->h->layers.data[i].node_set, nodes))
                same[i] = found = true;
        if (!found && !missing && !bitset_empty(nodes))
            missing = &net->switches.data[first];
    }
    return missing;
}

static void format_sizes(const struct conf_network *net, struct str *out)
{
    vec_foreach (&net->block_sizes, size)
        str_printf(out, "%s%u", out->len ? "," : "", *size);
}

/* Layers are blocks, groups of blocks that BlockSizes joins, or all nodes. */
static int check_layers(struct shape *s, const struct conf_network *net, const bool *lowest,
                        const bool *same, struct err *err)
{
    _cleanup_str_ struct str sizes = STR_INIT;
    format_sizes(net, &sizes);
    for (size_t i = 0; i < s->h->layers.len; i++) {
        const struct conf_hres_layer *layer = &s->h->layers.data[i];
        if (s->of[i].level == 0 && !lowest[i])
            return conf_fail(place_of_layer(layer), err,
                             "resource %s: no block of topology %s has the nodes %s: the lowest "
                             "layers must be its blocks",
                             s->h->name, s->h->topology, layer->nodes);
        if (s->of[i].parent && !same[i])
            return conf_fail(
                place_of_layer(layer), err,
                "resource %s: topology %s does not join blocks to the nodes %s: layers "
                "above the blocks must be those of BlockSizes=%s, and one with all "
                "nodes",
                s->h->name, s->h->topology, layer->nodes, str_cstr(&sizes));
    }
    return 0;
}

static int check_layout(struct shape *s, const struct conf_network *net, struct err *err)
{
    _cleanup_free_ bool *lowest = mem_new_array(bool, s->h->layers.len),
                        *same = mem_new_array(bool, s->h->layers.len);
    const struct conf_switch *missing = mark_groups(s, net, 1, lowest);
    memcpy(same, lowest, s->h->layers.len * sizeof(*same));
    for (size_t i = 1; i < net->block_sizes.len; i++)
        mark_groups(s, net, net->block_sizes.data[i] / net->block_sizes.data[0], same);
    int rc = check_layers(s, net, lowest, same, err);
    if (rc != 0 || !missing)
        return rc;
    return conf_fail(get_hres_place(s->h), err,
                     "resource %s: no layer has the nodes of block %s of topology %s", s->h->name,
                     missing->name, s->h->topology);
}

/* topology.conf gives its topology no name: any one means that. The sample of Slurm's guide names a
 * topology that clusters without blocks do not have. */
static int check_topology(struct shape *s, struct err *err)
{
    const struct conf *c = s->l->conf;
    if (!s->h->topology)
        return 0;
    bool is_named = c->networks_are_named, any = false;
    long found = is_named ? conf_find_network(c, s->h->topology) : c->default_network;
    vec_foreach (&c->networks, net)
        any = any || net->kind == CONF_TOPO_BLOCK;
    if (found >= 0 && c->networks.data[found].kind == CONF_TOPO_BLOCK)
        return check_layout(s, &c->networks.data[found], err);
    if (is_named && (any || found >= 0))
        return conf_fail(get_hres_place(s->h), err,
                         found >= 0 ? "resource %s: topology %s of topology.yaml has no blocks"
                                    : "resource %s: unknown topology '%s': see topology.yaml",
                         s->h->name, s->h->topology);
    conf_warn(s->l, get_hres_place(s->h),
              "resource %s: topology %s is ignored, the cluster has no blocks", s->h->name,
              s->h->topology);
    return 0;
}

static int check_shape(struct conf_loader *l, struct conf_hres *h, struct err *err)
{
    struct shape s = {.l = l, .h = h};
    if (!h->layers.len)
        return conf_fail(get_hres_place(h), err, "resource %s has no layers", h->name);
    s.of = mem_new_array(struct members, h->layers.len);
    sort_layers(h);
    int rc = check_same(&s, err);
    number_names(&s);
    for (size_t i = 0; i < h->layers.len; i++)
        find_nodes(&s, i);
    if (rc == 0 && h->mode == CONF_HRES_PER_NODE)
        rc = check_tree(&s, err);
    if (rc == 0) {
        add_bases(&s);
        warn_bases(&s);
        rc = check_topology(&s, err);
    }
    for (size_t i = 0; i < h->layers.len; i++)
        vec_done(&s.of[i].names);
    free(s.of);
    vec_done(&s.names);
    conf_index_done(&s.index);
    return rc;
}

int conf_hres_build(struct conf_loader *l, struct err *err)
{
    int rc = 0;
    vec_foreach (&l->hres.row, row) {
        rc = has_value(row, CONF_HRES_MODE) ? add_resource(l, row, err) : add_layer(l, row, err);
        if (rc < 0)
            return rc;
    }
    vec_foreach (&l->conf->hres.list, h) {
        rc = conf_go_on(l, check_shape(l, h, err), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static const struct conf_hres_layer *find_same_layer(const struct conf_hres *h, const char *nodes)
{
    vec_foreach (&h->layers, layer)
        if (str_eq(layer->nodes, nodes))
            return layer;
    return NULL;
}

static void put_count(uint64_t count, struct str *out)
{
    if (count == CONF_HRES_UNLIMITED)
        str_puts(out, "-1");
    else
        str_printf(out, "%llu", (unsigned long long)count);
}

static void put_amounts(const struct conf_hres_amount *list, size_t len, struct str *out)
{
    str_puts(out, len ? "" : "none");
    for (size_t i = 0; i < len; i++)
        str_printf(out, "%s%s:%llu", i ? "," : "", list[i].name, (unsigned long long)list[i].value);
}

/* Prints "WHAT: FROM -> TO" for variables or base amounts that differ. */
static void amounts_diff(const char *what, const char *key, const struct conf_hres_amount *from,
                         size_t from_len, const struct conf_hres_amount *to, size_t to_len,
                         struct str *out)
{
    _cleanup_str_ struct str a = STR_INIT, b = STR_INIT;
    put_amounts(from, from_len, &a);
    put_amounts(to, to_len, &b);
    conf_text_diff(what, key, str_cstr(&a), str_cstr(&b), out);
}

static void layer_diff(const char *name, const struct conf_hres_layer *a,
                       const struct conf_hres_layer *b, struct str *out)
{
    _cleanup_free_ char *what = mem_printf("resource %s(%s): ", name, b->nodes);
    _cleanup_str_ struct str from = STR_INIT, to = STR_INIT;
    put_count(a->count, &from);
    put_count(b->count, &to);
    conf_text_diff(what, "count", str_cstr(&from), str_cstr(&to), out);
    amounts_diff(what, "base", a->bases.data, a->bases.len, b->bases.data, b->bases.len, out);
}

static void resource_diff(const struct conf_hres *a, const struct conf_hres *b, struct str *out)
{
    _cleanup_free_ char *what = mem_printf("resource %s: ", b->name);
    if (a->mode != b->mode)
        str_printf(out, "%smode: MODE_%d -> MODE_%d\n", what, a->mode, b->mode);
    conf_text_diff(what, "topology", a->topology, b->topology, out);
    amounts_diff(what, "variables", a->variables.data, a->variables.len, b->variables.data,
                 b->variables.len, out);
    vec_foreach (&a->layers, layer)
        if (!find_same_layer(b, layer->nodes))
            str_printf(out, "resource %s(%s): removed\n", b->name, layer->nodes);
    vec_foreach (&b->layers, layer) {
        const struct conf_hres_layer *before = find_same_layer(a, layer->nodes);
        if (before)
            layer_diff(b->name, before, layer, out);
        else
            str_printf(out, "resource %s(%s): added\n", b->name, layer->nodes);
    }
}

void conf_hres_diff(const struct conf *from, const struct conf *to, struct str *out)
{
    vec_foreach (&from->hres.list, h)
        if (!conf_hres_find(&to->hres, h->name))
            str_printf(out, "resource %s: removed\n", h->name);
    vec_foreach (&to->hres.list, h) {
        const struct conf_hres *before = conf_hres_find(&from->hres, h->name);
        if (before)
            resource_diff(before, h, out);
        else
            str_printf(out, "resource %s: added, MODE_%d, %zu layer%s\n", h->name, h->mode,
                       h->layers.len, h->layers.len == 1 ? "" : "s");
    }
}
