/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whether what root is about to believe or to run could have been put there by somebody else.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"

/* Refuses (-ERR_ACCESS) a file or directory that others than root and these users own or may write
 * to, and one in whose place they could put another, by way of a directory or a link on its path. A
 * sticky directory (/tmp) is no such way for what does not belong to them; "/tmp/." asks for the
 * place, where something is to be made, and not for the directory. The path is absolute; err says
 * what to run. -ENOENT when it is not there. */
int trust_check(const char *path, const uid_t *owners, size_t count, struct err *err);
