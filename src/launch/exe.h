/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The dependencies that the dynamic section of a program or library lists. The file is read, not
 * mapped and not run; reading is bounded for any content.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/vec.h"

struct exe {
    VEC(char *) needed;    /* DT_NEEDED, in order; owned */
    char *rpath, *runpath; /* NULL: none */
    bool dynamic;          /* false: statically linked */
};

/* Returns -ERR_PARSE: not an ELF file; -ERR_NOT_SUPPORTED: for another machine; -ERR_PROTOCOL:
 * damaged. On failure *out is empty. */
int exe_read(const char *path, struct exe *out, struct err *err);
int exe_read_fd(int fd, struct exe *out, struct err *err);
void exe_done(struct exe *e);
