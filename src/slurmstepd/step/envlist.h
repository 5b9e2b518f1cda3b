/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An environment under construction: "NAME=value" strings, each name once.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct envlist {
    VEC(char *) vars;   /* owned */
    VEC(uint32_t) lens; /* of their names: most are told apart by that alone */
};

void envlist_done(struct envlist *e);

/* Takes over the strings of a message; those without a name or a '=' are left out, of doubles the
 * last one counts. */
void envlist_load(struct envlist *e, char *const *vars, size_t count);

const char *envlist_get(const struct envlist *e, const char *name); /* NULL: not set */
void envlist_set(struct envlist *e, const char *name,
                 const char *value); /* NULL: leaves it alone */
void envlist_setf(struct envlist *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void envlist_default(struct envlist *e, const char *name, const char *value); /* unless it is set */
void envlist_unset(struct envlist *e, const char *name);

/* For execve(); valid until the next change. */
char **envlist_argv(struct envlist *e);
