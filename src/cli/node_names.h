/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of nodes that people give to filters. */
#pragma once

#include "base/err.h"

/* Asks the controller whether all nodes of the list exist: a filter with an unknown name would find
 * nothing and not say so. -ERR_NO_NODE names the first one that does not. */
int node_names_check(const char *list, struct err *err);
