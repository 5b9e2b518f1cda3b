/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of a program that one of our children runs, and its end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

#define COLLECT_LATE (-1) /* no wait status */

struct collect_limits {
    size_t bytes; /* of output: what is more is read and dropped */
    unsigned sec; /* then its process group is killed; 0: never */
};

/* Reads from fd until the program has ended: what it left in the background may hold its output
 * open for long. Returns its wait status, or COLLECT_LATE when its time was up. */
int collect(pid_t pid, int fd, const struct collect_limits *limits, struct str *text, bool *cut);
