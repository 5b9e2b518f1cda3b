/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A running job gives nodes back. */
#pragma once

#include "cluster/cluster.h"
#include "control/control.h"

struct control;

/* The places in the allocation of a running job that go when it keeps these nodes, or (nodes: NULL)
 * the first 'count'; to be freed. Or why it cannot be. */
int shrink_find(const struct control *c, struct job *j, const char *nodes, uint32_t count,
                struct bitset **out, struct err *err);
void shrink_job(struct control *c, struct job *j, const struct bitset *dropped);
