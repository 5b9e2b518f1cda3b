/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects the output and the exit status of a program run by a child process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"

#define COLLECT_LATE (-1) /* not a valid wait status */

struct collect_limits {
    size_t bytes; /* maximum bytes of output; the rest is read and dropped */
    unsigned sec; /* seconds until its process group is killed; 0: never */
};

/* Reads from fd until the program has ended; processes that it left in the background may keep the
 * output open longer. Returns the wait status, or COLLECT_LATE after a timeout. */
int collect(pid_t pid, int fd, const struct collect_limits *limits, struct str *text, bool *cut);
