/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The environment of the user's login shell on this node (sbatch --get-user-env), for a batch
 * script. The script's own process runs the shell, as the user and before it reports that it is
 * ready, so a failure keeps the job from starting, within a limited time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/str.h"
#include "slurmstepd/step/step.h"

#define USERENV_BYTES_MAX (4u << 20)
#define USERENV_VARS_MAX 16384

bool userenv_wanted(const struct step *step);

/* Sets the job's variables on top of those of the shell. Returns -ERR_USER_ENV. */
int userenv_load(struct step *step, struct err *err);

/* Collects the output and the exit status of a program run by a child process. */
#define COLLECT_LATE (-1) /* not a valid wait status */

struct collect_limits {
    size_t bytes; /* maximum bytes of output; the rest is read and dropped */
    unsigned sec; /* seconds until its process group is killed; 0: never */
};

/* Reads from fd until the program has ended; processes that it left in the background may keep the
 * output open longer. Returns the wait status, or COLLECT_LATE after a timeout. */
int env_collect(pid_t pid, int fd, const struct collect_limits *limits, struct str *text,
                bool *cut);
