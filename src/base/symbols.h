/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of a library loaded on demand, in a table of pointers. */
#pragma once

#include <stddef.h>

struct symbol {
    const char *name;
    size_t offset; /* of the pointer in the table */
};

/* Fills the table from a library of dlopen(). Returns the first missing name, or NULL. */
const char *symbols_find(void *library, const struct symbol *symbols, size_t count, void *table);
