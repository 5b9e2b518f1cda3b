/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Node names in arguments of commands. */
#pragma once

#include "base/err.h"
#include "base/hostlist.h"

/* Whether one of the names is a function such as block{NAME}, which only the controller can expand.
 */
bool node_names_have_function(const struct hostlist *names);

/* Asks the controller whether all nodes of the list exist: a filter with an unknown name would find
 * nothing without an error. Returns -ERR_NO_NODE for the first unknown node. */
int node_names_check(const char *list, struct err *err);

/* Appends the nodes of a file: host list expressions separated by blanks, commas or line ends; "#"
 * starts a comment. Returns -ERR_PARSE with the line, or if the file names no node, or an error of
 * path_read_file(). */
int node_names_read_file(const char *path, struct hostlist *hosts, struct err *err);
