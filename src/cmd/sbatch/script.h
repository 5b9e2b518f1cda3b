/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading and checking a batch script. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* Reads the script 'file'; NULL: standard input. A name is searched in 'dir' (may be NULL), then in
 * the working directory, then in PATH if it has no slash. *path becomes the absolute path, or NULL
 * for standard input; the caller frees it. */
int script_read(const char *file, const char *dir, struct str *text, char **path, struct err *err);

/* Makes the script for a command line (--wrap). */
void script_wrap(const char *command, struct str *text);

/* Rejects scripts that no node could run: empty ones, and those without "#!", with NULs, with DOS
 * line ends, or too long. The text of err may have several lines; each is printed as an error. */
int script_check(const struct str *text, struct err *err);

/* Appends everything that can be read from fd. Reading stops a little beyond 'max', so that the
 * caller can detect that the text is too long. 'name' is for messages. */
int script_read_fd(int fd, const char *name, size_t max, struct str *text, struct err *err);
