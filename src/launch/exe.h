/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the dynamic section of a program or library says that it needs. The file is read, not mapped
 * and not run; whatever is in it, reading is bounded.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

struct exe {
    VEC(char *) needed;    /* DT_NEEDED, in order; owned */
    char *rpath, *runpath; /* NULL: none */
    bool dynamic;          /* false: a static program */
};

/* -ERR_PARSE: not an ELF file; -ERR_NOT_SUPPORTED: one for another machine; -ERR_PROTOCOL: broken.
 * On failure *out is empty. */
int exe_read(const char *path, struct exe *out, struct err *err);
int exe_read_fd(int fd, struct exe *out, struct err *err);
void exe_done(struct exe *e);
