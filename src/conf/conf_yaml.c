/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * topology.yaml as lines of topology.conf, each with its place in the file. libyaml parses it
 * twice: as events, which shows what is refused (aliases, a second document, lists within too many
 * lists, so that a small file stays a small document), then as a document.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include <yaml.h>

#include "base/path.h"
#include "conf/conf_internal.h"

#define DEPTH_MAX 32 /* of lists and mappings; a topology has 6 */

struct yaml {
    struct conf_loader *l;
    const char *file;
    const char *text;
    size_t len;
    yaml_document_t document;
};

/* --- what libyaml says ---------------------------------------------------------------------------
 */

static struct conf_place place_of_mark(const struct yaml *y, yaml_mark_t mark)
{
    return (struct conf_place){y->file, (int)mark.line + 1};
}

static struct conf_place place_of(const struct yaml *y, const yaml_node_t *node)
{
    return place_of_mark(y, node->start_mark);
}

/* Whether a tab indents the line, counted from 0. */
static bool is_indented_by_tab(const struct yaml *y, size_t line)
{
    const char *at = y->text;
    for (; line && at; line--) {
        at = strchr(at, '\n');
        at += at != NULL;
    }
    return at && at[strspn(at, " ")] == '\t';
}

static int fail_parser(const struct yaml *y, const yaml_parser_t *p, struct err *err)
{
    const char *context = p->context ? p->context : "", *problem = p->problem ? p->problem : "";
    if (p->error == YAML_READER_ERROR) {
        int line = 1;
        for (size_t i = 0; i < p->problem_offset && i < y->len; i++)
            line += y->text[i] == '\n';
        return conf_fail((struct conf_place){y->file, line}, err, "%s", problem);
    }
    if (p->error == YAML_SCANNER_ERROR && is_indented_by_tab(y, p->problem_mark.line))
        return conf_fail(place_of_mark(y, p->problem_mark), err, "a tab in the indentation");
    if (str_starts(context, "while parsing a flow "))
        return conf_fail(place_of_mark(y, p->context_mark), err,
                         "[ or { is not closed, or a word with brackets lacks quotes: %s", problem);
    return conf_fail(place_of_mark(y, p->problem_mark), err, "%s%s%s", context,
                     *context ? ": " : "", problem);
}

static void open_parser(const struct yaml *y, yaml_parser_t *p)
{
    if (!yaml_parser_initialize(p))
        abort(); /* out of memory, as mem.h has it */
    yaml_parser_set_encoding(p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(p, (const unsigned char *)y->text, y->len);
}

struct limits {
    unsigned depth, documents;
};

static int check_event(const struct yaml *y, const yaml_event_t *e, struct limits *so_far,
                       struct err *err)
{
    switch (e->type) {
    case YAML_ALIAS_EVENT:
        return conf_fail(place_of_mark(y, e->start_mark), err, "*%s: aliases are not supported",
                         (const char *)e->data.alias.anchor);
    case YAML_DOCUMENT_START_EVENT:
        if (++so_far->documents > 1)
            return conf_fail(place_of_mark(y, e->start_mark), err, "a second document begins");
        return 0;
    case YAML_SEQUENCE_START_EVENT:
    case YAML_MAPPING_START_EVENT:
        if (++so_far->depth > DEPTH_MAX)
            return conf_fail(place_of_mark(y, e->start_mark), err,
                             "more than %d lists and mappings in one another", DEPTH_MAX);
        return 0;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        so_far->depth--;
        return 0;
    default:
        return 0;
    }
}

static int check_events(const struct yaml *y, struct err *err)
{
    struct limits so_far = {0};
    yaml_parser_t p;
    bool is_over = false;
    int rc = 0;
    open_parser(y, &p);
    while (rc == 0 && !is_over) {
        yaml_event_t e;
        if (!yaml_parser_parse(&p, &e)) {
            rc = fail_parser(y, &p, err);
            break;
        }
        is_over = e.type == YAML_STREAM_END_EVENT;
        rc = check_event(y, &e, &so_far, err);
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&p);
    return rc;
}

static int load_document(struct yaml *y, struct err *err)
{
    yaml_parser_t p;
    open_parser(y, &p);
    int rc = yaml_parser_load(&p, &y->document) ? 0 : fail_parser(y, &p, err);
    yaml_parser_delete(&p);
    return rc;
}

/* --- nodes of the document -----------------------------------------------------------------------
 */

static yaml_node_t *get_node(struct yaml *y, int number)
{
    return yaml_document_get_node(&y->document, number);
}

static const char *scalar_text(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool is_empty(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0;
}

typedef int pair_fn(struct yaml *y, void *ctx, const char *key, struct conf_place at,
                    const yaml_node_t *value, struct err *err);
typedef int item_fn(struct yaml *y, void *ctx, const yaml_node_t *item, struct err *err);

static int read_mapping(struct yaml *y, const yaml_node_t *node, pair_fn *each, void *ctx,
                        struct err *err)
{
    if (is_empty(node))
        return 0;
    if (node->type != YAML_MAPPING_NODE)
        return conf_fail(place_of(y, node), err, "'%s': expected 'key: value'",
                         scalar_text(node) ? scalar_text(node) : "[");
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = get_node(y, p->key);
        if (!scalar_text(key))
            return conf_fail(place_of(y, key), err, "expected a word as key");
        int rc = each(y, ctx, scalar_text(key), place_of(y, key), get_node(y, p->value), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int read_sequence(struct yaml *y, const yaml_node_t *node, item_fn *each, void *ctx,
                         struct err *err)
{
    if (is_empty(node))
        return 0;
    if (node->type != YAML_SEQUENCE_NODE)
        return conf_fail(place_of(y, node), err, "expected a list of '- key: value'");
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        int rc = each(y, ctx, get_node(y, *i), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* A word is added to the list without its blanks. */
static int add_word(struct yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct str *list = ctx;
    if (!scalar_text(node))
        return conf_fail(place_of(y, node), err, "expected a word, or a list of words in [ ]");
    if (list->len)
        str_putc(list, ',');
    for (size_t i = 0; i < node->data.scalar.length; i++)
        if (!isspace(node->data.scalar.value[i]))
            str_putc(list, (char)node->data.scalar.value[i]);
    return 0;
}

/* A word, or a list of words as "a,b"; valid while the file is loaded. */
static int read_words(struct yaml *y, const yaml_node_t *node, const char **out, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;
    int rc = node->type == YAML_SEQUENCE_NODE ? read_sequence(y, node, add_word, &list, err)
                                              : add_word(y, &list, node, err);
    if (rc < 0)
        return rc;
    if (strlen(str_cstr(&list)) != list.len)
        return conf_fail(place_of(y, node), err, "a NUL byte");
    *out = arena_strdup(&y->l->scratch, str_cstr(&list));
    return 0;
}

/* --- topologies ----------------------------------------------------------------------------------
 */

struct item { /* a switch or a block */
    struct conf_place at;
    const char *name, *nodes, *children;
};

struct topology {
    bool is_default, is_block, has_kind;
    struct conf_place default_at, sizes_at;
    const char *sizes;
    VEC(struct item) items;
};

static int read_item_key(struct yaml *y, void *ctx, const char *key, struct conf_place at,
                         const yaml_node_t *value, struct err *err)
{
    struct topology *t = ctx;
    struct item *item = &vec_last(&t->items);
    bool is_name = t->is_block ? strcmp(key, "block") == 0 : strcmp(key, "switch") == 0;
    if (is_name)
        return read_words(y, value, &item->name, err);
    if (strcmp(key, "nodes") == 0)
        return read_words(y, value, &item->nodes, err);
    if (strcmp(key, "children") == 0 && !t->is_block)
        return read_words(y, value, &item->children, err);
    return conf_fail(at, err, "unknown key %s of a %s", key, t->is_block ? "block" : "switch");
}

static int read_item(struct yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct topology *t = ctx;
    struct item item = {.at = place_of(y, node)};
    vec_push(&t->items, item);
    int rc = read_mapping(y, node, read_item_key, t, err);
    if (rc == 0 && !vec_last(&t->items).name)
        rc = conf_fail(item.at, err, "an item without %s:", t->is_block ? "block" : "switch");
    return rc;
}

/* Of "tree:" or "block:". */
static int read_kind_key(struct yaml *y, void *ctx, const char *key, struct conf_place at,
                         const yaml_node_t *value, struct err *err)
{
    struct topology *t = ctx;
    bool is_list = t->is_block ? strcmp(key, "blocks") == 0 : strcmp(key, "switches") == 0;
    if (is_list)
        return read_sequence(y, value, read_item, t, err);
    if (strcmp(key, "block_sizes") == 0 && t->is_block) {
        t->sizes_at = at;
        return read_words(y, value, &t->sizes, err);
    }
    return conf_fail(at, err, "unknown key %s of a %s", key,
                     t->is_block ? "block topology" : "tree");
}

/* Keys of Slurm's topologies that are not built in. */
static const char *const unsupported[] = {
    "alpha_step_rank", "anchor",  "anchor_seed", "anchor_spacing", "dims",    "name",
    "placements",      "regions", "ring",        "rings",          "torus3d", "toruses"};

static int read_topology_key(struct yaml *y, void *ctx, const char *key, struct conf_place at,
                             const yaml_node_t *value, struct err *err)
{
    struct topology *t = ctx;
    const char *text = scalar_text(value);
    if (strcmp(key, "topology") == 0 || strcmp(key, "flat") == 0)
        return 0;
    if (strcmp(key, "cluster_default") == 0) {
        t->is_default = text && (strcasecmp(text, "true") == 0 || strcasecmp(text, "yes") == 0);
        t->default_at = at;
        return 0;
    }
    if (strcmp(key, "tree") == 0 || strcmp(key, "block") == 0) {
        if (t->has_kind)
            return conf_fail(at, err, "key %s: the topology has a tree or blocks already", key);
        t->has_kind = true;
        t->is_block = *key == 'b';
        return read_mapping(y, value, read_kind_key, t, err);
    }
    for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++)
        if (strcmp(key, unsupported[i]) == 0)
            return conf_fail(at, err, "key %s is not supported: use a tree, block or flat topology",
                             key);
    return conf_fail(at, err, "unknown key %s", key);
}

/* The cluster's: the first one, unless another one says that it is. */
struct choice {
    struct topology chosen;
    unsigned count;
};

static int read_topology(struct yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct choice *c = ctx;
    struct topology t = {0};
    int rc = read_mapping(y, node, read_topology_key, &t, err);
    if (rc == 0 && t.is_default && c->chosen.is_default)
        rc = conf_fail(t.default_at, err, "cluster_default: another topology is it already");
    if (rc == 0 && (c->count++ == 0 || t.is_default)) {
        struct topology old = c->chosen;
        c->chosen = t;
        t = old;
    }
    vec_done(&t.items);
    return rc;
}

/* --- lines of topology.conf ----------------------------------------------------------------------
 */

static int take_line(struct yaml *y, struct str *line, struct conf_place at, struct err *err)
{
    char *text = arena_strdup(&y->l->priv->arena, str_cstr(line));
    str_clear(line);
    return conf_go_on(y->l, conf_lines_take(y->l, text, at, err), err);
}

static int take_topology(struct yaml *y, const struct topology *t, struct err *err)
{
    _cleanup_str_ struct str line = STR_INIT;
    int rc = 0;
    for (size_t i = 0; i < t->items.len && rc == 0; i++) {
        const struct item *item = &t->items.data[i];
        str_printf(&line, "%s=%s", t->is_block ? "BlockName" : "SwitchName", item->name);
        if (item->nodes)
            str_printf(&line, " Nodes=%s", item->nodes);
        if (item->children)
            str_printf(&line, " Switches=%s", item->children);
        rc = take_line(y, &line, item->at, err);
    }
    if (rc == 0 && t->sizes && *t->sizes) {
        str_printf(&line, "BlockSizes=%s", t->sizes);
        rc = take_line(y, &line, t->sizes_at, err);
    }
    return rc;
}

static int take_document(struct yaml *y, struct err *err)
{
    struct choice c = {0};
    const yaml_node_t *root = yaml_document_get_root_node(&y->document);
    if (!root)
        return 0;
    int rc = root->type == YAML_SEQUENCE_NODE
                 ? read_sequence(y, root, read_topology, &c, err)
                 : conf_fail(place_of(y, root), err, "expected '- topology: NAME'");
    if (rc == 0)
        rc = take_topology(y, &c.chosen, err);
    vec_done(&c.chosen.items);
    return rc;
}

int conf_yaml_read(struct conf_loader *l, const char *path, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int rc = path_read_file(path, CONF_FILE_MAX - l->bytes, &text, err);
    if (rc < 0)
        return rc;
    struct yaml y = {.l = l, .text = str_cstr(&text), .len = text.len};
    y.file = arena_strdup(&l->priv->arena, path);
    vec_push(&l->priv->files, y.file);
    l->bytes += text.len;
    if (memchr(y.text, 0, y.len))
        return conf_fail((struct conf_place){y.file, 1}, err,
                         "a NUL byte; this is not a text file");
    rc = check_events(&y, err);
    if (rc == 0)
        rc = load_document(&y, err);
    if (rc == 0) {
        rc = take_document(&y, err);
        yaml_document_delete(&y.document);
    }
    return rc;
}
