/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the program of the command line on this host. */
#pragma once

#include <stdbool.h>

/* Returns a program found in PATH, otherwise one in work_dir. A name with a '/' is relative to
 * work_dir (NULL: it stays as it is). Returns the name itself if there is no such program. The
 * caller frees it. */
char *program_find(const char *name, const char *work_dir);

/* Whether the path is a file that this user may execute. */
bool program_is_there(const char *path);
