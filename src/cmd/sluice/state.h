/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sluice state: exports the controller's saved state as lines of JSON, and imports them. The store
 * may be SQLite or PostgreSQL. The controller must not run, except for an export from PostgreSQL.
 */
#pragma once

#include <stdio.h>

#include "base/err.h"
#include "store/store.h"

struct state_count {
    uint64_t records, asides;
};

/* Exports the whole store, with the head and the end line. */
int state_export(struct store *s, const char *cluster, FILE *out, struct state_count *count,
                 struct err *err);

/* Checks that the store is empty, including records set aside; -ERR_STORE names what it has. */
int state_check_empty(struct store *s, struct err *err);
/* Reads and checks every line; writes nothing. 'edited': ignores the checksum. */
int state_check(FILE *in, const char *cluster, bool edited, struct err *err);
/* Imports a file that was checked. The record that marks the state as present is written last. */
int state_import(FILE *in, struct store *s, struct state_count *count, struct err *err);
