/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * YAML files of the configuration. libyaml parses each twice: as events, which shows what is
 * refused (aliases, a second document, lists within too many lists, so that a small file stays a
 * small document), then as a document. Errors name the line and the column.
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
/* NULL: it is not one word. */
const char *conf_yaml_text(const yaml_node_t *node);
/* Each pair of a mapping, each item of a list; an empty node has none. */
int conf_yaml_mapping(struct conf_yaml *y, const yaml_node_t *node, conf_yaml_pair *each, void *ctx,
                      struct err *err);
int conf_yaml_sequence(struct conf_yaml *y, const yaml_node_t *node, conf_yaml_item *each,
                       void *ctx, struct err *err);
/* A word, or a list of words as "a,b"; valid while the file is loaded. */
int conf_yaml_words(struct conf_yaml *y, const yaml_node_t *node, const char **out,
                    struct err *err);
/* true or yes, false or no, in any case. */
int conf_yaml_bool(const struct conf_yaml *y, const char *key, const yaml_node_t *value, bool *out,
                   struct err *err);
/* Takes a line of slurm.conf that says the same; 'line' is empty then. */
int conf_yaml_line(struct conf_yaml *y, struct str *line, struct conf_place at, struct err *err);
/* Reads the file: 'root' gets the document's first node. */
int conf_yaml_read(struct conf_loader *l, const char *path,
                   int (*root)(struct conf_yaml *y, const yaml_node_t *node, struct err *err),
                   struct err *err);
