/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The active configuration as the text of a slurm.conf: made from the keys that the controller
 * shows, and from its records of nodes and partitions, which may have changed since the file was
 * read. Reading the text gives the same configuration.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"

/* A line "Key = value" of the shown configuration. */
struct config_line {
    char *key, *value; /* owned */
    bool is_null;      /* "(null)" */
};
/* Parses the next line and moves *text behind it; false: no further line. The caller frees the
 * line. */
bool config_line_next(const char **text, struct config_line *line);
void config_line_done(struct config_line *line);

/* {"KillWait": "30 sec"} from the lines "KillWait = 30 sec"; unset values are null. The caller owns
 * the object. */
json_t *config_file_json(const char *shown);

/* Appends the keys, for a cluster of 'nodes' nodes. A key without effect at its default is written
 * as a comment, since setting the key would cause a warning. */
void config_file_put_keys(const char *shown, size_t nodes, struct str *out);

/* Nodes in their order; equal nodes in succession are combined into one line. */
struct config_nodes { /* the line that is being collected; all zero: none */
    struct hostlist *names;
    struct str rest;
    uint32_t first_port, last_port;
};
void config_file_add_node(struct config_nodes *n, const Pb__NodeRecord *node, struct str *out);
void config_file_end_nodes(struct config_nodes *n, struct str *out);

/* root_jobs_disabled: the value of the global key. */
void config_file_put_part(const Pb__PartRecord *p, bool root_jobs_disabled, struct str *out);
