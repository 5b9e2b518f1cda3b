/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program that a name on the command line means, on this host. */
#pragma once

#include <stdbool.h>

/* A program found in PATH, else one in work_dir. A name with a '/' counts from work_dir (NULL: is
 * left as it is). The name itself when there is no such program. The caller frees. */
char *program_find(const char *name, const char *work_dir);

/* It is a file that we may execute. */
bool program_is_there(const char *path);
