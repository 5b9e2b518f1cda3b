/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where tasks run, in the words of environment variables and of MPI. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Appends "2(x3),1": counts per node, equal neighbours joined. */
void layout_counts_format(const uint32_t *counts, size_t nodes, struct str *out);

/* Appends MPICH's PMI_process_mapping, "(vector,(first node,nodes,tasks per node),...)", for tasks
 * whose nodes are node_of[0..tasks-1]; one period of a repeating sequence, as its readers go round.
 */
void layout_mapping_format(const uint32_t *node_of, size_t tasks, struct str *out);
