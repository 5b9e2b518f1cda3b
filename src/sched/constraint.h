/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --constraint: "a&b|c", its operators from left to right, as Slurm reads them without brackets,
 * for each node by itself; and one group "[a|b]", of which one feature must be had by all nodes of
 * the job (CORE-122, CORE-123).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct cluster;

/* Of its group; 1 without one (or without an expression). */
uint32_t constraint_alternatives(const char *expr);
/* Whether a node of these features ("a,b", or NULL) fits when the group stands for its word number
 * 'which'. */
bool constraint_match(const char *features, const char *expr, uint32_t which);
bool constraint_match_any(const char *features, const char *expr);

/* -ERR_FEATURE: it is malformed, or names what no node has. The others take what this passed. */
int constraint_check(const struct cluster *c, const char *expr, struct err *err);
