/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --constraint and --prefer in parsed form (CORE-122, CORE-123): names of features, joined from
 * left to right by & (or a comma) and |, with parentheses, evaluated for each kind of node; and
 *
 *   a*4          at least four of the nodes have the feature; at most two such counts, joined by &
 *   [a|b]        all nodes of the job have the same one of the alternatives
 *   [a*2&b*4]    two nodes for the first count, four others for the second; more nodes match either
 *
 * The caller that parses a constraint frees it. NULL stands for no constraint, which every node
 * satisfies.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/* Limits the cost: each decision evaluates each name for each kind of node. */
#define CONSTRAINT_NAMES_MAX 64
#define CONSTRAINT_COUNTS_MAX 8

struct cluster;
struct constraint;

/* -ERR_FEATURE: the expression is malformed; the message names 'option'. */
int constraint_parse(const char *expr, const char *option, struct constraint **out,
                     struct err *err);
void constraint_free(struct constraint *con);
/* Returns a reference for another holder, which must free it too. NULL for NULL. */
struct constraint *constraint_share(struct constraint *con);
/* Checks the constraint of --batch, which selects one node. -ERR_FEATURE: it has counts or
 * brackets, or a name that is missing in --constraint ('all'; NULL: there is no --constraint). */
int constraint_check_host(const struct constraint *con, const struct constraint *all,
                          struct err *err);
/* -ERR_FEATURE: a feature does not exist on any node. */
int constraint_check(const struct cluster *c, const struct constraint *con, struct err *err);

uint32_t constraint_alternatives(const struct constraint *con); /* at least 1 */
/* Whether a node with these features ("a,b", or NULL) matches when the brackets stand for the
 * alternative number 'which'. */
bool constraint_match(const struct constraint *con, const char *features, uint32_t which);
bool constraint_match_any(const struct constraint *con, const char *features);

/* The number of node counts: 0 to CONSTRAINT_COUNTS_MAX. */
uint32_t constraint_counts(const struct constraint *con);
uint32_t constraint_count(const struct constraint *con, uint32_t number);
/* Returns a mask. Bit i: a node with these features matches count number i. */
uint8_t constraint_counted(const struct constraint *con, const char *features);
/* Whether a node serves only one of the counts, as in brackets. Otherwise it serves each count that
 * it matches. */
bool constraint_counts_apart(const struct constraint *con);
uint32_t constraint_least_nodes(const struct constraint *con);
