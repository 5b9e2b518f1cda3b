/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States of nodes in Slurm's words. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "proto/node.pb-c.h"

/* sinfo's words in lower case, long: "drained", "mixed", "down*"; short: "drain", "mix", "down*".
 */
void node_state_put_long(const Pb__NodeRecord *node, struct str *out);
void node_state_put_short(const Pb__NodeRecord *node, struct str *out);
/* "IDLE+DRAIN": scontrol's form. */
void node_state_put_flags(const Pb__NodeRecord *node, struct str *out);
/* The features that jobs can request; NULL: none. */
const char *node_state_active_features(const Pb__NodeRecord *node);
const char *node_state_base(const Pb__NodeRecord *node); /* "IDLE" */

/* For sorting and grouping: equal states have the same rank. */
int64_t node_state_rank(const Pb__NodeRecord *node);

/* Appends "cpu=4,mem=8000M,billing=4": the total, or the part in use (empty: nothing). */
void node_state_put_tres(const Pb__NodeRecord *node, bool in_use, struct str *out);

/* Appends "6-7": the CPUs reserved for the system. */
void node_state_put_spec_cpus(const Pb__NodeRecord *node, struct str *out);

bool node_state_is_allocated(const Pb__NodeRecord *node); /* some or all CPUs in use */
bool node_state_is_usable(const Pb__NodeRecord *node);    /* not down, drained, future */

/* The filter of sinfo --states. */
struct node_states {
    uint32_t wanted;   /* bits of node_state.c */
    uint32_t unwanted; /* "~idle" */
    bool all_of;       /* "idle+drain", "idle&drain" */
};
int node_states_parse(const char *list, struct node_states *states, struct err *err);
bool node_states_match(const struct node_states *states, const Pb__NodeRecord *node);
