/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice state: the controller's saved state as lines of JSON, and back. The store may be either
 * kind; its controller does not run, but for an export out of PostgreSQL. */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "store/store.h"

struct state_count {
    uint64_t records, asides;
};

/* The whole store, in one piece, with its head and its end. */
int state_export(struct store *s, const char *cluster, FILE *out, struct state_count *count,
                 struct err *err);

/* Whether there is nothing in the store, records set aside included; -ERR_STORE says what. */
int state_check_empty(struct store *s, struct err *err);
/* Reads all of it and checks every line; writes nothing. 'edited': whatever its sum is. */
int state_check(FILE *in, const char *cluster, bool edited, struct err *err);
/* Of a file that was checked. The record that says that there is a state comes last. */
int state_import(FILE *in, struct store *s, struct state_count *count, struct err *err);
