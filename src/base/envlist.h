/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An environment under construction: "NAME=value" strings in order, each name once. Strings are
 * copied. A step of 128 components has thousands of variables, so names are found by a hash table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct envlist {         /* {0}: empty */
    VEC(char *) vars;    /* owned; a NULL follows only in envlist_argv() */
    uint32_t *slots;     /* positions in vars plus one; 0: free */
    uint32_t slot_count; /* a power of 2, at least twice as many as there are variables; or 0 */
};

void envlist_done(struct envlist *e);

/* Adds strings, of another process or of a message; those without a name or a '=' are left out, of
 * doubles the last one counts. */
void envlist_load(struct envlist *e, char *const *vars, size_t count);
/* The same up to a NULL, as environ; of doubles the first one counts, as for getenv(). */
void envlist_load_all(struct envlist *e, char *const *vars);

const char *envlist_get(const struct envlist *e, const char *name);       /* NULL: not set */
void envlist_set(struct envlist *e, const char *name, const char *value); /* NULL: no change */
void envlist_setf(struct envlist *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void envlist_replace(struct envlist *e, const char *name, const char *value); /* NULL: unset */
void envlist_default(struct envlist *e, const char *name, const char *value); /* unless it is set */
void envlist_unset(struct envlist *e, const char *name);
/* Unsets all whose names it is true for. */
void envlist_unset_if(struct envlist *e, bool (*is_unset)(const char *name, size_t len));

/* For execve(); valid until the next change. */
char **envlist_argv(struct envlist *e);
