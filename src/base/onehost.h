/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several node daemons on one host. Their addresses are loopback addresses, which no other host
 * can reach. MPI libraries that name shared memory by host need to be told.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether nodes with this address, of a job with several nodes, are on one host. */
bool onehost_address(const char *addr);

/* Variables for the programs of such a job, unless they are set; Open MPI's mpirun passes them to
 * all processes that it starts. They disable shared memory and allow the loopback interface. */
struct onehost_variable {
    const char *name, *value;
};
#define ONEHOST_VARIABLES 2
extern const struct onehost_variable onehost_variables[ONEHOST_VARIABLES];
