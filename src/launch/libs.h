/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All libraries that a program would be given by the loader, found by the loader's rules: DT_RPATH
 * of what needs them and of its loaders, LD_LIBRARY_PATH, DT_RUNPATH, ld.so.cache, the system's
 * directories. Nothing is run.
 */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "launch/exe.h"

#define LIBS_MAX 1024

struct lib {
    char *name; /* as it was asked for; of the program its path */
    char *path; /* NULL: it is missing */
    size_t by;  /* which one asked for it */
    struct exe exe;
};

struct libs {
    VEC(struct lib) list; /* the program first */
};

/* As exe_read() of the program; libraries that are missing, or no ELF files, are in the list. */
int libs_find(const char *program, struct libs *out, struct err *err);
void libs_done(struct libs *l);

/* The first whose name begins so; NULL: there is none. */
const struct lib *libs_get(const struct libs *l, const char *prefix);
