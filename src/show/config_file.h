/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The configuration in force as the text of a slurm.conf: from what the controller shows of its
 * keys, and from its records of nodes and partitions, which may have been changed since they were
 * read. What is written means the same when it is read.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/hostlist.h"
#include "base/str.h"
#include "proto/node.pb-c.h"
#include "proto/part.pb-c.h"

/* A line "Key      = value" of what the controller shows. */
struct config_line {
    char *key, *value; /* owned */
    bool is_null;      /* "(null)" */
};
/* The next one, *text being moved behind it; false: there is none. The caller ends the line. */
bool config_line_next(const char **text, struct config_line *line);
void config_line_done(struct config_line *line);

/* {"KillWait": "30 sec"} of the lines "KillWait   = 30 sec"; what is unset is null. The caller owns
 * it. */
json_t *config_file_json(const char *shown);

/* The keys, of a cluster of so many nodes. A key at its default that has no effect is a comment: to
 * give it would be warned of. */
void config_file_put_keys(const char *shown, size_t nodes, struct str *out);

/* Nodes in their order; those that follow one another and are alike make one line. */
struct config_nodes { /* the line that is being gathered; zeroed: none */
    struct hostlist *names;
    struct str rest;
    uint32_t first_port, last_port;
};
void config_file_add_node(struct config_nodes *n, const Pb__NodeRecord *node, struct str *out);
void config_file_end_nodes(struct config_nodes *n, struct str *out);

/* root_jobs_disabled: what the global key says. */
void config_file_put_part(const Pb__PartRecord *p, bool root_jobs_disabled, struct str *out);
