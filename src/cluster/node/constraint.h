/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --constraint and --prefer, read once (CORE-122, CORE-123): names of features, joined from left to
 * right by & (or a comma) and |, with parentheses, held against each kind of node by itself; and
 *
 *   a*4          of the job's nodes at least four have it; joined by & to the rest, at most two
 * such [a|b]        all nodes of the job have the same one of them: its alternatives [a*2&b*4] two
 * nodes for the one and four others for the other; further ones fit either
 *
 * Whoever has read one frees it; NULL is a request without one, which every node satisfies.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

#define CONSTRAINT_NAMES_MAX 64 /* each is held against each kind of node by every decision */
#define CONSTRAINT_COUNTS_MAX 8

struct cluster;
struct constraint;

/* -ERR_FEATURE: it is malformed; 'option' is named then. */
int constraint_parse(const char *expr, const char *option, struct constraint **out,
                     struct err *err);
void constraint_free(struct constraint *con);
/* For another holder, who frees it, too. NULL for NULL. */
struct constraint *constraint_share(struct constraint *con);
/* Of --batch, one node: -ERR_FEATURE, it has counts or brackets, or a name that the --constraint
 * (NULL: there is none) does not have. */
int constraint_check_host(const struct constraint *con, const struct constraint *all,
                          struct err *err);
/* -ERR_FEATURE: it names what no node has. */
int constraint_check(const struct cluster *c, const struct constraint *con, struct err *err);

uint32_t constraint_alternatives(const struct constraint *con); /* at least 1 */
/* Whether a node of these features ("a,b", or NULL) may be taken when the brackets stand for their
 * alternative number 'which'. */
bool constraint_match(const struct constraint *con, const char *features, uint32_t which);
bool constraint_match_any(const struct constraint *con, const char *features);

/* Counts of nodes: 0 to CONSTRAINT_COUNTS_MAX. */
uint32_t constraint_counts(const struct constraint *con);
uint32_t constraint_count(const struct constraint *con, uint32_t number);
/* Bit i: a node of these features is one that count number i asks for. */
uint8_t constraint_counted(const struct constraint *con, const char *features);
/* In brackets a node is there for one of the counts, else for each that it can be. */
bool constraint_counts_apart(const struct constraint *con);
uint32_t constraint_least_nodes(const struct constraint *con);
