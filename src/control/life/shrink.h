/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A running job releases nodes. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* Returns the allocation indexes that a running job releases if it keeps these nodes, or (nodes:
 * NULL) the first 'count' nodes; the caller frees the set. An error tells why this is
 * impossible. */
int shrink_find(const struct control *c, struct job *j, const char *nodes, uint32_t count,
                struct bitset **out, struct err *err);
void shrink_job(struct control *c, struct job *j, const struct bitset *dropped);
