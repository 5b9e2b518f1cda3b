/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All libraries that the loader would load for a program, found by the loader's rules: DT_RPATH of
 * the requesting object and of its loaders, LD_LIBRARY_PATH, DT_RUNPATH, ld.so.cache, the system's
 * directories. Nothing is run.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "launch/exe.h"

#define LIBS_MAX 1024

struct lib {
    char *name; /* the requested name; for the program its path */
    char *path; /* NULL: missing */
    size_t by;  /* index of the requesting object */
    struct exe exe;
};

struct libs {
    VEC(struct lib) list; /* the program is first */
};

/* Reads the program like exe_read(); the list includes libraries that are missing or that are not
 * ELF files. */
int libs_find(const char *program, struct libs *out, struct err *err);
void libs_done(struct libs *l);

/* The first library whose name starts with the prefix; NULL: none. */
const struct lib *libs_get(const struct libs *l, const char *prefix);
