/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * YAML files of the configuration. libyaml parses each file twice: first as events, to refuse
 * aliases, a second document, and deep nesting, so that a small file cannot expand to a large
 * document; then as a document. Errors have line and column.
 */
#pragma once

#include <yaml.h>

#include "conf/conf_internal.h"

struct conf_yaml {
    struct conf_loader *l;
    const char *file;
    const char *text;
    size_t len;
    yaml_document_t document;
};

typedef int conf_yaml_pair(struct conf_yaml *y, void *ctx, const char *key, struct conf_place at,
                           const yaml_node_t *value, struct err *err);
typedef int conf_yaml_item(struct conf_yaml *y, void *ctx, const yaml_node_t *item,
                           struct err *err);

struct conf_place conf_yaml_place(const struct conf_yaml *y, const yaml_node_t *node);
/* NULL: it is not a single word. */
const char *conf_yaml_text(const yaml_node_t *node);
/* Calls each() for each pair of a mapping, or each item of a list; an empty node has none. */
int conf_yaml_mapping(struct conf_yaml *y, const yaml_node_t *node, conf_yaml_pair *each, void *ctx,
                      struct err *err);
int conf_yaml_sequence(struct conf_yaml *y, const yaml_node_t *node, conf_yaml_item *each,
                       void *ctx, struct err *err);
/* Reads a word, or a list of words as "a,b"; valid until the load has finished. */
int conf_yaml_words(struct conf_yaml *y, const yaml_node_t *node, const char **out,
                    struct err *err);
/* Accepts true, yes, false and no, case-insensitive. */
int conf_yaml_bool(const struct conf_yaml *y, const char *key, const yaml_node_t *value, bool *out,
                   struct err *err);
/* Takes the equivalent line of slurm.conf, and empties 'line'. */
int conf_yaml_line(struct conf_yaml *y, struct str *line, struct conf_place at, struct err *err);
/* Reads the file: calls 'root' with the document's first node. */
int conf_yaml_read(struct conf_loader *l, const char *path,
                   int (*root)(struct conf_yaml *y, const yaml_node_t *node, struct err *err),
                   struct err *err);
