/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What --mpi takes: how the processes of an MPI program find each other.
 */
#pragma once

#include "base/err.h"

/* The kind that is meant, of static storage; NULL for none given takes the default. -ERR_PARSE: an
 * unknown one. */
int mpi_choose(const char *given, const char **kind, struct err *err);

void mpi_list(void); /* --mpi=list, on standard output */
