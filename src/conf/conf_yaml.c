/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * topology.yaml as lines of topology.conf. It is read without a YAML library, since this room is in
 * every program: sequences and mappings by indentation, plain and quoted words, and [a, b] of
 * words, which is what such files are made of; anything else is an error with its line.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "conf/conf_internal.h"

struct entry { /* of a line */
    size_t indent;
    bool dash;
    char *key, *value; /* key NULL: a word of a sequence */
};

enum part_of_file { NOWHERE, SWITCHES, BLOCKS, SIZES };

struct yaml {
    struct conf_loader *l;
    struct conf_place at;
    enum part_of_file part;
    size_t top;          /* indentation of the topologies */
    unsigned topologies; /* so far */
    bool taken, done;    /* this topology is the cluster's; one has said that it is */
    bool block;          /* of blocks, not of switches */
    const char *name, *nodes, *children; /* of the item being read */
    int item_line, line;                 /* where it began; lines of 'out' so far */
    struct str sizes, out;
};

static char *unquote(char *text)
{
    size_t len = strlen(text);
    if (len >= 2 && (*text == '"' || *text == '\'') && text[len - 1] == *text) {
        text[len - 1] = 0;
        return text + 1;
    }
    return text;
}

/* A comment begins at the line or behind a blank. */
static void cut_comment(char *line)
{
    char quote = 0;
    for (char *c = line; *c; c++) {
        if (quote)
            quote = *c == quote ? 0 : quote;
        else if (*c == '"' || *c == '\'')
            quote = *c;
        else if (*c == '#' && (c == line || isspace((unsigned char)c[-1])))
            *c-- = 0;
    }
}

/* "- key: value", "key:", "- word". 0: nothing is there. */
static int split(struct yaml *y, char *line, struct entry *e, struct err *err)
{
    *e = (struct entry){0};
    cut_comment(line);
    e->indent = strspn(line, " ");
    if (line[e->indent] == '\t')
        return conf_fail(y->at, err, "a tab in the indentation");
    char *text = str_trim(line + e->indent);
    if (!*text || strcmp(text, "---") == 0)
        return 0;
    while (text[0] == '-' && (text[1] == ' ' || !text[1])) {
        size_t skip = 1 + strspn(text + 1, " ");
        e->dash = true;
        text += skip;
    }
    char *colon = strstr(text, ": ");
    size_t len = strlen(text);
    if (!colon && len && text[len - 1] == ':')
        colon = text + len - 1;
    if (colon && *text != '[' && *text != '"') {
        *colon = 0;
        e->key = unquote(str_trim(text));
        text = str_trim(colon + 1);
    }
    e->value = unquote(text);
    if (strchr("{&*!|>%@`", *e->value) && *e->value)
        return conf_fail(y->at, err, "'%s': expected a word, or a list in [ ]", e->value);
    return 1;
}

/* "[a, b]" as "a,b". */
static int flat_list(struct yaml *y, char *value, const char **out, struct err *err)
{
    struct str list = STR_INIT;
    size_t len = strlen(value);
    bool brackets = *value == '[' && len > 1 && value[len - 1] == ']';
    if (*value == '[' && !brackets)
        return conf_fail(y->at, err, "'%s': [ is not closed on its line", value);
    for (const char *c = value + brackets; c < value + len - brackets; c++)
        if (!isspace((unsigned char)*c) && *c != '"' && *c != '\'')
            str_putc(&list, *c);
    *out = arena_strdup(&y->l->scratch, str_cstr(&list));
    str_done(&list);
    return 0;
}

/* Has the next line of topology.conf be at the line where it stands in the file. */
static void go_to(struct yaml *y, int line)
{
    for (; y->line + 1 < line; y->line++)
        str_putc(&y->out, '\n');
}

static int end_item(struct yaml *y, struct err *err)
{
    if (!y->item_line || !y->taken) {
        y->item_line = 0;
        return 0;
    }
    if (!y->name)
        return conf_fail((struct conf_place){y->at.file, y->item_line}, err,
                         "an item without %s:", y->block ? "block" : "switch");
    go_to(y, y->item_line);
    str_printf(&y->out, "%s=%s", y->block ? "BlockName" : "SwitchName", y->name);
    if (y->nodes)
        str_printf(&y->out, " Nodes=%s", y->nodes);
    if (y->children)
        str_printf(&y->out, " Switches=%s", y->children);
    str_putc(&y->out, '\n');
    y->line++;
    y->item_line = 0;
    y->name = y->nodes = y->children = NULL;
    return 0;
}

static int end_parts(struct yaml *y, struct err *err)
{
    int rc = end_item(y, err);
    if (rc == 0 && y->taken && y->sizes.len) {
        str_printf(&y->out, "BlockSizes=%s\n", str_cstr(&y->sizes));
        y->line++;
    }
    str_clear(&y->sizes);
    return rc;
}

static int item_key(struct yaml *y, const struct entry *e, struct err *err)
{
    const char *value;
    int rc = flat_list(y, e->value, &value, err);
    if (rc < 0)
        return rc;
    if (strcmp(e->key, y->block ? "block" : "switch") == 0)
        y->name = value;
    else if (strcmp(e->key, "nodes") == 0)
        y->nodes = value;
    else if (strcmp(e->key, "children") == 0 && !y->block)
        y->children = value;
    else
        return conf_fail(y->at, err, "unknown key %s of a %s", e->key,
                         y->block ? "block" : "switch");
    return 0;
}

/* The first one is the cluster's, unless another one says that it is. */
static void begin_topology(struct yaml *y)
{
    y->part = NOWHERE;
    y->taken = ++y->topologies == 1;
}

static int set_default(struct yaml *y, bool is, struct err *err)
{
    if (is && y->done)
        return conf_fail(y->at, err, "cluster_default: another topology is it already");
    if (is && !y->taken) { /* what was before it was not meant */
        str_clear(&y->out);
        y->line = 0;
    }
    y->taken = is;
    y->done = y->done || is;
    return 0;
}

/* Keys of Slurm's topologies that are not built in. */
static const char *const unsupported[] = {
    "alpha_step_rank", "anchor",  "anchor_seed", "anchor_spacing", "dims",    "name",
    "placements",      "regions", "ring",        "rings",          "torus3d", "toruses"};

static int topology_key(struct yaml *y, const struct entry *e, struct err *err)
{
    y->part = NOWHERE;
    if (strcmp(e->key, "topology") == 0 || strcmp(e->key, "flat") == 0)
        return 0;
    if (strcmp(e->key, "cluster_default") == 0)
        return set_default(y, strcasecmp(e->value, "true") == 0 || strcasecmp(e->value, "yes") == 0,
                           err);
    if (strcmp(e->key, "tree") == 0 || strcmp(e->key, "block") == 0) {
        y->block = *e->key == 'b';
        return 0;
    }
    if (strcmp(e->key, "switches") == 0 || strcmp(e->key, "blocks") == 0) {
        y->part = *e->key == 's' ? SWITCHES : BLOCKS;
        return 0;
    }
    if (strcmp(e->key, "block_sizes") == 0) {
        const char *list;
        y->part = SIZES;
        int rc = flat_list(y, e->value, &list, err);
        if (rc == 0)
            str_puts(&y->sizes, list);
        return rc;
    }
    for (size_t i = 0; i < sizeof(unsupported) / sizeof(unsupported[0]); i++)
        if (strcmp(e->key, unsupported[i]) == 0)
            return conf_fail(y->at, err,
                             "key %s is not supported: use a tree, block or flat topology", e->key);
    return conf_fail(y->at, err, "unknown key %s", e->key);
}

static int take_entry(struct yaml *y, const struct entry *e, struct err *err)
{
    if (e->dash && (y->topologies == 0 || e->indent <= y->top)) {
        int rc = end_parts(y, err);
        y->top = y->topologies == 0 ? e->indent : y->top;
        begin_topology(y);
        return rc < 0 || !e->key ? rc : topology_key(y, e, err);
    }
    if (y->topologies == 0)
        return conf_fail(y->at, err, "expected '- topology: NAME'");
    if (!e->key && y->part == SIZES && e->dash) {
        str_printf(&y->sizes, "%s%s", y->sizes.len ? "," : "", e->value);
        return 0;
    }
    if (!e->key)
        return conf_fail(y->at, err, "'%s': expected 'key: value'", e->value);
    if (e->dash && (y->part == SWITCHES || y->part == BLOCKS)) {
        int rc = end_item(y, err);
        y->item_line = y->at.line;
        return rc < 0 ? rc : item_key(y, e, err);
    }
    bool in_item = y->item_line &&
                   (strcmp(e->key, "nodes") == 0 || strcmp(e->key, "children") == 0 ||
                    strcmp(e->key, "switch") == 0 || (strcmp(e->key, "block") == 0 && *e->value));
    if (in_item)
        return item_key(y, e, err);
    int rc = end_parts(y, err);
    return rc == 0 ? topology_key(y, e, err) : rc;
}

static int take_lines(struct yaml *y, char *text, struct err *err)
{
    int rc = 0;
    for (char *line = text, *next; line && rc >= 0; line = next) {
        struct entry e;
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        y->at.line++;
        rc = split(y, line, &e, err);
        rc = rc > 0 ? take_entry(y, &e, err) : rc;
    }
    return rc >= 0 ? end_parts(y, err) : rc;
}

int conf_yaml_read(struct conf_loader *l, const char *path, struct err *err)
{
    _cleanup_str_ struct str text = STR_INIT;
    int rc = path_read_file(path, CONF_FILE_MAX - l->bytes, &text, err);
    if (rc < 0)
        return rc;
    const char *file = arena_strdup(&l->priv->arena, path);
    struct yaml y = {.l = l, .at = {file, 0}};
    vec_push(&l->priv->files, file);
    l->bytes += text.len;
    if (memchr(str_cstr(&text), 0, text.len))
        rc = conf_fail((struct conf_place){file, 1}, err, "a NUL byte; this is not a text file");
    else
        rc = take_lines(&y, (char *)(intptr_t)str_cstr(&text), err);
    if (rc >= 0) {
        size_t len = y.out.len;
        char *buffer = str_take(&y.out);
        vec_push(&l->priv->buffers, buffer);
        rc = conf_lines_text(l, buffer, len, file, err);
    }
    str_done(&y.sizes);
    str_done(&y.out);
    return rc;
}
