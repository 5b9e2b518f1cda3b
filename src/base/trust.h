/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Checks whether other users could have replaced a file that root is about to trust or to execute.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Refuses (-ERR_ACCESS) a file or directory that users other than root and the given ones own or
 * may write to, or could replace by way of a directory or symbolic link on its path. A sticky
 * directory (/tmp) is no such way for files that do not belong to other users; "/tmp/." stands for
 * a place where something is to be created, instead of the directory itself. The path is absolute;
 * err has the command that corrects the problem. -ENOENT if the file does not exist. */
int trust_check(const char *path, const uid_t *owners, size_t count, struct err *err);
