/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The values of --mpi: how the processes of an MPI program find each other.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The kind that --mpi, otherwise MpiDefault, names; static storage. Returns -ERR_PARSE for an
 * unknown kind. */
int mpi_choose(const char *given, const char *by_default, const char **kind, struct err *err);

void mpi_list(void); /* --mpi=list, to standard output */

#define MPI_VERSION_MAX 32
/* The version of the libpmix that slurmstepd-pmix finds on this host, such as "4.2.2"; false: none.
 */
bool mpi_pmix_version(char version[MPI_VERSION_MAX]);
