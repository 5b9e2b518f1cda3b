/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An environment being built: "NAME=value" strings in order, each name once. Strings are copied.
 * Names are found by a hash table, because a step of 128 components has thousands of variables.
 *
 * Several node daemons on one host have loopback addresses, which no other host can reach. MPI
 * libraries that name shared memory by host need to be told, by the variables of onehost_variables.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct envlist {         /* {0}: empty */
    VEC(char *) vars;    /* owned; envlist_argv() appends a NULL */
    uint32_t *slots;     /* indexes in vars plus one; 0: free */
    uint32_t slot_count; /* 0, or a power of 2 that is at least twice the number of variables */
};

void envlist_done(struct envlist *e);

/* Adds strings of another process or of a message; strings without a name or a '=' are ignored,
 * and the last of several values for a name is used. */
void envlist_load(struct envlist *e, char *const *vars, size_t count);
/* The same up to a NULL, as for environ; the first of several values is used, as in getenv(). */
void envlist_load_all(struct envlist *e, char *const *vars);

const char *envlist_get(const struct envlist *e, const char *name);       /* NULL: not set */
void envlist_set(struct envlist *e, const char *name, const char *value); /* NULL: no change */
void envlist_setf(struct envlist *e, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* NULL: unsets the variable */
void envlist_replace(struct envlist *e, const char *name, const char *value);
void envlist_default(struct envlist *e, const char *name, const char *value); /* unless it is set */
void envlist_unset(struct envlist *e, const char *name);
/* Unsets all variables whose names satisfy is_unset(). */
void envlist_unset_if(struct envlist *e, bool (*is_unset)(const char *name, size_t len));

/* Returns the argument for execve(); valid until the next change. */
char **envlist_argv(struct envlist *e);

/* Whether nodes with this address, of a job with several nodes, are on one host. */
bool onehost_address(const char *addr);

/* Variables for the programs of such a job, unless they are set; Open MPI's mpirun passes them to
 * all processes that it starts. They disable shared memory and allow the loopback interface. */
struct onehost_variable {
    const char *name, *value;
};
#define ONEHOST_VARIABLES 2
extern const struct onehost_variable onehost_variables[ONEHOST_VARIABLES];
