/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where a batch script comes from, and whether it can be one. */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* The script 'file', standard input when NULL. It is looked for in 'dir' (NULL: nowhere but here),
 * then here, then in PATH when it has no slash. *path becomes its absolute path, NULL for standard
 * input; the caller frees. */
int script_read(const char *file, const char *dir, struct str *text, char **path, struct err *err);

/* The script that runs a command line. */
void script_wrap(const char *command, struct str *text);

/* Refuses what no node could run: empty, without "#!", with NULs, with DOS line ends, too long. The
 * text of err may have several lines, each to be printed as an error. */
int script_check(const struct str *text, struct err *err);

/* Appends all that can be read from fd; of what is longer than 'max' a little more than that, so
 * that the caller sees it. 'name' is for messages. */
int script_read_fd(int fd, const char *name, size_t max, struct str *text, struct err *err);
