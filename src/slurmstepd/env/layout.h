/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Formats the task layout for environment variables and for MPI. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/* Appends "2(x3),1": task counts per node, with equal neighbours joined. */
void layout_counts_format(const uint32_t *counts, size_t nodes, struct str *out);

/* Appends MPICH's PMI_process_mapping, "(vector,(first node,nodes,tasks per node),...)", for tasks
   on nodes node_of[0..tasks-1]. Of a repeating sequence only one period is written, because
   readers repeat it. */
void layout_mapping_format(const uint32_t *node_of, size_t tasks, struct str *out);
