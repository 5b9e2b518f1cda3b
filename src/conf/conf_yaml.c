/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "conf/conf_yaml.h"

#define DEPTH_MAX 32 /* nesting depth of lists and mappings; a topology has 6 */
#define KEY_MAX 64   /* characters */
#define BOM "\xef\xbb\xbf"

/* --- parsing with libyaml --------------------------------------------------------------------- */

static struct conf_place place_of_mark(const struct conf_yaml *y, yaml_mark_t mark)
{
    return (struct conf_place){y->file, (int)mark.line + 1, (int)mark.column + 1};
}

struct conf_place conf_yaml_place(const struct conf_yaml *y, const yaml_node_t *node)
{
    return place_of_mark(y, node->start_mark);
}

/* Columns are in characters, as counted by libyaml. */
static struct conf_place place_of_byte(const struct conf_yaml *y, size_t offset)
{
    struct conf_place at = {y->file, 1, 1};
    for (size_t i = 0; i < offset && i < y->len; i++) {
        bool continues = ((unsigned char)y->text[i] & 0xc0) == 0x80;
        at.column = y->text[i] == '\n' ? 1 : at.column + !continues;
        at.line += y->text[i] == '\n';
    }
    return at;
}

/* Whether a tab indents the line, counted from 0. */
static bool is_indented_by_tab(const struct conf_yaml *y, size_t line)
{
    const char *at = y->text;
    for (; line && at; line--) {
        at = strchr(at, '\n');
        at += at != NULL;
    }
    return at && at[strspn(at, " ")] == '\t';
}

static int fail_parser(const struct conf_yaml *y, const yaml_parser_t *p, struct err *err)
{
    const char *context = p->context ? p->context : "", *problem = p->problem ? p->problem : "";
    if (p->error == YAML_READER_ERROR)
        return conf_fail(place_of_byte(y, p->problem_offset), err, "%s", problem);
    if (p->error == YAML_SCANNER_ERROR && is_indented_by_tab(y, p->problem_mark.line))
        return conf_fail(place_of_mark(y, p->problem_mark), err, "a tab in the indentation");
    if (str_starts(context, "while parsing a flow "))
        return conf_fail(place_of_mark(y, p->context_mark), err,
                         "[ or { is not closed, or a word with brackets lacks quotes: %s", problem);
    return conf_fail(place_of_mark(y, p->problem_mark), err, "%s%s%s", context,
                     *context ? ": " : "", problem);
}

static void open_parser(const struct conf_yaml *y, yaml_parser_t *p)
{
    if (!yaml_parser_initialize(p))
        abort(); /* out of memory, as in mem.h */
    yaml_parser_set_encoding(p, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(p, (const unsigned char *)y->text, y->len);
}

struct limits {
    unsigned depth, documents;
};

static int check_event(const struct conf_yaml *y, const yaml_event_t *e, struct limits *so_far,
                       struct err *err)
{
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        if (memchr(e->data.scalar.value, 0, e->data.scalar.length))
            return conf_fail(place_of_mark(y, e->start_mark), err, "a NUL byte in the text");
        return 0;
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

static int check_events(const struct conf_yaml *y, struct err *err)
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

static int load_document(struct conf_yaml *y, struct err *err)
{
    yaml_parser_t p;
    open_parser(y, &p);
    int rc = yaml_parser_load(&p, &y->document) ? 0 : fail_parser(y, &p, err);
    yaml_parser_delete(&p);
    return rc;
}

/* --- nodes of the document -------------------------------------------------------------------- */

static yaml_node_t *get_node(struct conf_yaml *y, int number)
{
    return yaml_document_get_node(&y->document, number);
}

const char *conf_yaml_text(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE ? (const char *)node->data.scalar.value : NULL;
}

static bool is_empty(const yaml_node_t *node)
{
    return node->type == YAML_SCALAR_NODE && node->data.scalar.length == 0;
}

/* Checks that the key occurs only once in its mapping. */
static int check_new_key(struct conf_yaml *y, const yaml_node_t *node, const yaml_node_pair_t *pair,
                         struct err *err)
{
    const yaml_node_t *key = get_node(y, pair->key);
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < pair; p++) {
        const yaml_node_t *before = get_node(y, p->key);
        if (strcmp(conf_yaml_text(before), conf_yaml_text(key)) == 0)
            return conf_fail(conf_yaml_place(y, key), err,
                             "key '%s' is given twice, first on line %zu", conf_yaml_text(key),
                             before->start_mark.line + 1);
    }
    return 0;
}

int conf_yaml_mapping(struct conf_yaml *y, const yaml_node_t *node, conf_yaml_pair *each, void *ctx,
                      struct err *err)
{
    if (is_empty(node))
        return 0;
    if (node->type != YAML_MAPPING_NODE)
        return conf_fail(conf_yaml_place(y, node), err, "'%s': expected 'key: value'",
                         conf_yaml_text(node) ? conf_yaml_text(node) : "[");
    for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = get_node(y, p->key);
        if (!conf_yaml_text(key))
            return conf_fail(conf_yaml_place(y, key), err, "expected a word as key");
        if (key->data.scalar.length > KEY_MAX)
            return conf_fail(conf_yaml_place(y, key), err,
                             "a key of %zu characters, expected %d at most",
                             key->data.scalar.length, KEY_MAX);
        int rc = check_new_key(y, node, p, err);
        if (rc == 0)
            rc = each(y, ctx, conf_yaml_text(key), conf_yaml_place(y, key), get_node(y, p->value),
                      err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int conf_yaml_sequence(struct conf_yaml *y, const yaml_node_t *node, conf_yaml_item *each,
                       void *ctx, struct err *err)
{
    if (is_empty(node))
        return 0;
    if (node->type != YAML_SEQUENCE_NODE)
        return conf_fail(conf_yaml_place(y, node), err, "expected a list of '- key: value'");
    for (yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top;
         i++) {
        int rc = each(y, ctx, get_node(y, *i), err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Adds a word to the list, without blanks. */
static int add_word(struct conf_yaml *y, void *ctx, const yaml_node_t *node, struct err *err)
{
    struct str *list = ctx;
    if (!conf_yaml_text(node))
        return conf_fail(conf_yaml_place(y, node), err,
                         "expected a word, or a list of words in [ ]");
    if (list->len)
        str_putc(list, ',');
    for (size_t i = 0; i < node->data.scalar.length; i++)
        if (!isspace(node->data.scalar.value[i]))
            str_putc(list, (char)node->data.scalar.value[i]);
    return 0;
}

int conf_yaml_words(struct conf_yaml *y, const yaml_node_t *node, const char **out, struct err *err)
{
    _cleanup_str_ struct str list = STR_INIT;
    int rc = node->type == YAML_SEQUENCE_NODE ? conf_yaml_sequence(y, node, add_word, &list, err)
                                              : add_word(y, &list, node, err);
    if (rc < 0)
        return rc;
    *out = arena_strdup(&y->l->scratch, str_cstr(&list));
    return 0;
}

int conf_yaml_bool(const struct conf_yaml *y, const char *key, const yaml_node_t *value, bool *out,
                   struct err *err)
{
    static const struct {
        const char *word;
        bool is_set;
    } words[] = {{"true", true}, {"yes", true}, {"false", false}, {"no", false}};
    const char *text = conf_yaml_text(value);
    for (size_t i = 0; text && i < sizeof(words) / sizeof(words[0]); i++)
        if (strcasecmp(text, words[i].word) == 0) {
            *out = words[i].is_set;
            return 0;
        }
    return conf_fail(conf_yaml_place(y, value), err, "%s: expected true or false%s%s%s", key,
                     text ? ", not '" : "", text ? text : "", text ? "'" : "");
}

int conf_yaml_line(struct conf_yaml *y, struct str *line, struct conf_place at, struct err *err)
{
    char *text = arena_strdup(&y->l->priv->arena, str_cstr(line));
    str_clear(line);
    return conf_go_on(y->l, conf_lines_take(y->l, text, at, err), err);
}

/* Skips the byte order mark that some editors write before UTF-8. */
static int check_bytes(struct conf_yaml *y, struct err *err)
{
    if (str_starts(y->text, "\xff\xfe") || str_starts(y->text, "\xfe\xff"))
        return conf_fail((struct conf_place){y->file, 1, 1}, err,
                         "the file is in UTF-16: expected UTF-8");
    const char *nul = memchr(y->text, 0, y->len);
    if (nul)
        return conf_fail(place_of_byte(y, (size_t)(nul - y->text)), err,
                         "a NUL byte; this is not a text file");
    size_t skip = str_starts(y->text, BOM) ? strlen(BOM) : 0;
    y->text += skip;
    y->len -= skip;
    return 0;
}

int conf_yaml_read(struct conf_loader *l, const char *path,
                   int (*root)(struct conf_yaml *y, const yaml_node_t *node, struct err *err),
                   struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    struct stat st;
    int rc = path_check_regular(path, &st, err);
    if (rc == 0)
        rc = path_read_file(path, CONF_FILE_MAX - l->bytes, &text, err);
    if (rc < 0)
        return rc;
    struct conf_yaml y = {.l = l, .text = str_cstr(&text), .len = text.len};
    y.file = arena_strdup(&l->priv->arena, path);
    vec_push(&l->priv->files, y.file);
    l->bytes += text.len;
    rc = check_bytes(&y, err);
    if (rc == 0)
        rc = check_events(&y, err);
    if (rc == 0)
        rc = load_document(&y, err);
    if (rc == 0) {
        const yaml_node_t *node = yaml_document_get_root_node(&y.document);
        if (node)
            rc = root(&y, node, err);
        else
            conf_warn(l, (struct conf_place){y.file, 1}, "the file is empty");
        yaml_document_delete(&y.document);
    }
    return rc;
}
