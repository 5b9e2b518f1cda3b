/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several node daemons on one host. Their addresses are of the loopback, by which no other host
 * could be reached; MPI libraries that name shared memory by host then need to be told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether nodes with this address, of a job with more than one, are on one host. */
bool onehost_address(const char *addr);

/* Variables for the programs of such a job, unless they are set: Open MPI's mpirun tells them to
 * all that it starts. Shared memory is left out, and the loopback may be used. */
struct onehost_variable {
    const char *name, *value;
};
#define ONEHOST_VARIABLES 2
extern const struct onehost_variable onehost_variables[ONEHOST_VARIABLES];
