/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What --mpi takes: how the processes of an MPI program find each other.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

/* The kind that is meant by --mpi, or else by MpiDefault; of static storage. -ERR_PARSE: an unknown
 * one. */
int mpi_choose(const char *given, const char *by_default, const char **kind, struct err *err);

void mpi_list(void); /* --mpi=list, on standard output */

#define MPI_VERSION_MAX 32
/* Of the libpmix that slurmstepd-pmix finds on this host: "4.2.2"; false: none. */
bool mpi_pmix_version(char version[MPI_VERSION_MAX]);
