/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An environment to hand on: "NAME=value" strings in order, one per name. Copies everything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct envlist {
    char **vars;  /* count strings and a NULL */
    size_t *lens; /* of their names, by which most are told apart; SIZE_MAX: no '=' */
    size_t count, room;
};

void envlist_init(struct envlist *e, char *const *from); /* from: as environ, or NULL for none */
void envlist_done(struct envlist *e);

void envlist_set(struct envlist *e, const char *name, const char *value); /* NULL removes it */
void envlist_setf(struct envlist *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void envlist_default(struct envlist *e, const char *name, const char *value); /* if not there */
const char *envlist_get(const struct envlist *e, const char *name);           /* NULL: not there */

/* What --export asks for: "ALL", "NONE", "NIL", "[ALL,]NAME,NAME=value...", of what is in 'from'.
 * Without ALL only SLURM_* and the named ones are taken; NULL is ALL. A value may be quoted to hold
 * commas. With ALL a variable of 'from' comes before NAME=value, unless 'values_first'. */
void envlist_export(struct envlist *e, const char *spec, char *const *from, bool values_first);
bool envlist_exports_all(const char *spec); /* whether ALL is in it, or it is NULL */
