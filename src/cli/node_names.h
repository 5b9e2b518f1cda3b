/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of nodes that people give to commands. */
#pragma once

#include "base/err.h"
#include "base/hostlist.h"

/* Whether one of them is a function, as block{NAME}: the controller knows its nodes. */
bool node_names_have_function(const struct hostlist *names);

/* Asks the controller whether all nodes of the list exist: a filter with an unknown name would find
 * nothing and not say so. -ERR_NO_NODE names the first one that does not. */
int node_names_check(const char *list, struct err *err);

/* Appends the nodes of a file: host list expressions separated by blanks, commas or line ends; "#"
 * begins a comment. -ERR_PARSE with the line, or where the file names no node; what
 * path_read_file() says. */
int node_names_read_file(const char *path, struct hostlist *hosts, struct err *err);
