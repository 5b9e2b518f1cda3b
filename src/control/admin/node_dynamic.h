/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dynamic nodes, which no configuration file defines. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

void node_dynamic_free(struct control *c);
int node_dynamic_restore(struct control *c, const void *data, size_t len, struct err *err);
/* After c->cluster was created: drops dynamic nodes that the file defines now. report may be
 * NULL. */
void node_dynamic_settle(struct control *c, struct str *report);
