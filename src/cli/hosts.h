/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of nodes: host list expressions separated by blanks, commas or line ends; "#" begins a
 * comment. */
#pragma once

#include "base/err.h"
#include "base/hostlist.h"

/* Appends them. -ERR_PARSE with the line, or where the file names no node; what path_read_file()
 * says. */
int hosts_read_file(const char *path, struct hostlist *hosts, struct err *err);
